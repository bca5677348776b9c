"""What administrators set: participants, access to systems, rules of roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.domain.limits import check_list, check_mapping
from holdfast.operations import administer
from holdfast.operations.administer import AuditLine, Stats
from holdfast.operations.work import Write
from holdfast.vocabularies.session import Session


class AdministrationCalls:
    def __init__(self, session: Session) -> None:
        self._session = session

    def set_participants(self, chat: str, participants: Iterable[str]) -> Write[int]:
        """Who takes part in a chat, as kind:id; from now on this list alone counts."""
        session, names = self._session, check_list("participants", participants)
        return Write(lambda: administer.set_participants(session.engine, session.caller, chat, names))

    def set_system_access(self, system: str, access: Mapping[str, str]) -> Write[int]:
        """Who may read or manage a system: `{"team:platform": "manage", "user:alice": "read"}`."""
        session, rows = self._session, check_mapping("access", access)
        return Write(lambda: administer.set_system_access(session.engine, session.caller, system, rows))

    def set_rules(self, role: str, rules: Mapping[str, bool]) -> Write[None]:
        """Revokes or gives back `ai.memory.read` and `ai.memory.manage` for a role."""
        session, rows = self._session, check_mapping("rules", rules)
        return Write(lambda: administer.set_rules(session.engine, session.caller, role, rows))

    def stats(self) -> Stats:
        """How many spaces and entries the store holds."""
        return administer.stats(self._session.engine, self._session.caller)

    def audit(self, after: int = 0, *, limit: int = 100) -> AuditLines:
        """The log of what was done, in keyed ids, from a position on."""
        return administer.audit_lines(self._session.engine, self._session.caller, after, limit)


AuditLines = list[AuditLine]
