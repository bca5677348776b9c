"""What an administrator sets: participants of chats, access to systems, rules of roles. No entry is shown here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from holdfast.contracts.rows import RuleRow
from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import catalogue_level
from holdfast.domain.errors import AccessDenied, InvalidField, InvalidLevel
from holdfast.domain.grant import Level
from holdfast.domain.limits import check_key, check_limit, check_position
from holdfast.domain.principal import Caller, parse_grantee, parse_member
from holdfast.domain.space import SpaceKind, SpaceName
from holdfast.operations.authorize import find_or_plan
from holdfast.operations.session import Session
from holdfast.storage.sealed_transaction import SealedTransaction

RULES = ("ai.memory.read", "ai.memory.manage")


def set_participants(session: Session, chat: str, participants: Iterable[str]) -> Job[int]:
    """From now on this list alone says who takes part in the chat."""
    _require_admin(session.caller)
    rows = {str(parse_grantee(name)): Level.READWRITE for name in participants}
    return _set_list(session, SpaceName(SpaceKind.CHAT, check_key(chat, session.limits)), rows)


def set_system_access(session: Session, system: str, access: Mapping[str, str]) -> Job[int]:
    """`{"team:platform": "manage", "user:alice": "read"}`; from now on this list alone counts."""
    _require_admin(session.caller)
    rows = {}
    for member, level in access.items():
        if level not in ("read", "manage"):
            raise InvalidLevel("Access to a system is read or manage.")
        rows[parse_member(member)] = catalogue_level(level)
    return _set_list(session, SpaceName(SpaceKind.SYSTEM, check_key(system, session.limits)), rows)


def set_rules(session: Session, role: str, rules: Mapping[str, bool]) -> Job[None]:
    """Revokes or gives back ai.memory.read and ai.memory.manage for a role; what is not named stays on."""
    _require_admin(session.caller)
    if unknown := sorted(set(rules) - set(RULES)):
        raise InvalidField(f"Unknown rule {unknown[0]}; there are {' and '.join(RULES)}.")
    if not all(isinstance(value, bool) for value in rules.values()):
        raise InvalidField("A rule is true or false.")
    row = RuleRow(check_key(role, session.limits), rules.get(RULES[0], True), rules.get(RULES[1], True))
    now = session.clock()

    def write(tx: Transaction) -> None:
        tx.rules.put(row)
        SealedTransaction(session.sealed, tx, now).audit("set rules", session.principal)
        session.engine.rules.forget()

    return Job(write)


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of the whole store, never a word of it."""

    spaces: int
    entries: int
    pending: int
    embedder: str | None


@dataclass(frozen=True, slots=True)
class AuditLine:
    """Who did what when, in keyed ids: the same id is the same thing, and nobody can tell which."""

    position: int
    at_us: int
    operation: str
    actor: str
    space: str
    object: str
    revision: int


def stats(session: Session) -> Stats:
    _require_admin(session.caller)
    session.engine.reads.note_look("stats", session.principal, session.clock())
    spaces, entries = session.sealed.store.spaces.totals()
    status = session.engine.index.status()
    return Stats(spaces, entries, status.pending, status.embedder)


def audit_lines(session: Session, after: int, limit: int) -> list[AuditLine]:
    """The log in its order, from a position on."""
    _require_admin(session.caller)
    rows = session.sealed.store.audit.after(
        check_position(after), check_limit(limit, session.limits.list_rows)
    )
    session.engine.reads.note_look("audit", session.principal, session.clock())
    return [
        AuditLine(
            after + place,
            row.at_us,
            row.operation,
            row.actor.hex(),
            row.space.hex(),
            row.object.hex(),
            row.revision,
        )
        for place, row in enumerate(rows, start=1)
    ]


def _set_list(session: Session, name: SpaceName, members: Mapping[str, Level]) -> Job[int]:
    now = session.clock()
    place = session.sealed.write_target(find_or_plan(session.engine, name, now), now)
    rows = [session.sealed.member_row(place.space.id, member, level) for member, level in members.items()]

    def write(tx: Transaction) -> int:
        sealed = SealedTransaction(session.sealed, tx, now)
        sealed.insert_new(place)
        tx.members.replace(place.space.id, rows)
        tx.spaces.mark_listed(place.space.id)
        sealed.audit("set access", session.principal, place.space.id)
        return len(rows)

    return Job(write)


def _require_admin(caller: Caller) -> None:
    if not caller.is_admin:
        raise AccessDenied("Only an administrator may do this.")
