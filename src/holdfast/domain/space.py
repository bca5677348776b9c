"""Spaces, which hold entries: of a user, agent, service, chat, session or system, or made to be shared."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from uuid import UUID

from holdfast.domain.principal import Principal, PrincipalKind


class SpaceKind(IntEnum):
    """Codes are stored: never renumber, only add."""

    USER = 1
    AGENT = 2
    SERVICE = 3
    CHAT = 4
    SESSION = 5
    SYSTEM = 6
    SHARED = 7

    @property
    def label(self) -> str:
        return self.name.lower()


OWN_KIND = {
    PrincipalKind.USER: SpaceKind.USER,
    PrincipalKind.AGENT: SpaceKind.AGENT,
    PrincipalKind.SERVICE: SpaceKind.SERVICE,
}


@dataclass(frozen=True, slots=True)
class SpaceName:
    """The public name of a space. Kind, owner and reference stay separate, so that subject `a:b` is never subject `a`
    with session `b`."""

    kind: SpaceKind
    ref: str
    owner: Principal | None = None

    def parts(self) -> tuple[str, str, str]:
        return self.kind.label, str(self.owner) if self.owner else "", self.ref


def own_space(principal: Principal) -> SpaceName:
    return SpaceName(OWN_KIND[principal.kind], principal.id, principal)


def session_space(principal: Principal, session: str) -> SpaceName:
    return SpaceName(SpaceKind.SESSION, session, principal)


@dataclass(frozen=True, slots=True)
class Space:
    id: UUID
    name: SpaceName
    created_us: int
    stored: bool = True
    listed: bool = False
    """True when the store holds a list of participants (chat) or of access (system), which overrides token claims."""

    @property
    def kind(self) -> SpaceKind:
        return self.name.kind

    @property
    def ref(self) -> str:
        return self.name.ref

    @property
    def owner(self) -> Principal | None:
        return self.name.owner
