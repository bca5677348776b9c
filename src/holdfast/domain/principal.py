"""Who calls. A principal is `kind:id`; a caller is a principal with what the host or the token vouches for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from holdfast.domain.errors import InvalidField

UNKNOWN = "unknown"
ID_BYTES = 512


class PrincipalKind(StrEnum):
    USER = "user"
    AGENT = "agent"
    SERVICE = "service"

    __hash__ = str.__hash__
    """Enum's own is written in Python, and principals are looked up in every operation."""


_KINDS = frozenset(kind.value for kind in PrincipalKind)


class Principal(NamedTuple):
    """A named tuple, because it is looked up by value in every operation."""

    kind: PrincipalKind
    id: str

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.id}"


def principal(kind: PrincipalKind, subject: str) -> Principal:
    """A checked principal; an empty subject is the shared `unknown` of callers without identity."""
    subject = subject or UNKNOWN
    try:
        size = len(subject.encode())
    except UnicodeEncodeError:
        raise InvalidField("A subject must be valid text.") from None
    if size > ID_BYTES or not subject.isprintable():
        raise InvalidField(f"A subject must be printable text of at most {ID_BYTES} bytes.")
    return Principal(kind, subject)


def parse_grantee(text: str) -> Principal:
    """`kind:id`; a bare id is an agent."""
    kind, colon, subject = text.partition(":")
    if not colon or kind not in _KINDS:
        kind, subject = PrincipalKind.AGENT, text
    if not subject:
        raise InvalidField("Name the grantee as kind:id, for example user:alice.")
    return principal(PrincipalKind(kind), subject)


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

    @property
    def is_admin(self) -> bool:
        return "admin" in self.roles
