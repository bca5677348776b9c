"""The rows of what people do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from holdfast.domain.errors import MissingField
from holdfast.domain.proposal import Answered, Proposal
from holdfast.operations.undo_actor import Reversal, Undone
from holdfast.vocabularies.people import PeopleCalls
from holdfast.vocabularies.wire.call import Call
from holdfast.vocabularies.wire.entries import ENTRY, PAGE
from holdfast.vocabularies.wire.fields import Field, Kind
from holdfast.vocabularies.wire.shape import (
    ID,
    MAYBE_TEXT,
    MOMENT,
    SWITCH,
    TEXT,
    WHOLE,
    Json,
    Part,
    Shape,
    listed,
    many,
    micros,
    moment,
)
from holdfast.vocabularies.wire.words import LIMIT, field


def people(
    run: Callable[..., Any], fields: tuple[Field, ...], answer: Shape[Any], *, writes: bool = False
) -> Call:
    return Call(PeopleCalls, run, fields, answer, writes)


def _read_proposal(shown: Json) -> Proposal:
    created, expires = micros(shown.pop("created_at")), micros(shown.pop("expires_at"))
    assert created is not None
    assert expires is not None
    return Proposal(**shown | {"id": UUID(shown["id"])}, created_us=created, expires_us=expires)


PROPOSAL = Shape(
    "Proposal",
    (
        Part("id", ID, lambda proposal: str(proposal.id)),
        Part("what", TEXT, lambda proposal: proposal.what),
        Part("arguments", {"type": "object"}, lambda proposal: dict(proposal.arguments)),
        Part("shown", TEXT, lambda proposal: proposal.shown),
        Part("proposer", TEXT, lambda proposal: proposal.proposer),
        Part("door", TEXT, lambda proposal: proposal.door),
        Part("space", TEXT, lambda proposal: proposal.space),
        Part("created_at", MOMENT, lambda proposal: moment(proposal.created_us)),
        Part("expires_at", MOMENT, lambda proposal: moment(proposal.expires_us)),
    ),
    _read_proposal,
)
PROPOSED = listed("Proposals", "proposals", PROPOSAL)
ANSWERED = Shape(
    "Answered",
    (
        Part("id", ID, lambda done: str(done.id)),
        Part("what", TEXT, lambda done: done.what),
        Part("approved", SWITCH, lambda done: done.approved),
        Part("result", {"type": ["object", "null"]}, lambda done: done.result),
    ),
    lambda shown: Answered(**shown | {"id": UUID(shown["id"])}),
)
PROPOSAL_ID = field(
    "id", Kind.ID, "The proposal.", "7f3e1c52-0d0b-4f6e-9a55-2f1c8b6d4e10", missing=MissingField
)

REVERSAL = Shape(
    "Reversal",
    (
        Part("id", ID, lambda step: str(step.id)),
        Part("space", ID, lambda step: str(step.space)),
        Part("key", TEXT, lambda step: step.key),
        Part(
            "step", {"type": "string", "enum": ["trash", "revert", "restore", "keep"]}, lambda step: step.step
        ),
        Part("revision", WHOLE, lambda step: step.revision),
        Part("text", MAYBE_TEXT, lambda step: step.text),
    ),
    lambda shown: Reversal(**shown | {"id": UUID(shown["id"]), "space": UUID(shown["space"])}),
)
UNDONE = Shape(
    "Undone",
    (
        Part("actor", TEXT, lambda done: done.actor),
        Part("since", MOMENT, lambda done: moment(done.since_us)),
        Part("applied", SWITCH, lambda done: done.applied),
        Part(
            "changes",
            many(REVERSAL),
            lambda done: [REVERSAL.show(step) for step in done.changes],
            shapes=(REVERSAL,),
        ),
        Part("run", TEXT, lambda done: done.run, optional=True),
    ),
    lambda shown: Undone(
        shown["actor"],
        micros(shown["since"]) or 0,
        shown["applied"],
        tuple(REVERSAL.read(step) for step in shown["changes"]),
        shown.get("run"),
    ),
)

PROPOSALS = people(PeopleCalls.proposals, (LIMIT,), PROPOSED)
APPROVE = people(PeopleCalls.approve, (PROPOSAL_ID,), ANSWERED, writes=True)
REFUSE = people(PeopleCalls.refuse, (PROPOSAL_ID,), ANSWERED, writes=True)
QUARANTINE = people(PeopleCalls.quarantine, (LIMIT,), PAGE)
APPROVE_QUARANTINED = people(
    PeopleCalls.approve_quarantined,
    (field("id", Kind.ID, "The quarantined memory.", missing=MissingField),),
    ENTRY,
    writes=True,
)
UNDO_BY = people(
    PeopleCalls.undo_by,
    (
        field("actor", Kind.TEXT, "Who: kind:id, or the id of a run.", "agent:helper", missing=MissingField),
        field("since", Kind.MOMENT, "From this moment on.", "2026-05-08T14:00:00Z", missing=MissingField),
        field("apply", Kind.SWITCH, "True reverses it; otherwise it is only shown."),
    ),
    UNDONE,
    writes=True,
)
