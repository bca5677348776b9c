"""What administrators set: participants, access to systems, rules of roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.domain.limits import check_list, check_mapping
from holdfast.operations import administer
from holdfast.operations.administer import AuditLine, Stats
from holdfast.operations.work import Write
from holdfast.surfaces.seat import Seat


class AdministrationCalls:
    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    def set_participants(self, chat: str, participants: Iterable[str]) -> Write[int]:
        """Who takes part in a chat, as kind:id; from now on this list alone counts."""
        seat, names = self._seat, check_list("participants", participants)
        return Write(lambda: administer.set_participants(seat.engine, seat.caller, chat, names))

    def set_system_access(self, system: str, access: Mapping[str, str]) -> Write[int]:
        """Who may read or manage a system: `{"team:platform": "manage", "user:alice": "read"}`."""
        seat, rows = self._seat, check_mapping("access", access)
        return Write(lambda: administer.set_system_access(seat.engine, seat.caller, system, rows))

    def set_rules(self, role: str, rules: Mapping[str, bool]) -> Write[None]:
        """Revokes or gives back `ai.memory.read` and `ai.memory.manage` for a role."""
        seat, rows = self._seat, check_mapping("rules", rules)
        return Write(lambda: administer.set_rules(seat.engine, seat.caller, role, rows))

    def stats(self) -> Stats:
        """How many spaces and entries the store holds."""
        return administer.stats(self._seat.engine, self._seat.caller)

    def audit(self, after: int = 0, *, limit: int = 100) -> AuditLines:
        """The log of what was done, in keyed ids, from a position on."""
        return administer.audit_lines(self._seat.engine, self._seat.caller, after, limit)


AuditLines = list[AuditLine]
