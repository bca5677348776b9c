"""Calls for people alone: answer proposals of agents and models, read the quarantine, undo what another did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from holdfast.contracts.storage import Job, Result
from holdfast.domain.access import Answered, Level, Proposal
from holdfast.domain.entry import Entry
from holdfast.domain.errors import MissingField, NotFound
from holdfast.domain.limits import check_flag
from holdfast.domain.principal import Caller
from holdfast.operations import proposals, quarantine, undo
from holdfast.operations.proposals import ConfirmableCall
from holdfast.operations.results import Page
from holdfast.operations.session import Session
from holdfast.operations.undo import Reversal, Undone
from holdfast.vocabularies.answers import STORED
from holdfast.vocabularies.assistant import AssistantCalls
from holdfast.vocabularies.call import Vocabulary, call, call_of
from holdfast.vocabularies.core import CoreCalls
from holdfast.vocabularies.encoding import record, rows
from holdfast.vocabularies.entries import ENTRY, PAGE
from holdfast.vocabularies.facts import FactCalls
from holdfast.vocabularies.fields import LIMIT, Field
from holdfast.vocabularies.sharing import SharingCalls
from holdfast.vocabularies.stores import StoreCalls

PROPOSAL = Field("The proposal.", "7f3e1c52-0d0b-4f6e-9a55-2f1c8b6d4e10", missing=MissingField)
PROPOSALS = rows("Proposals", "proposals", record(Proposal))
ANSWERED = record(Answered, of={"result": {"type": ["object", "null"]}})
STEPS = {"type": "string", "enum": ["trash", "revert", "restore", "keep"]}
UNDONE = record(Undone, optional=("run",), of={"changes": record(Reversal, of={"step": STEPS})})


class PeopleCalls(Vocabulary):
    @call(PROPOSALS)
    def proposals(self, *, limit: Annotated[int, LIMIT] = 100) -> Proposals:
        """Lists proposals you may answer, newest first, with the exact text that would be applied."""
        session = self._session
        return [] if session.is_off else proposals.waiting(session, limit)

    @call(ANSWERED, writes=True)
    def approve(self, id: Annotated[str | UUID, PROPOSAL]) -> Job[Answered]:
        """Approves: the call runs as the proposer, exactly as it was shown, if they still may."""
        return proposals.approve(self._session, id, partial(confirmable_call, self._session))

    @call(ANSWERED, writes=True)
    def refuse(self, id: Annotated[str | UUID, PROPOSAL]) -> Job[Answered]:
        """Refuses: nothing happens, and the proposal cannot be approved any more."""
        return proposals.refuse(self._session, id)

    @call(PAGE)
    def quarantine(self, *, limit: Annotated[int, LIMIT] = 100) -> Page:
        """Lists memories kept from models because they give orders and come from a tool or an import, newest first."""
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
            return undo.undo_by(self._session, actor, since)
        return undo.preview_undo_by(self._session, actor, since)


Proposals = list[Proposal]


CONFIRMABLE: Mapping[str, tuple[Callable[..., Any], Level]] = {
    "core.remember": (CoreCalls.remember, Level.MANAGE),
    "core.forget": (CoreCalls.forget, Level.MANAGE),
    "facts.forget": (FactCalls.forget, Level.MANAGE),
    "core.share": (SharingCalls.share, Level.READWRITE),
    "core.unshare": (SharingCalls.unshare, Level.READWRITE),
    "stores.memory": (StoreCalls.memory, Level.READWRITE),
    "assistant.save_memory": (AssistantCalls.save_memory, Level.MANAGE),
    "assistant.delete_memory": (AssistantCalls.delete_memory, Level.MANAGE),
    "assistant.set_memory_always_inject": (AssistantCalls.set_memory_always_inject, Level.MANAGE),
}


def confirmable_call(session: Session, what: str) -> ConfirmableCall:
    if what not in CONFIRMABLE:
        raise NotFound(f"Nothing here carries out `{what}`; the proposal comes from another version.")
    method, level = CONFIRMABLE[what]
    call = call_of(method)

    def prepare(caller: Caller, arguments: Mapping[str, Any]) -> Job[Any]:
        job = call.on(session.acting_as(caller), **arguments)
        assert isinstance(job, Job), f"{what} must be one transaction to be confirmed"
        return job

    answer = STORED if method is CoreCalls.remember else call.answer  # a kept answer holds no similar entries
    return ConfirmableCall(level, prepare, answer.encode)
