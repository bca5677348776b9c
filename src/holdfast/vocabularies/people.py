"""What only people do: answer what agents and models propose, look into the quarantine, undo what another did."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated
from uuid import UUID

from holdfast.contracts.storage import Job, Result
from holdfast.domain.entry import Entry
from holdfast.domain.errors import MissingField
from holdfast.domain.limits import check_flag
from holdfast.domain.proposal import Answered, Proposal
from holdfast.operations import proposals, quarantine, undo_actor
from holdfast.operations.results import Page
from holdfast.operations.undo_actor import Reversal, Undone
from holdfast.vocabularies.call import Vocabulary, call
from holdfast.vocabularies.confirmed import confirmed
from holdfast.vocabularies.encoding import record, rows
from holdfast.vocabularies.entries import ENTRY, PAGE
from holdfast.vocabularies.fields import LIMIT, Field

PROPOSAL = Field("The proposal.", "7f3e1c52-0d0b-4f6e-9a55-2f1c8b6d4e10", missing=MissingField)
PROPOSALS = rows("Proposals", "proposals", record(Proposal))
ANSWERED = record(Answered, of={"result": {"type": ["object", "null"]}})
STEPS = {"type": "string", "enum": ["trash", "revert", "restore", "keep"]}
UNDONE = record(Undone, optional=("run",), of={"changes": record(Reversal, of={"step": STEPS})})


class PeopleCalls(Vocabulary):
    @call(PROPOSALS)
    def proposals(self, *, limit: Annotated[int, LIMIT] = 100) -> Proposals:
        """What waits for your yes or no, newest first, with the exact text that would be applied."""
        session = self._session
        return [] if session.is_off else proposals.waiting(session, limit)

    @call(ANSWERED, writes=True)
    def approve(self, id: Annotated[str | UUID, PROPOSAL]) -> Job[Answered]:
        """Says yes: the call is made as whom proposed it, exactly as it was shown, if they still may."""
        return proposals.approve(self._session, id, partial(confirmed, self._session))

    @call(ANSWERED, writes=True)
    def refuse(self, id: Annotated[str | UUID, PROPOSAL]) -> Job[Answered]:
        """Says no: nothing happens, and the proposal cannot be approved any more."""
        return proposals.refuse(self._session, id)

    @call(PAGE)
    def quarantine(self, *, limit: Annotated[int, LIMIT] = 100) -> Page:
        """What waits for approval because it speaks to the model and comes from a tool or an import, newest first."""
        session = self._session
        if session.is_off:
            return Page(note=session.reason)
        return Page(quarantine.list_quarantined(session, limit))

    @call(ENTRY, writes=True)
    def approve_quarantined(
        self, id: Annotated[str | UUID, Field("The quarantined memory.", missing=MissingField)]
    ) -> Job[Entry]:
        """Lets models see a quarantined memory from now on."""
        return quarantine.approve_quarantined(self._session, id)

    @call(UNDONE, writes=True)
    def undo_by(
        self,
        actor: Annotated[
            str, Field("Who: kind:id, or the id of a run.", "agent:helper", missing=MissingField)
        ],
        since: Annotated[
            datetime | str, Field("From this moment on.", "2026-05-08T14:00:00Z", missing=MissingField)
        ],
        *,
        apply: Annotated[bool, Field("True reverses it; otherwise it is only shown.")] = False,
    ) -> Result[Undone]:
        """Everything an actor (`kind:id`, or a run's id) wrote, edited or trashed since a moment, in every space you
        manage: shown first, and with `apply` reversed in one step. What others changed since is kept. The `run` in the
        answer is the reversal's own: as an actor it is undone in turn."""
        if check_flag("apply", apply):
            return undo_actor.undo_by(self._session, actor, since)
        return undo_actor.preview(self._session, actor, since)


Proposals = list[Proposal]
