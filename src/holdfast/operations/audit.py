"""The audit log: lists readers of an entry, and verifies that the log is complete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from holdfast.contracts.rows import AuditHead
from holdfast.crypto.blind import fingerprint
from holdfast.domain.access import Op
from holdfast.domain.errors import AccessDenied, InvalidField
from holdfast.domain.limits import check_limit
from holdfast.domain.times import to_datetime
from holdfast.operations.authorize import EntryName, find_ref, look_up, opened
from holdfast.operations.engine import Engine
from holdfast.operations.read_log import READS
from holdfast.operations.session import Session
from holdfast.storage.audit_chain import SEAL, audit_link, head_code

PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Verified:
    lines: int
    """The number of lines that were found intact, from the first on."""
    anchor: str
    """The end of the log, to be kept elsewhere. A later check that is given it notices that an older copy of the whole
    log was restored, which nothing inside the store can tell."""
    problem: str | None = None

    @property
    def intact(self) -> bool:
        return self.problem is None


@dataclass(frozen=True, slots=True)
class Reading:
    """One time that a memory was shown to somebody."""

    by: str
    """`kind:id`; a keyed id where the name was never kept."""
    operation: str
    at_us: int

    @property
    def at(self) -> datetime:
        return to_datetime(self.at_us)


def verify_audit(
    engine: Engine, anchor: str | None = None, progress: Callable[[int], None] | None = None
) -> Verified:
    """Checks the log from its first line to its end at the start of the check."""
    kept = None if anchor is None else _parse_anchor(anchor)
    engine.reads.write_down()
    log, key = engine.sealed.store.audit, engine.sealed.store_key
    head = log.head()
    position, before = 0, b""
    while position < head.position and (rows := log.after(position, min(PAGE, head.position - position))):
        for row in rows:
            if row.link != audit_link(key, before, row):
                return _broken(
                    position, before, f"Line {position + 1} was changed or moved, or one before it is gone."
                )
            position, before = position + 1, row.link
            if row.operation == SEAL:
                return _broken(
                    position,
                    before,
                    f"The log had no sound end before line {position}: it may have been cut there.",
                )
            if kept is not None and kept.position == position and kept.link != before:
                return _broken(position, before, f"Line {position} is not the one that the anchor names.")
        if progress is not None:
            progress(position)
    return _broken(position, before, _end_problem(engine, head, position, before, kept))


def _end_problem(
    engine: Engine, head: AuditHead, position: int, before: bytes, kept: AuditHead | None
) -> str | None:
    log, key = engine.sealed.store.audit, engine.sealed.store_key
    if position < head.position or before != head.link:
        return f"Lines are missing after line {position}: the log should have {head.position}."
    if head.position and head.code != head_code(key, head.position, head.link):
        return "The end of the log was changed: lines may have been cut off."
    if log.after(head.position, 1) and log.head().position == head.position:
        return f"There are lines after line {head.position}, where the log should end."
    if not head.position and engine.sealed.store.spaces.totals() != (0, 0):
        return "The log is empty although the store is not."
    if kept is not None and kept.position > head.position:
        return f"The log ends before line {kept.position}, which the anchor names."
    return None


def _broken(position: int, before: bytes, problem: str | None) -> Verified:
    return Verified(position, f"{position}:{before.hex()}", problem)


def _parse_anchor(anchor: object) -> AuditHead:
    position, _, link = str(anchor).partition(":")
    try:
        return AuditHead(int(position), bytes.fromhex(link))
    except ValueError:
        raise InvalidField("An anchor is what an earlier check of the log printed.") from None


def readers(session: Session, target: EntryName, limit: int) -> list[Reading]:
    """Lists the readers of an entry, newest first, for its owner alone."""
    limit = check_limit(limit, session.limits.list_rows)
    entry = opened(look_up(find_ref(session, target, Op.READ, session.clock())))
    if entry.owner != session.principal:
        raise AccessDenied("Only its owner may ask who read an entry.")
    session.engine.reads.write_down()
    code = fingerprint(session.sealed.store_key, entry.id.bytes)
    lines = session.sealed.store.audit.about(code, READS, limit)
    names = ((line, session.sealed.principal(line.actor)) for line in lines)
    return [Reading(str(name or line.actor.hex()), line.operation, line.at_us) for line, name in names]
