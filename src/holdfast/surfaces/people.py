"""What only people do: answer what agents and models propose, look into the quarantine, undo what another did."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from uuid import UUID

from holdfast.contracts.storage import Job
from holdfast.domain.entry import Entry
from holdfast.domain.limits import check_flag
from holdfast.domain.proposal import Answered, Proposal
from holdfast.operations import propose, quarantine, undo_by
from holdfast.operations.answers import Page
from holdfast.operations.undo_by import Undone
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

    def quarantine(self, *, limit: int = 100) -> Page:
        """What waits for approval because it speaks to the model and comes from a tool or an import, newest first."""
        seat = self._seat
        if seat.is_off:
            return Page(note=seat.reason)
        return Page(quarantine.list_quarantined(seat.engine, seat.caller, limit))

    def approve_quarantined(self, id: str | UUID) -> Write[Entry]:
        """Lets models see a quarantined memory from now on."""
        seat = self._seat
        return Write(lambda: quarantine.approve_quarantined(seat.engine, seat.caller, id))

    def undo_by(self, actor: str, since: datetime | str, *, apply: bool = False) -> Write[Undone]:
        """Everything an actor (`kind:id`, or a run's id) wrote, edited or trashed since a moment, in every space you
        manage: shown first, and with `apply` reversed in one step. What others changed since is kept. The `run` in the
        answer is the reversal's own: as an actor it is undone in turn."""
        seat, wanted = self._seat, check_flag("apply", apply)
        if wanted:
            return Write(lambda: undo_by.undo_by(seat.engine, seat.caller, actor, since))
        return Write(lambda: _seen(undo_by.preview(seat.engine, seat.caller, actor, since)))


Proposals = list[Proposal]


def _seen(shown: Undone) -> Job[Undone]:
    return lambda _: shown
