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

SEAL = "seal log"
"""The operation of the line that marks a log without a sound end: somebody cut it outside the engine."""
_NUMBERS = struct.Struct(">qqq")


def add_reads(
    sealed: SealedStore,
    log: AuditWrites,
    at_us: int,
    operation: str,
    reader: Principal,
    space: UUID,
    entries: bytes,
) -> None:
    """Adds a line for a read; `entries` are the concatenated codes of the entries shown."""
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
    """Adds a line. Where the log has no sound end, a `seal log` line comes first, so that a cut stays visible."""
    key = sealed.store_key
    position, before, code = log.head()
    known = not position or code == sealed.log_end
    if not known and operation != SEAL and code != head_code(key, position, before):
        add_line(sealed, log, at_us, SEAL, b"", b"", b"", 0)
        position, before, _ = log.head()
    row = AuditRow(
        at_us=at_us,
        operation=operation,
        actor=actor,
        space=space,
        object=entry,
        revision=revision,
        key_id=key.key_id,
        link=b"",
    )
    link = audit_link(key, before, row)
    sealed.log_end = code = head_code(key, position + 1, link)
    log.append(row._replace(link=link), code)


def audit_link(key: DataKey, before: bytes, row: AuditRow) -> bytes:
    """The link that a line must have after the link `before`: a code over that link and every other column. Each field
    has its length, so that no byte can move to the next."""
    operation = row.operation.encode()
    lengths = bytes((len(before), len(operation), len(row.actor), len(row.space), len(row.object)))
    numbers = _NUMBERS.pack(row.at_us, row.revision, row.key_id)
    link = key.links.copy()
    link.update(b"".join((lengths, before, operation, row.actor, row.space, row.object, numbers)))
    return link.digest()


def head_code(key: DataKey, position: int, link: bytes) -> bytes:
    """The code of a log's end, which nobody can make without the key."""
    return row_code(key, b"audit head" + position.to_bytes(8) + link)
