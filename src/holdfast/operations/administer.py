"""Administration: participants of chats, access to systems, rules of roles, counts of callers. No entry is opened here,
so a lost key hides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from holdfast.contracts.rows import RuleRow
from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import Level, Op, catalogue_level
from holdfast.domain.errors import AccessDenied, InvalidField, InvalidLevel, Locked
from holdfast.domain.limits import check_key, check_limit, check_position
from holdfast.domain.principal import Caller, parse_grantee, parse_member
from holdfast.domain.space import OWN_KIND, Space, SpaceKind, SpaceName
from holdfast.operations.authorize import authorize_own, find_or_plan
from holdfast.operations.engine import Engine
from holdfast.operations.session import Session
from holdfast.storage.sealed_transaction import SealedTransaction

RULES = ("ai.memory.read", "ai.memory.manage")
AT_ONCE = 1_000
_KINDS = frozenset((*OWN_KIND.values(), SpaceKind.SESSION))


def set_participants(session: Session, chat: str, participants: Iterable[str]) -> Job[int]:
    """Sets who takes part in a chat; from now on this list alone counts."""
    _require_admin(session.caller)
    rows = {str(parse_grantee(name)): Level.READWRITE for name in participants}
    return _set_list(session, SpaceName(SpaceKind.CHAT, check_key(chat, session.limits)), rows)


def set_system_access(session: Session, system: str, access: Mapping[str, str]) -> Job[int]:
    """Sets access to a system: `{"team:platform": "manage", "user:alice": "read"}`; from now on this list alone
    counts."""
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
        session.engine.rules.clear()

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
    """One operation, in keyed ids: equal ids are the same thing, and nobody can tell which."""

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
    """Lists lines of the log in order, after a position."""
    _require_admin(session.caller)
    rows = session.sealed.store.audit.after(
        check_position(after), check_limit(limit, session.limits.list_rows)
    )
    session.engine.reads.note_look("audit", session.principal, session.clock())
    return [
        AuditLine(
            after + number,
            row.at_us,
            row.operation,
            row.actor.hex(),
            row.space.hex(),
            row.object.hex(),
            row.revision,
        )
        for number, row in enumerate(rows, start=1)
    ]


def _set_list(session: Session, name: SpaceName, members: Mapping[str, Level]) -> Job[int]:
    now = session.clock()
    target = session.sealed.write_target(find_or_plan(session.engine, name, now), now)
    rows = [session.sealed.member_row(target.space.id, member, level) for member, level in members.items()]

    def write(tx: Transaction) -> int:
        sealed = SealedTransaction(session.sealed, tx, now)
        sealed.insert_new(target)
        tx.members.replace(target.space.id, rows)
        tx.spaces.mark_listed(target.space.id)
        sealed.audit("set access", session.principal, target.space.id)
        return len(rows)

    return Job(write)


def _require_admin(caller: Caller) -> None:
    if not caller.is_admin:
        raise AccessDenied("Only an administrator may do this.")


@dataclass(frozen=True, slots=True)
class CallerCount:
    caller: str
    """kind:id."""
    session: str | None
    namespace: str
    """`subject` or `subject:session`, for show."""
    entries: int
    """In every partition, trash included."""


def list_callers(session: Session, limit: int) -> list[CallerCount]:
    """Lists callers, the busiest first. A caller who is no administrator sees only themselves."""
    limit = check_limit(limit, session.limits.list_rows)
    authorize_own(session, Op.METADATA, session.clock())
    rows = _everyone(session.engine) if session.caller.is_admin else _own(session)
    found = []
    for space, entries in rows:
        assert space.owner is not None
        part = space.ref if space.kind is SpaceKind.SESSION else None
        namespace = space.owner.id if part is None else f"{space.owner.id}:{part}"
        found.append(CallerCount(str(space.owner), part, namespace, entries))
    found.sort(key=lambda one: (-one.entries, one.caller, one.session or ""))
    return found[:limit]


def _everyone(engine: Engine) -> Iterator[tuple[Space, int]]:
    after = None
    while page := engine.sealed.store.copies.spaces(after, AT_ONCE):
        for row, counts, _ in page:
            if row.kind in _KINDS:
                with suppress(Locked):  # a row that was changed in the file
                    yield engine.sealed.open_space(row), counts.entries
        after = page[-1].row.id


def _own(session: Session) -> Iterator[tuple[Space, int]]:
    for space in session.sealed.spaces_of(session.principal):
        counts = session.sealed.store.spaces.counts(space.id)
        if space.kind in _KINDS and counts is not None:
            yield space, counts.entries
