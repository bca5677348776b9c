"""The eight who call, with all that a token can vouch for, and the places they meet in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.entrypoints.http.tokens import mint
from tests.behaviours.served import SECRET, START


@dataclass(frozen=True)
class Actor:
    kind: str
    id: str
    session_user: str | None = None
    chats: tuple[str, ...] = ()
    systems: Mapping[str, str] = field(default_factory=dict, hash=False)
    teams: tuple[str, ...] = ()
    roles: tuple[str, ...] = ("member",)

    @property
    def principal(self) -> str:
        return f"{self.kind}:{self.id}"

    @property
    def is_admin(self) -> bool:
        return "admin" in self.roles

    @property
    def listed_as(self) -> set[str]:
        """The names that a list of access may know them by."""
        return {self.principal, *(f"team:{team}" for team in self.teams)}

    def token(self) -> str:
        session_user = None if self.session_user is None else self.session_user.partition(":")[2]
        return mint(
            SECRET,
            subject=self.id,
            kind=self.kind,
            ttl_seconds=3_600,
            now=START,
            roles=self.roles,
            teams=self.teams,
            chats=self.chats,
            systems=self.systems,
            session_user=session_user,
        )


ADA = Actor("user", "ada", teams=("platform",))
BOB = Actor("user", "bob")
CYD = Actor("user", "cyd", chats=("den", "room"), systems={"depot": "read"})
DOT = Actor("agent", "dot", session_user="user:ada")
EVE = Actor("agent", "eve", chats=("den",), systems={"depot": "manage", "plant": "manage"}, roles=("guest",))
FAX = Actor("service", "fax", session_user="user:bob", teams=("platform",))
GUS = Actor("user", "gus", roles=("admin",))
HAL = Actor("user", "hal", roles=("guest", "auditor"))

ACTORS = (ADA, BOB, CYD, DOT, EVE, FAX, GUS, HAL)
CHATS = ("den", "room")
SYSTEMS = ("depot", "plant")
ROLES = ("member", "guest", "auditor")
SHARED_REFS = ("team", "lab", "bob")
"""The last is also somebody's id, so that a bare reference may mean two spaces."""
