"""What a thief or a vandal has: the files, every byte of them, and a plain SQLite connection without any key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import apsw

import holdfast
from holdfast.domain.ids import NUMBER_BITS, split_entry_id
from holdfast.operations.engine import Engine
from holdfast.storage.index_terms import index_text

KEY = "11" * 32
OTHER_KEY = "22" * 32
DATABASE = "holdfast.db"


def open_store(folder: Path, **given: Any) -> holdfast.Memory:
    """Opened without the background sweep, so that nothing happens that a test does not ask for; and without
    fsync, which changes no byte."""
    choices: dict[str, Any] = {"key": KEY, "sweep_seconds": 0, "durability": "relaxed"} | given
    return holdfast.open(folder, **choices)


def engine_of(memory: holdfast.Memory) -> Engine:
    engine = memory._opened.engine
    assert engine is not None
    return engine


@contextmanager
def connection(folder: Path) -> Iterator[apsw.Connection]:
    db = apsw.Connection(str(folder / DATABASE))
    db.set_busy_timeout(10_000)
    db.execute("PRAGMA secure_delete = ON").fetchall()  # what the vandal leaves behind is not the engine's
    try:
        yield db
    finally:
        db.close()


def run(folder: Path, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """One statement of someone who holds the file and no key."""
    with connection(folder) as db:
        return db.execute(sql, values).fetchall()


def rowid(folder: Path, entry: UUID) -> int:
    space, number = split_entry_id(entry)
    [(place,)] = run(folder, "SELECT space FROM spaces WHERE id = ?", (space.bytes,))
    return int(place) << NUMBER_BITS | number


def files(folder: Path, *, without: Iterable[str] = ()) -> dict[str, bytes]:
    """Every file below a folder, whole."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(tuple(without) or ("\0",))
    }


def stored_bytes(folder: Path) -> bytes:
    """Everything but the key file: what lies in the database, its log and copies. A gap keeps files apart."""
    return (b"\0" * 64).join(files(folder, without=(".key", ".key.next")).values())


def digest(folder: Path) -> dict[str, str]:
    """Hashes of what holds data: an empty log, and its index, which is rebuilt at will, do not count."""
    return {
        name: hashlib.sha256(body).hexdigest()
        for name, body in files(folder, without=("-shm",)).items()
        if body or not name.endswith("-wal")
    }


@dataclass(frozen=True, slots=True)
class Traces:
    """Byte strings that an entry leaves in the file, by what they are."""

    found: frozenset[tuple[str, bytes]]

    def __or__(self, other: Traces) -> Traces:
        return Traces(self.found | other.found)

    def left_in(self, folder: Path) -> list[str]:
        stored = stored_bytes(folder)
        return sorted({what for what, trace in self.found if trace in stored})


def traces_of(folder: Path, memory: holdfast.Memory, entry: UUID) -> Traces:
    """Ciphertexts, nonces, blind keys, labels and terms of the head and of every earlier revision, and what was
    derived from them."""
    engine = engine_of(memory)
    space, number = split_entry_id(entry)
    keys = engine.sealed.keyring.look_again(space)
    row_id = rowid(folder, entry)
    found: set[tuple[str, bytes]] = set()
    for key, labels, sealed in run(
        folder, "SELECT key, labels, sealed FROM entries WHERE entry = ?", (row_id,)
    ):
        found |= {("blind key", key)} | _sealed("head", sealed)
        found |= {("label", labels[at : at + 8]) for at in range(0, len(labels), 8)}
    for (sealed,) in run(folder, "SELECT sealed FROM revisions WHERE entry = ?", (row_id,)):
        found |= _sealed("revision", sealed)
    for (sealed,) in run(folder, "SELECT sealed FROM derived WHERE entry = ?", (row_id,)):
        found |= _sealed("derived", sealed)
    [head] = engine.sealed.store.entries.by_numbers(space, [number])
    opened = engine.sealed.open_row(keys, head).entry
    contents = [] if opened is None else [opened.content]
    contents += [
        revision.content
        for row in engine.sealed.store.entries.revisions_of(space, number)
        if (revision := engine.sealed.revision(space, row)).content is not None
    ]
    if head.length:
        for content in contents:
            for data_key in keys.all():
                for field in index_text(data_key, content)[0]:
                    # FTS5 leaves out what a term shares with the one before it: a few characters at the front.
                    for term in field.split():
                        found |= {("term", term.encode()), ("end of a term", term[4:].encode())}
    assert found
    return Traces(frozenset(found))


def _sealed(what: str, sealed: bytes) -> set[tuple[str, bytes]]:
    parts = {(f"{what} nonce", sealed[:12])}
    return parts | {(f"{what} ciphertext", sealed[at : at + 16]) for at in range(12, len(sealed) - 16, 16)}


def written_terms(folder: Path) -> set[str]:
    """The terms the word index answers for."""
    with connection(folder) as db:
        db.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, terms, row)").fetchall()
        return {str(term) for (term,) in db.execute("SELECT term FROM temp.words").fetchall()}


def all_rows(folder: Path, *, owner: bytes | None = None) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table that holds entries or access, as stored; with `owner`, what is in their spaces."""
    tables = {
        "entries": "SELECT * FROM entries WHERE space IN (SELECT value FROM json_each(?)) ORDER BY entry",
        "revisions": f"""SELECT * FROM revisions WHERE entry >> {NUMBER_BITS} IN (SELECT value FROM json_each(?))
                          ORDER BY entry, revision""",
        "labels": "SELECT * FROM labels WHERE space IN (SELECT value FROM json_each(?)) ORDER BY 1, 2, 3, 4",
        "derived": f"""SELECT * FROM derived WHERE entry >> {NUMBER_BITS} IN (SELECT value FROM json_each(?))
                        ORDER BY entry, model""",
        "spaces": "SELECT * FROM spaces WHERE space IN (SELECT value FROM json_each(?)) ORDER BY space",
        "keys": """SELECT * FROM data_keys WHERE space IN (SELECT id FROM spaces WHERE space IN
                     (SELECT value FROM json_each(?))) ORDER BY space, key_id""",
        "grants": """SELECT * FROM grants WHERE space IN (SELECT id FROM spaces WHERE space IN
                     (SELECT value FROM json_each(?))) ORDER BY 1, 2, 3""",
        "receipts": """SELECT * FROM receipts WHERE space IN (SELECT id FROM spaces WHERE space IN
                     (SELECT value FROM json_each(?))) ORDER BY 1, 2""",
        "proposals": """SELECT * FROM proposals WHERE space IN (SELECT id FROM spaces WHERE space IN
                     (SELECT value FROM json_each(?))) ORDER BY 1""",
    }
    chosen = run(folder, "SELECT space FROM spaces WHERE ?1 IS NULL OR owner IS NULL OR owner = ?1", (owner,))
    places = json.dumps([place for (place,) in chosen])
    return {name: run(folder, sql, (places,)) for name, sql in tables.items()}
