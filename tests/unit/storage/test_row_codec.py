"""What the seal of an entry's row is bound to: the space, the key, and every column beside it."""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.contracts.rows import EntryRow, RevisionRow
from holdfast.crypto.keys import NONCE_BYTES, DataKey
from holdfast.crypto.sealing import unseal_blob
from holdfast.domain.entry import Change, Content, Provenance, Source
from holdfast.domain.errors import InvalidField
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Principal, PrincipalKind
from holdfast.storage.row_codec import (
    entry_of,
    open_entry,
    open_revision_whole,
    pack,
    seal_entry,
    seal_revision,
    superseded,
    unpack,
)

SPACE = UUID("11111111-2222-8333-8444-555500000000")
OTHER = UUID("11111111-2222-8333-8444-555600000000")
SECRET = bytes(range(32))
KEY = DataKey(SPACE, 1, SECRET)
OWNER = Principal(PrincipalKind.USER, "ada")
CONTENT = Content("plans/now", b"a text", Provenance("user:ada", "python", Source.USER))
ROW = EntryRow(5, 1, b"o" * 16, b"k" * 16, 3, 1, 7, 10, 20, None, None, 0, 4, 1, b"!labels!", b"")
SEALED = seal_entry(KEY, ROW, OWNER, CONTENT)
PAST = superseded(KEY, SEALED, entry_of(SPACE, SEALED, OWNER, CONTENT))

words = st.text(st.characters(blacklist_characters="\0\x1f", blacklist_categories=["Cs"]), max_size=20)
maybe = st.none() | words.filter(bool)
numbers = st.none() | st.integers(0, 2**62)
contents = st.builds(
    Content,
    words,
    st.binary(max_size=200),
    st.builds(Provenance, words, words, st.sampled_from(Source), maybe, maybe),
    namespace=words,
    hint=words,
    media_type=st.sampled_from(["text/plain", "application/json", "application/octet-stream"]),
    category=words,
    tags=st.lists(words.filter(bool), max_size=3).map(tuple),
    conversation=maybe,
    speaker=maybe,
    at_us=numbers,
    change=st.sampled_from(Change),
    restores=numbers,
    derived_from=st.lists(words.filter(bool), max_size=3).map(tuple),
    removed_by=words,
)
owners = st.builds(Principal, st.sampled_from(PrincipalKind), words)


def changed(row: Any, column: str, value: object) -> Any:
    return row._replace(**{column: value})


@given(owners, contents)
def test_what_is_packed_comes_out_again(owner: Principal, content: Content) -> None:
    assert unpack(pack(owner, content)) == (owner, content)


@given(owners, contents)
def test_a_sealed_row_opens_with_its_owner_and_content(owner: Principal, content: Content) -> None:
    entry = open_entry(KEY, seal_entry(KEY, ROW, owner, content))

    assert entry is not None
    assert (entry.owner, entry.content) == (owner, content)
    assert (entry.space, entry.number, entry.revision) == (SPACE, 5, 3)
    assert entry.partition is Partition.NOTES


@pytest.mark.parametrize("field", ["key", "hint", "category", "speaker", "namespace"])
def test_a_field_with_a_nul_is_refused_before_it_is_sealed(field: str) -> None:
    with pytest.raises(InvalidField):
        pack(OWNER, changed(CONTENT, field, "two\0words"))


@given(st.integers(0, 15))
def test_flags_open_as_what_they_say(flags: int) -> None:
    entry = open_entry(KEY, seal_entry(KEY, ROW._replace(flags=flags), OWNER, CONTENT))

    assert entry is not None
    assert entry.always_inject == bool(flags & 1)
    assert entry.encrypted == bool(flags & 2)
    assert entry.quarantined == bool(flags & 4)


def test_the_seal_of_a_head_has_format_key_space_and_every_column_as_associated_data() -> None:
    bound = b"".join(
        [
            b"HFe1",
            struct.pack(">I16sI", 1, SPACE.bytes, 5),
            struct.pack(">B16sB16sB", 1, b"o" * 16, 16, b"k" * 16, 16),
            struct.pack(">IQQqq", 3, 1, 7, 10, 20),
            struct.pack(">?q?q", False, 0, False, 0),
            struct.pack(">II", 0, 4),
            b"!labels!",
        ]
    )
    nonce, ciphertext = SEALED.sealed[:NONCE_BYTES], SEALED.sealed[NONCE_BYTES:]

    assert KEY.seal.decrypt(nonce, ciphertext, bound) == pack(OWNER, CONTENT)


@pytest.mark.parametrize("column", [column for column in EntryRow._fields if column != "sealed"])
def test_a_head_with_any_column_changed_does_not_open(column: str) -> None:
    value = getattr(SEALED, column)
    other = 1 if value is None else value[:-1] + b"?" if isinstance(value, bytes) else value + 1

    assert open_entry(KEY, SEALED) is not None
    assert open_entry(KEY, changed(SEALED, column, other)) is None


@pytest.mark.parametrize("column", [column for column in RevisionRow._fields if column != "sealed"])
def test_a_revision_with_any_column_changed_does_not_open(column: str) -> None:
    value = getattr(PAST, column)
    other = 1 if value is None else value + 1

    assert open_revision_whole(KEY, PAST) == (OWNER, CONTENT)
    assert open_revision_whole(KEY, changed(PAST, column, other)) is None


@pytest.mark.parametrize(
    "key",
    [DataKey(OTHER, 1, SECRET), DataKey(SPACE, 1, bytes(32))],
    ids=["another space", "another secret"],
)
def test_a_row_does_not_open_under_another_key(key: DataKey) -> None:
    assert open_entry(key, SEALED) is None
    assert open_revision_whole(key, PAST) is None


def test_a_head_never_opens_as_a_revision_nor_a_revision_as_a_head() -> None:
    assert open_revision_whole(KEY, PAST._replace(sealed=SEALED.sealed)) is None
    assert open_entry(KEY, SEALED._replace(sealed=PAST.sealed)) is None


@given(st.binary(max_size=24))
def test_a_row_never_opens_as_a_blob(purpose: bytes) -> None:
    assert unseal_blob(KEY, purpose, SEALED.sealed) is None
    assert unseal_blob(KEY, purpose, PAST.sealed) is None


def test_sealing_a_row_again_gives_another_ciphertext() -> None:
    assert seal_entry(KEY, SEALED, OWNER, CONTENT).sealed != SEALED.sealed
    assert seal_revision(KEY, PAST, OWNER, CONTENT).sealed != PAST.sealed
