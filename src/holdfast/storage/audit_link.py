"""How a line of the audit log is tied to the one before, so that none can be changed, moved or taken out unseen."""

from __future__ import annotations

import struct

from holdfast.contracts.rows import AuditRow
from holdfast.crypto.blind import row_code
from holdfast.crypto.keys import DataKey

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
