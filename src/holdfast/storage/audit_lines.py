"""Adding lines to the audit log: each linked to the one before, and the end of the log sealed."""

from __future__ import annotations

from uuid import UUID

from holdfast.contracts.audit import AuditWrites
from holdfast.contracts.rows import AuditRow
from holdfast.domain.principal import Principal
from holdfast.storage.audit_link import SEAL, head_code, link_to
from holdfast.storage.sealed import Sealed

_tuple = tuple.__new__
"""Makes a named tuple without the function Python puts before it, at half its price."""


def add_reads(
    sealed: Sealed,
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
    sealed: Sealed,
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
