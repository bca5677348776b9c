"""The audit log as a chain: each line carries a code over itself and the line before, so that changes show."""

from __future__ import annotations

import struct
from uuid import UUID

from holdfast.contracts.records import AuditWrites
from holdfast.contracts.rows import AuditRow
from holdfast.crypto.blind import row_code
from holdfast.crypto.keys import DataKey
from holdfast.domain.principal import Principal
from holdfast.storage.sealed_store import SealedStore

_tuple = tuple.__new__
"""Makes a named tuple without the function Python puts before it, at half its price."""


def add_reads(
    sealed: SealedStore,
    log: AuditWrites,
    at_us: int,
    operation: str,
    reader: Principal,
    space: UUID,
    entries: bytes,
) -> None:
    """A line for what was read a moment ago; `entries` are their codes, one after another."""
    add_line(sealed, log, at_us, operation, sealed.blind(reader), sealed.space_code(space), entries, 0)


def add_line(
    sealed: SealedStore,
    log: AuditWrites,
    at_us: int,
    operation: str,
    actor: bytes,
    space: bytes,
    entry: bytes,
    revision: int,
) -> None:
    """Where the log has no sound end a line says so first: what was cut off cannot be covered by going on."""
    key = sealed.store_key
    position, before, code = log.head()
    known = not position or code == sealed.log_end
    if not known and operation != SEAL and code != head_code(key, position, before):
        add_line(sealed, log, at_us, SEAL, b"", b"", b"", 0)
        position, before, _ = log.head()
    said = (at_us, operation, actor, space, entry, revision, key.key_id)
    link = link_to(key, before, *said)
    sealed.log_end = code = head_code(key, position + 1, link)
    log.append(_tuple(AuditRow, (*said, link)), code)


SEAL = "seal log"
"""Added before a line whose log had no sound end: an earlier version wrote it, or somebody cut it."""
_NUMBERS = struct.Struct(">qqq")


def audit_link(key: DataKey, before: bytes, row: AuditRow) -> bytes:
    return link_to(key, before, *row[:-1])


def link_to(
    key: DataKey,
    before: bytes,
    at_us: int,
    operation: str,
    actor: bytes,
    space: bytes,
    entry: bytes,
    revision: int,
    key_id: int,
) -> bytes:
    """Every field with its length, so that nothing can move from one to the next."""
    done = operation.encode()
    lengths = bytes((len(before), len(done), len(actor), len(space), len(entry)))
    link = key.links.copy()
    link.update(
        b"".join((lengths, before, done, actor, space, entry, _NUMBERS.pack(at_us, revision, key_id)))
    )
    return link.digest()


def head_code(key: DataKey, position: int, link: bytes) -> bytes:
    """Only who has the key can say that a log ends here."""
    return row_code(key, b"audit head" + position.to_bytes(8) + link)
