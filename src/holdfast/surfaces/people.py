"""What only people do: answer what agents and models propose."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from holdfast.domain.proposal import Answered, Proposal
from holdfast.operations import propose
from holdfast.operations.work import Write
from holdfast.surfaces.confirmed import confirmed
from holdfast.surfaces.seat import Seat


class PeopleCalls:
    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    def proposals(self, *, limit: int = 100) -> Proposals:
        """What waits for your yes or no, newest first, with the exact text that would be applied."""
        seat = self._seat
        return [] if seat.is_off else propose.waiting(seat.engine, seat.caller, limit)

    def approve(self, id: str | UUID) -> Write[Answered]:
        """Says yes: the call is made as whom proposed it, exactly as it was shown, if they still may."""
        seat = self._seat
        return Write(lambda: propose.approve(seat.engine, seat.caller, id, partial(confirmed, seat)))

    def refuse(self, id: str | UUID) -> Write[Answered]:
        """Says no: nothing happens, and the proposal cannot be approved any more."""
        seat = self._seat
        return Write(lambda: propose.refuse(seat.engine, seat.caller, id))


Proposals = list[Proposal]
