"""Access: grants and their levels, one pure function that decides on every operation, `sees`, which checks every row
again, and proposals, which wait for a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, IntEnum
from typing import Any, NamedTuple
from uuid import UUID

from holdfast.domain.entry import Entry, Revision
from holdfast.domain.errors import AccessDenied, InvalidLevel
from holdfast.domain.partition import OWNER_ONLY_IN_USER_SPACES
from holdfast.domain.principal import Caller, Principal, PrincipalKind
from holdfast.domain.space import Space, SpaceKind
from holdfast.domain.times import to_datetime


class Level(IntEnum):
    """Each level includes those before it. Codes are stored: never renumber."""

    SEARCH = 1
    READ = 2
    READWRITE = 3
    MANAGE = 4

    @property
    def label(self) -> str:
        return self.name.lower()


def parse_level(text: str) -> Level:
    for level in Level:
        if level.label == text:
            return level
    raise InvalidLevel


@dataclass(frozen=True, slots=True)
class Grant:
    space: UUID
    grantee: Principal
    level: Level
    granted_by: Principal
    created_us: int
    expires_us: int | None

    def live(self, now: int) -> bool:
        return self.expires_us is None or now < self.expires_us

    @property
    def expires_at(self) -> datetime | None:
        return None if self.expires_us is None else to_datetime(self.expires_us)


class AgentSettings(NamedTuple):
    """The settings of an agent's memory, made by its owner."""

    enabled: bool = True
    """The master switch: off, the agent has no memory at all."""
    own: bool = True
    """Its own store; `self` on the wire."""
    chat: bool = True
    """Stores of chats it takes part in."""
    user: bool = True
    """The store of the user it works for."""
    default_ttl: int = 0
    """Default seconds to live of an entry in a store; 0: for ever."""


ALL_ON = AgentSettings()
ALL_OFF = AgentSettings(enabled=False)


@dataclass(frozen=True, slots=True)
class AgentMemory:
    """The settings of one agent, and its owner."""

    agent: str
    owner: str | None
    settings: AgentSettings


class Op(Enum):
    """An operation on a space: its name, the level it needs, whether it shows entries, whether it writes."""

    SEARCH = "search", Level.SEARCH, True, False
    READ = "read", Level.READ, True, False
    METADATA = "metadata", Level.READ, True, False
    CHANGE = "change", Level.READWRITE, True, True
    """A change of an existing entry, which the answer shows."""
    WRITE = "write", Level.READWRITE, False, True
    SHARE = "share", Level.READWRITE, False, True
    FORGET = "forget", Level.READWRITE, False, True
    MANAGE = "manage", Level.MANAGE, False, True

    def __init__(self, label: str, level: Level, shows: bool, writes: bool) -> None:
        self.label = label
        self.level = level
        self.shows = shows
        self.writes = writes


class Reason(Enum):
    """The step of the cascade that decided."""

    OWN = "own"
    GRANT = "grant"
    CHAT = "chat"
    SESSION_USER = "session user"
    SYSTEM = "system"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True, slots=True)
class Standing:
    """The facts about a caller and a space, read live for each operation."""

    grants: tuple[Grant, ...] = ()
    participant: bool = False
    system: Level | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """The revocable rules that a caller's roles grant: ai.memory.read and ai.memory.manage."""

    read: bool = True
    manage: bool = True


@dataclass(frozen=True, slots=True)
class Decision:
    level: Level
    reason: Reason


NO_STANDING = Standing()
ALL_RULES = Rules()
_OWN = Decision(Level.MANAGE, Reason.OWN)


def decide(
    caller: Caller,
    space: Space,
    op: Op,
    now: int,
    standing: Standing = NO_STANDING,
    rules: Rules = ALL_RULES,
    settings: AgentSettings = ALL_ON,
) -> Decision:
    """The level that the caller holds in the space, by the first live match. Raises unless it is enough for the
    operation. No rule, and no setting of an agent's owner, keeps anyone from forgetting their own data."""
    own = space.name.owner == caller.principal
    allowed = rules is ALL_RULES or ((rules.manage or not op.writes) and (rules.read or not op.shows))
    if not allowed and not (own and op is Op.FORGET):
        raise AccessDenied("Your role may not use memory in this way; an administrator can allow it.")
    if own:
        if settings is not ALL_ON and op is not Op.FORGET:
            _require_on(space, _OWN, settings)
        return _OWN
    decision = _by_standing(caller, space, op, now, standing)
    if decision is None or decision.level < op.level:
        raise AccessDenied
    if settings is not ALL_ON:
        _require_on(space, decision, settings)
    return decision


def _require_on(space: Space, decision: Decision, settings: AgentSettings) -> None:
    match decision.reason:
        case Reason.OWN:
            on = settings.own or space.kind is not SpaceKind.AGENT
        case Reason.CHAT:
            on = settings.chat
        case Reason.SESSION_USER:
            on = settings.user
        case _:
            on = True
    if not (settings.enabled and on):
        raise AccessDenied("The owner of this agent has switched this memory off.")


def _by_standing(caller: Caller, space: Space, op: Op, now: int, standing: Standing) -> Decision | None:
    granted = [grant.level for grant in standing.grants if grant.live(now)]
    if granted:
        return Decision(max(granted), Reason.GRANT)
    if space.kind is SpaceKind.CHAT and standing.participant:
        return Decision(Level.READWRITE, Reason.CHAT)
    if (
        space.kind is SpaceKind.USER
        and caller.session_user is not None
        and caller.session_user == space.owner
    ):
        return Decision(Level.READWRITE, Reason.SESSION_USER)
    if space.kind is SpaceKind.SYSTEM and standing.system is not None:
        return Decision(standing.system, Reason.SYSTEM)
    if op is Op.METADATA and caller.is_admin:
        return Decision(Level.READ, Reason.ADMINISTRATOR)
    return None


def is_own(principal: Principal, space: Space) -> bool:
    return space.name.owner == principal


def catalogue_level(level: str) -> Level:
    """Reading a system in the catalogue allows reading and writing its memories; managing it allows managing them."""
    return Level.MANAGE if level == "manage" else Level.READWRITE


def may_delete(space: Space, level: Level, *, creator: bool) -> bool:
    """Authors may remove their entries with readwrite, others need manage. In a system space everyone needs
    manage."""
    if level is Level.MANAGE:
        return True
    return creator and level is Level.READWRITE and space.kind is not SpaceKind.SYSTEM


def may_share(decision: Decision) -> bool:
    """Participation in a chat or a session may end at any moment, so it gives no right to grant. In a system managers
    alone grant."""
    if decision.reason is Reason.SYSTEM:
        return decision.level is Level.MANAGE
    return decision.reason in (Reason.OWN, Reason.GRANT)


def may_flag(caller: Caller, space: Space, level: Level) -> bool:
    """An always-apply entry steers every later turn of all readers of the space. It needs a person who manages the
    space, or the approval of one; others may set it for themselves alone."""
    if caller.confirmed_by is not None:
        return True
    alone = space.name.owner == caller.principal and space.kind is not SpaceKind.SHARED
    return level is Level.MANAGE and (alone or is_person(caller))


def sees(caller: Caller, space: Space, entry: Entry, now: int) -> bool:
    """Checks a row that came back from a store again; its seal has proved the space. People alone see quarantined
    entries, and no model sees client-encrypted ones."""
    if entry.expires_us is not None and entry.expires_us <= now:
        return False
    if entry.quarantined and not is_person(caller):
        return False
    if entry.encrypted and caller.door in MODEL_DOORS:
        return False
    if entry.partition in OWNER_ONLY_IN_USER_SPACES and space.name.kind is SpaceKind.USER:
        return entry.owner == caller.principal
    return True


def sees_state(caller: Caller, revision: Revision) -> bool:
    """Checks a former state of an entry, which may have been quarantined or encrypted then."""
    if revision.quarantined and not is_person(caller):
        return False
    return not (revision.encrypted and caller.door in MODEL_DOORS)


MODEL_DOORS = frozenset({"mcp"})
"""Interfaces that a model speaks through, whoever lent it a token."""


def asks_as_model(caller: Caller) -> bool:
    """Returns True when a model asks and no person has confirmed the call."""
    return caller.door in MODEL_DOORS and caller.confirmed_by is None


def is_person(caller: Caller) -> bool:
    """Returns True when a human being may be speaking: a user, not through an interface of models or tools."""
    return (
        caller.principal.kind is PrincipalKind.USER
        and not is_unattended(caller)
        and caller.door not in MODEL_DOORS
        and caller.door != "handler"
    )


def is_unattended(caller: Caller) -> bool:
    return caller.unattended or caller.principal.kind is PrincipalKind.SERVICE


@dataclass(frozen=True, slots=True)
class Proposal:
    """A call that waits for a person's approval: the call, its caller, and the exact text the person is shown."""

    id: UUID
    what: str
    """`vocabulary.call`, such as `assistant.delete_memory`."""
    arguments: Mapping[str, Any]
    """The arguments of the call, which runs with exactly these."""
    shown: str
    proposer: str
    door: str
    space: str
    """The space as `kind:reference`."""
    created_us: int
    expires_us: int

    @property
    def created_at(self) -> datetime:
        return to_datetime(self.created_us)

    @property
    def expires_at(self) -> datetime:
        return to_datetime(self.expires_us)


@dataclass(frozen=True, slots=True)
class Answered:
    """The outcome of a person's answer."""

    id: UUID
    what: str
    approved: bool
    result: Any = None
    """The answer of the call as JSON; None when it was refused."""
