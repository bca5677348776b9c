"""Rows changed by someone who holds the file and no key: always noticed, never another content. Over 10,000 examples;
each changes rows as the backend would return them, or in the file inside a transaction that is undone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.contracts.rows import EntryRow, RevisionRow
from holdfast.contracts.storage import Transaction
from holdfast.crypto.keys import DataKey
from holdfast.domain.entry import Content
from holdfast.storage.row_codec import open_entry, open_revision, open_revision_whole
from tests.security.raw import KEY, engine_of
from tests.support import FixedClock

PEOPLE = ("ada", "bob", "cy")
INTEGERS = (
    "number",
    "partition",
    "revision",
    "born",
    "seq",
    "created_us",
    "updated_us",
    "flags",
    "length",
    "key_id",
)
MOMENTS = ("expires_us", "trashed_us")
BLOBS = ("owner", "key", "labels", "sealed")
SIGNED = st.integers(-(2**63), 2**63 - 1)
"""What an INTEGER column can hold."""

examples = settings(max_examples=2_000, deadline=None, database=None, suppress_health_check=list(HealthCheck))
exchanges = settings(examples, max_examples=3_400)
"""Three tests exchange ciphertexts or put an older one in place: more than ten thousand times together."""


@dataclass(frozen=True)
class Rows:
    """Every row of a store, as the backend gives them, with the key that belongs to each and what it says."""

    heads: list[tuple[DataKey, EntryRow, Content]]
    revisions: list[tuple[DataKey, RevisionRow, Content]]
    keys: list[DataKey]


@cache
def rows() -> Rows:
    """Sixty entries of one to four revisions in three spaces: live, trashed, expiring, flagged, tagged."""
    heads: list[tuple[DataKey, EntryRow, Content]] = []
    revisions: list[tuple[DataKey, RevisionRow, Content]] = []
    keys: list[DataKey] = []
    with holdfast.open("sqlite://", key=KEY, sweep_seconds=0, clock=FixedClock()) as memory:
        for person in PEOPLE:
            _write(memory, person)
        engine = engine_of(memory)
        for row in engine.sealed.store.spaces.all_after(None, 10):
            key = engine.sealed.keyring.of(row.id).current
            keys.append(key)
            for head in engine.sealed.store.entries.sealed_with(row.id, key.key_id, 0, 1_000):
                entry = open_entry(key, head)
                assert entry is not None
                heads.append((key, head, entry.content))
                for revision in engine.sealed.store.entries.revisions_of(row.id, head.number):
                    whole = open_revision_whole(key, revision)
                    assert whole is not None
                    revisions.append((key, revision, whole[1]))
    assert len(heads) == 60
    assert len(revisions) > 60
    assert len(keys) == 3
    return Rows(heads, revisions, keys)


def _write(memory: holdfast.Memory, person: str) -> None:
    own = memory.user(person)
    for number in range(20):
        name = f"notes/{number % 3}/{number}"
        for revision in range(1 + number % 4):
            own.remember(
                f"{person} thought {revision} of {number}",
                key=name,
                hint=f"hint {number}",
                category="thoughts",
                tags=["red", f"tag{number % 5}"][: number % 3],
                ttl=86_400 if number % 5 == 0 else None,
                always_inject=number % 7 == 0,
            )
        if number % 6 == 5:
            own.trash(name)


Row = TypeVar("Row", EntryRow, RevisionRow)


def changed(row: Row, column: str, value: Any) -> Row:
    return row._replace(**{column: value})


HEAD = st.integers(0, 59)
REVISION = st.integers(0, 100_000)


def _head(at: int) -> tuple[DataKey, EntryRow, Content]:
    return rows().heads[at]


def _revision(at: int) -> tuple[DataKey, RevisionRow, Content]:
    known = rows().revisions
    return known[at % len(known)]


def test_rows_that_nobody_touched_open_with_their_own_content() -> None:
    for key, row, content in rows().heads:
        entry = open_entry(key, row)
        assert entry is not None
        assert entry.content == content
    for key, revision, content in rows().revisions:
        assert open_revision(key, revision).content == content


@given(HEAD, HEAD)
@exchanges
def test_the_ciphertext_of_another_entry_is_noticed(at: int, other: int) -> None:
    assume(at != other)
    key, row, _ = _head(at)
    _, donor, _ = _head(other)

    assert open_entry(key, row._replace(sealed=donor.sealed)) is None
    assert open_entry(key, row._replace(sealed=donor.sealed, number=donor.number)) is None


@given(HEAD, REVISION)
@exchanges
def test_an_older_ciphertext_or_one_from_any_history_under_the_current_revision_is_noticed(
    at: int, other: int
) -> None:
    key, row, _ = _head(at)
    _, older, _ = _revision(other)

    assert open_entry(key, row._replace(sealed=older.sealed)) is None
    assert open_entry(key, row._replace(sealed=older.sealed, revision=older.revision)) is None
    assert open_entry(key, row._replace(**(older._asdict() | {"number": row.number}))) is None


def test_each_entry_refuses_each_of_its_own_older_ciphertexts() -> None:
    tried = 0
    for key, row, _ in rows().heads:
        for owner, older, _ in rows().revisions:
            if owner is key and older.number == row.number:
                assert open_entry(key, row._replace(sealed=older.sealed)) is None
                tried += 1
    assert tried == len(rows().revisions)


@given(REVISION, REVISION)
@exchanges
def test_exchanged_ciphertexts_in_history_are_noticed(at: int, other: int) -> None:
    key, row, _ = _revision(at)
    _, donor, _ = _revision(other)
    assume(row is not donor)

    for mixed in (
        row._replace(sealed=donor.sealed),
        row._replace(sealed=donor.sealed, seq=donor.seq),
        donor._replace(number=row.number),
        donor._replace(revision=row.revision, number=row.number),
    ):
        if mixed[:2] != donor[:2]:
            assert open_revision_whole(key, mixed) is None
            assert open_revision(key, mixed).content is None


@given(HEAD, HEAD)
@examples
def test_a_whole_row_put_under_another_number_or_into_another_space_is_noticed(at: int, other: int) -> None:
    key, row, _ = _head(at)
    other_key, donor, _ = _head(other)
    assume(at != other)

    assert open_entry(key, donor._replace(number=row.number)) is None
    if other_key is not key:
        assert open_entry(key, donor) is None
        assert open_entry(key, donor._replace(owner=row.owner, key=row.key)) is None


@given(HEAD, st.sampled_from(INTEGERS + MOMENTS), SIGNED)
@examples
def test_any_change_of_a_visible_number_time_or_flag_is_noticed(at: int, column: str, value: int) -> None:
    key, row, _ = _head(at)
    assume(getattr(row, column) != value)

    assert open_entry(key, changed(row, column, value)) is None


@given(HEAD, st.sampled_from(INTEGERS + MOMENTS), st.integers(-2, 16))
@examples
def test_any_small_change_of_a_visible_number_time_or_flag_is_noticed(
    at: int, column: str, value: int
) -> None:
    key, row, _ = _head(at)
    assume(getattr(row, column) != value)

    assert open_entry(key, changed(row, column, value)) is None


@given(HEAD, st.sampled_from(MOMENTS))
@settings(examples, max_examples=200)
def test_taking_away_an_expiry_or_the_trash_is_noticed(at: int, column: str) -> None:
    key, row, _ = _head(at)
    assume(getattr(row, column) is not None)

    assert open_entry(key, changed(row, column, None)) is None


@given(
    HEAD, st.sampled_from(BLOBS), st.binary(max_size=40), st.sampled_from(["set", "append", "cut", "flip"])
)
@examples
def test_any_change_of_owner_key_labels_or_a_byte_of_the_seal_is_noticed(
    at: int, column: str, noise: bytes, how: str
) -> None:
    key, row, _ = _head(at)
    old: bytes = getattr(row, column)
    place = len(noise) % max(len(old), 1)
    new = {
        "set": noise,
        "append": old + noise,
        "cut": old[:place],
        "flip": old[:place] + bytes(byte ^ 1 for byte in old[place : place + 1]) + old[place + 1 :],
    }[how]
    assume(new != old)

    assert open_entry(key, changed(row, column, new)) is None


@given(
    REVISION,
    st.sampled_from(("number", "revision", "seq", "updated_us", "expires_us", "flags", "key_id")),
    st.one_of(SIGNED, st.integers(-2, 16)),
)
@examples
def test_any_change_of_a_visible_number_in_history_is_noticed(at: int, column: str, value: int) -> None:
    key, row, _ = _revision(at)
    assume(getattr(row, column) != value)
    other = changed(row, column, value)

    assert open_revision_whole(key, other) is None
    assert open_revision(key, other).content is None


@given(REVISION, st.integers(0, 10_000), st.integers(1, 255))
@examples
def test_any_byte_changed_in_an_older_seal_is_noticed(at: int, place: int, change: int) -> None:
    key, row, _ = _revision(at)
    flipped = bytearray(row.sealed)
    flipped[place % len(flipped)] ^= change
    assert open_revision(key, row._replace(sealed=bytes(flipped))).content is None


@given(HEAD, HEAD)
@settings(examples, max_examples=500)
def test_any_two_ciphertexts_exchanged_in_the_store_itself_lock_both_and_nothing_else(
    store: tuple[holdfast.Memory, dict[UUID, list[tuple[int, Content]]]], at: int, other: int
) -> None:
    """Through the backend's own statements, in a transaction that is undone afterwards."""
    memory, contents = store
    flat = [(space, number, content) for space, held in contents.items() for number, content in held]
    first, second = flat[at], flat[other]
    assume(first[:2] != second[:2])
    engine = engine_of(memory)
    [one] = engine.sealed.store.entries.by_numbers(first[0], [first[1]])
    [two] = engine.sealed.store.entries.by_numbers(second[0], [second[1]])

    def exchange(tx: Transaction) -> None:
        tx.entries.restate(first[0], one._replace(sealed=two.sealed))
        tx.entries.restate(second[0], two._replace(sealed=one.sealed))
        for space, held in contents.items():
            keys = engine.sealed.keyring.of(space)
            for row, (number, content) in zip(
                tx.entries.by_numbers(space, [number for number, _ in held]), held, strict=True
            ):
                entry = engine.sealed.open_row(keys, row).entry
                if (space, number) in (first[:2], second[:2]):
                    assert entry is None
                elif (space, number) in watched:
                    assert entry is not None
                    assert entry.content == content
        raise Undone

    watched = {flat[(at + other + step) % 60][:2] for step in range(5)}
    with pytest.raises(Undone):
        engine.run_job(exchange)


class Undone(Exception):
    """Ends a transaction that must leave nothing."""


@pytest.fixture(scope="module")
def store() -> Iterator[tuple[holdfast.Memory, dict[UUID, list[tuple[int, Content]]]]]:
    with holdfast.open("sqlite://", key=KEY, sweep_seconds=0, clock=FixedClock()) as memory:
        for person in PEOPLE:
            _write(memory, person)
        engine = engine_of(memory)
        contents: dict[UUID, list[tuple[int, Content]]] = {}
        for space in engine.sealed.store.spaces.all_after(None, 10):
            keys = engine.sealed.keyring.of(space.id)
            for row in engine.sealed.store.entries.sealed_with(space.id, keys.writes, 0, 1_000):
                entry = engine.sealed.open_row(keys, row).entry
                assert entry is not None
                contents.setdefault(space.id, []).append((row.number, entry.content))
        yield memory, contents
