"""What holds for every method of the contracts, found by looking at the Protocols themselves: no read with `visible`
shows a foreign row, a transaction reads as the store does, and no method goes without a test."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from holdfast.contracts import storage
from holdfast.contracts.rows import ALWAYS_INJECT, QUARANTINED, EntryRow, MovedRow, RevisionRow
from holdfast.contracts.storage import EntryReads, Store, Transaction
from tests.conformance.backends import BACKENDS
from tests.conformance.conftest import CALLS
from tests.conformance.rows import (
    ALICE,
    BOB,
    FILES,
    HERE,
    NOTES,
    NOW,
    THERE,
    blind,
    entry_row,
    label,
    make_spaces,
    seen,
    superseded,
    write,
)

FOLDER = Path(__file__).parent

# Part one: what is foreign never shows.

ROOM_NOT_SEEN = 7
VISIBLE = seen(partitions=(NOTES, FILES), private=frozenset({FILES}))
KEY, LABEL, LOCKED = blind("the key"), label("label"), 5
SINCE = 50
"""Every row is written before this moment of the sequence and once more after it."""

OURS, FOREIGN = 1, 2
SEEN = entry_row(
    OURS,
    key=KEY,
    born=10,
    seq=SINCE + 1,
    revision=2,
    expires_us=NOW + 100,
    flags=ALWAYS_INJECT,
    key_id=LOCKED,
    labels=LABEL,
    sealed=b"ours",
)
AHEAD = SEEN._replace(number=FOREIGN, born=20, seq=SINCE + 2, expires_us=NOW + 50, sealed=b"foreign")
"""What differs from the visible row only in its number and in standing before it in every order."""

Shown = Sequence[bytes | None] | int
Ask = Callable[[EntryReads], Shown]


def sealed(rows: Sequence[EntryRow | RevisionRow | MovedRow | None]) -> list[bytes | None]:
    return [row.row.sealed if isinstance(row, MovedRow) else row.sealed for row in rows if row is not None]


def of_each(find: Callable[[int], EntryRow | None]) -> list[bytes | None]:
    """Everything that can be found by naming one number after the other."""
    return sealed([find(number) for number in (FOREIGN, OURS)])


LIVE: dict[str, Ask] = {
    "EntryReads.by_key": lambda reads: sealed(reads.by_key(VISIBLE, [KEY])),
    "EntryReads.by_number": lambda reads: of_each(lambda number: reads.by_number(VISIBLE, number)),
    "EntryReads.page": lambda reads: [
        *sealed(reads.page(VISIBLE, None, None, 1)),
        *sealed(reads.page(VISIBLE, [LABEL], None, 1)),
    ],
    "EntryReads.moved": lambda reads: [
        *sealed(reads.moved(VISIBLE, None, SINCE, SINCE + 1, 1)),
        *sealed(reads.moved(VISIBLE, [LABEL], SINCE, SINCE + 1, 1)),
    ],
    "EntryReads.shown": lambda reads: sealed(reads.shown(VISIBLE, [FOREIGN, OURS])),
    "EntryReads.flagged": lambda reads: sealed(reads.flagged(VISIBLE, 1)),
    "EntryReads.expiring": lambda reads: sealed(reads.expiring(VISIBLE, NOW + 1_000, 1)),
    "EntryReads.count": lambda reads: reads.count(VISIBLE),
    "EntryReads.count_locked": lambda reads: reads.count_locked(VISIBLE, [1]),
}
TRASHED: dict[str, Ask] = {
    "EntryReads.trashed_by_number": lambda reads: of_each(
        lambda number: reads.trashed_by_number(VISIBLE, number)
    ),
    "EntryReads.trashed_by_key": lambda reads: sealed(reads.trashed_by_key(VISIBLE, [KEY])),
    "EntryReads.trash": lambda reads: sealed(reads.trash(VISIBLE, None, 1)),
}
EITHER: dict[str, Ask] = {
    "EntryReads.history": lambda reads: [
        *sealed(reads.history(VISIBLE, FOREIGN, 10, 1)),
        *sealed(reads.history(VISIBLE, OURS, 10, 1)),
    ],
}
HELD: dict[str, Ask] = {"EntryReads.quarantined": lambda reads: sealed(reads.quarantined(VISIBLE, 1))}
"""How to ask each method; the lists of one row are asked for with a limit of one."""

ANYWHERE = {
    "of another space": AHEAD,
    "of another space, under the same number": AHEAD._replace(number=OURS),
    "of a room that is not seen": AHEAD._replace(partition=ROOM_NOT_SEEN),
    "of someone else in a private room": AHEAD._replace(partition=FILES, owner=BOB),
    "expired": AHEAD._replace(expires_us=NOW, owner=BOB),
}
FOREIGN_ROWS: dict[str, tuple[dict[str, Ask], bool, dict[str, EntryRow]]] = {
    "live": (LIVE, False, {**ANYWHERE, "in the trash": AHEAD._replace(trashed_us=NOW - 1)}),
    "trashed": (TRASHED, True, {**ANYWHERE, "not in the trash": AHEAD}),
    "either": (EITHER, False, ANYWHERE),
    "held": (HELD, False, {kind: row._replace(flags=QUARANTINED) for kind, row in ANYWHERE.items()}),
}


def cases() -> Iterator[Any]:
    for state, (table, trashed, foreign) in FOREIGN_ROWS.items():
        for method, ask in table.items():
            for kind, row in foreign.items():
                in_trash = trashed and kind != "not in the trash"
                placed = row._replace(trashed_us=NOW) if in_trash else row
                yield pytest.param(ask, trashed, kind, placed, id=f"{method}, {state}, {kind}")


def keep(tx: Transaction, kind: str, row: EntryRow) -> None:
    """A row with the past that every row here has: one revision from before SINCE."""
    space = THERE if kind.startswith("of another space") else HERE
    assert tx.entries.insert(space, row)
    tx.entries.add_revision(space, superseded(row, revision=1, seq=row.born))


@pytest.mark.parametrize(("ask", "trashed", "kind", "foreign"), list(cases()))
def test_a_foreign_row_never_shows(
    store: Store, ask: Ask, trashed: bool, kind: str, foreign: EntryRow
) -> None:
    make_spaces(store, HERE, THERE)
    nothing: Shown = 0 if isinstance(ask(store.entries), int) else []
    ours = SEEN._replace(flags=foreign.flags, trashed_us=NOW - 5 if trashed else None)

    write(store, lambda tx: keep(tx, kind, foreign))
    assert ask(store.entries) == nothing

    write(store, lambda tx: keep(tx, "visible", ours))
    for shown in (ask(store.entries), write(store, lambda tx: ask(tx.entries))):
        assert shown == 1 if isinstance(shown, int) else set(shown) == {b"ours"}


def test_own_rows_of_a_private_room_show(store: Store) -> None:
    make_spaces(store)
    write(store, lambda tx: keep(tx, "own", SEEN._replace(partition=FILES, owner=ALICE)))
    assert {method: bool(ask(store.entries)) for method, ask in (LIVE | EITHER).items()} == dict.fromkeys(
        LIVE | EITHER, True
    )


def test_every_read_with_visible_is_in_the_table() -> None:
    found = {
        f"{protocol.__name__}.{name}"
        for protocol in protocols()
        for name, method in methods_of(protocol, own=True).items()
        if "visible" in inspect.signature(method).parameters
    }
    assert found == {*LIVE, *TRASHED, *EITHER, *HELD}


def test_every_read_of_entries_takes_visible_or_is_a_listed_exception() -> None:
    """A new read without `visible` must be argued for in contracts/storage.py, and then be named here."""
    without = {
        name
        for name, method in methods_of(EntryReads).items()
        if "visible" not in inspect.signature(method).parameters
    }
    assert without == {
        "kept_elsewhere",
        "expired",
        "trashed_before",
        "by_numbers",
        "sealed_with",
        "revisions_sealed_with",
        "revisions_of",
    }


# Part two: every method is exercised, of the store and inside a transaction.


def protocols() -> list[type]:
    return [
        found
        for _, found in inspect.getmembers(storage, inspect.isclass)
        if found.__module__ == storage.__name__ and getattr(found, "_is_protocol", False)
    ]


def methods_of(protocol: type, *, own: bool = False) -> dict[str, Callable[..., Any]]:
    """Public methods, inherited ones too unless only its own are wanted."""
    members = vars(protocol).items() if own else inspect.getmembers(protocol)
    return {
        name: member for name, member in members if inspect.isfunction(member) and not name.startswith("_")
    }


def parts_of(protocol: type, *, optional: bool = True) -> dict[str, type]:
    """The contracts that a store or a transaction is made of; one that may be None is optional."""
    said = {
        name: get_type_hints(member.fget)["return"]
        for name, member in inspect.getmembers(protocol)
        if isinstance(member, property)
    }
    return {
        name: next(kind for kind in get_args(hint) or (hint,) if kind is not type(None))
        for name, hint in said.items()
        if optional or type(None) not in get_args(hint)
    }


def promised() -> set[str]:
    """`store.entries.by_key`, `transaction.erase`: every way to call a contract that each backend must offer."""
    return {
        name
        for whole, protocol in (("store", Store), ("transaction", Transaction))
        for name in [
            *(f"{whole}.{method}" for method in methods_of(protocol)),
            *(
                f"{whole}.{part}.{method}"
                for part, contract in parts_of(protocol, optional=False).items()
                for method in methods_of(contract)
            ),
        ]
    }


def test_every_protocol_is_part_of_a_store_or_a_transaction() -> None:
    reached: set[type] = {Store, Transaction}
    for whole in (Store, Transaction):
        for part in parts_of(whole).values():
            reached |= {parent for parent in part.__mro__ if parent in protocols()}
    assert set(protocols()) == reached


def test_every_contract_method_is_exercised_by_this_suite(tmp_path: Path) -> None:
    """Runs the suite once more on one backend, with a store that notes what is called."""
    noted, one = tmp_path / "calls.json", next(iter(BACKENDS))
    plain = ["-p", "no:xdist", "-p", "no:randomly", "-p", "no:cacheprovider", "-q", "-o", "addopts="]
    beside = [f"--ignore={FOLDER / name}" for name in ("test_reflection.py", "test_state_machine.py")]
    subprocess.run(
        [sys.executable, "-m", "pytest", *plain, "--import-mode=importlib", "-k", one, *beside, FOLDER],
        cwd=FOLDER.parents[1],
        env={**os.environ, CALLS: str(noted)},
        capture_output=True,
        timeout=110,
        check=False,
    )
    called = set(json.loads(noted.read_text(encoding="utf-8")))
    assert sorted(promised() - called) == []
    assert sorted(called - promised()) == []
