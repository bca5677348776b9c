"""The rows of what people do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from holdfast.domain.errors import MissingField
from holdfast.domain.proposal import Answered, Proposal
from holdfast.surfaces.people import PeopleCalls
from holdfast.surfaces.wire.call import Call
from holdfast.surfaces.wire.fields import Field, Kind
from holdfast.surfaces.wire.shape import ID, MOMENT, SWITCH, TEXT, Json, Part, Shape, listed, micros, moment
from holdfast.surfaces.wire.words import LIMIT, field


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

PROPOSALS = people(PeopleCalls.proposals, (LIMIT,), PROPOSED)
APPROVE = people(PeopleCalls.approve, (PROPOSAL_ID,), ANSWERED, writes=True)
REFUSE = people(PeopleCalls.refuse, (PROPOSAL_ID,), ANSWERED, writes=True)
