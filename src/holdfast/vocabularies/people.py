"""What only people do: answer what agents and models propose, look into the quarantine, undo what another did."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from uuid import UUID

from holdfast.contracts.storage import Job
from holdfast.domain.entry import Entry
from holdfast.domain.limits import check_flag
from holdfast.domain.proposal import Answered, Proposal
from holdfast.operations import proposals, quarantine, undo_actor
from holdfast.operations.results import Page
from holdfast.operations.undo_actor import Undone
from holdfast.operations.work import Write
from holdfast.vocabularies.confirmed import confirmed
from holdfast.vocabularies.session import Session


class PeopleCalls:
    def __init__(self, session: Session) -> None:
        self._session = session

    def proposals(self, *, limit: int = 100) -> Proposals:
        """What waits for your yes or no, newest first, with the exact text that would be applied."""
        session = self._session
        return [] if session.is_off else proposals.waiting(session.engine, session.caller, limit)

    def approve(self, id: str | UUID) -> Write[Answered]:
        """Says yes: the call is made as whom proposed it, exactly as it was shown, if they still may."""
        session = self._session
        return Write(
            lambda: proposals.approve(session.engine, session.caller, id, partial(confirmed, session))
        )

    def refuse(self, id: str | UUID) -> Write[Answered]:
        """Says no: nothing happens, and the proposal cannot be approved any more."""
        session = self._session
        return Write(lambda: proposals.refuse(session.engine, session.caller, id))

    def quarantine(self, *, limit: int = 100) -> Page:
        """What waits for approval because it speaks to the model and comes from a tool or an import, newest first."""
        session = self._session
        if session.is_off:
            return Page(note=session.reason)
        return Page(quarantine.list_quarantined(session.engine, session.caller, limit))

    def approve_quarantined(self, id: str | UUID) -> Write[Entry]:
        """Lets models see a quarantined memory from now on."""
        session = self._session
        return Write(lambda: quarantine.approve_quarantined(session.engine, session.caller, id))

    def undo_by(self, actor: str, since: datetime | str, *, apply: bool = False) -> Write[Undone]:
        """Everything an actor (`kind:id`, or a run's id) wrote, edited or trashed since a moment, in every space you
        manage: shown first, and with `apply` reversed in one step. What others changed since is kept. The `run` in the
        answer is the reversal's own: as an actor it is undone in turn."""
        session, wanted = self._session, check_flag("apply", apply)
        if wanted:
            return Write(lambda: undo_actor.undo_by(session.engine, session.caller, actor, since))
        return Write(lambda: _seen(undo_actor.preview(session.engine, session.caller, actor, since)))


Proposals = list[Proposal]


def _seen(shown: Undone) -> Job[Undone]:
    return lambda _: shown
