"""Callers. A principal is `kind:id`; a caller is a principal with circumstances that the host or the token vouches
for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeGuard

from holdfast.domain.errors import InvalidField
from holdfast.domain.limits import is_text

UNKNOWN = "unknown"
ID_BYTES = 512
TEAM = "team:"


class PrincipalKind(StrEnum):
    USER = "user"
    AGENT = "agent"
    SERVICE = "service"

    __hash__ = str.__hash__
    """Enum's own hash is written in Python, and principals are looked up in every operation."""


_KINDS = frozenset(kind.value for kind in PrincipalKind)


class Principal(NamedTuple):
    """A named tuple, because it is looked up by value in every operation."""

    kind: PrincipalKind
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


def principal(kind: PrincipalKind, subject: object) -> Principal:
    """A checked principal; an empty subject is the shared `unknown` of callers without identity."""
    return Principal(kind, check_subject("subject", subject) or UNKNOWN)


def check_subject(what: str, subject: object) -> str:
    """Checks an id from a host or a token: of a principal, a session or a team."""
    if not is_subject(subject):
        raise InvalidField(f"The {what} must be printable text of at most {ID_BYTES} bytes.")
    return subject


def is_subject(subject: object) -> TypeGuard[str]:
    return is_text(subject) and len(subject.encode()) <= ID_BYTES and subject.isprintable()


def parse_grantee(text: object) -> Principal:
    """`kind:id`; a bare id is an agent."""
    name = check_subject("grantee", text)
    kind, colon, subject = name.partition(":")
    if not colon or kind not in _KINDS:
        kind, subject = PrincipalKind.AGENT, name
    if not subject:
        raise InvalidField("Name the grantee as kind:id, for example user:alice.")
    return principal(PrincipalKind(kind), subject)


def parse_member(text: object) -> str:
    """A member of an access list: `team:name`, or a grantee."""
    if not isinstance(text, str) or not text.startswith(TEAM):
        return str(parse_grantee(text))
    if text == TEAM:
        raise InvalidField("Name the team as team:name, for example team:platform.")
    return TEAM + check_subject("team", text.removeprefix(TEAM))


@dataclass(frozen=True, slots=True)
class Caller:
    """A principal and its circumstances, from a verified token or the host program, never from an argument."""

    principal: Principal
    session_user: Principal | None = None
    chats: frozenset[str] = frozenset()
    systems: Mapping[str, str] = field(default_factory=dict)
    teams: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset({"member"})
    unattended: bool = False
    run: str | None = None
    conversation: str | None = None
    door: str = "python"
    owner: Principal | None = None
    """The owner of an agent or a service."""
    confirmed_by: Principal | None = None
    """The person who confirmed this very call, and holds the level it needs."""
    until_us: int | None = field(default=None, compare=False)
    """The end of the token behind this caller; work that goes on after a call has to check it."""

    @property
    def is_admin(self) -> bool:
        return "admin" in self.roles
