"""Asks a person to confirm a proposal, if their client has forms. In the older protocol the call waits for the answer;
since 2026-07-28 the client repeats the call with it. Without forms, people answer on the command line. A model cannot
confirm anything: the answer comes from the client, and the proposal is approved as the person, with their own
access."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from holdfast.domain.access import Answered
from holdfast.domain.errors import ConfirmationRequired, ProposalExpired
from holdfast.domain.principal import Caller
from holdfast.entrypoints.mcp.protocol import Context
from holdfast.entrypoints.python.local import dispatch
from holdfast.operations.proposals import may_approve, person_asked
from holdfast.operations.session import Session
from holdfast.vocabularies.call import call_of
from holdfast.vocabularies.people import PeopleCalls, confirmable_call

DOOR = "form"
"""The interface through which a person answers; no model uses it."""
YES = "yes"
FORM = {
    "type": "object",
    "properties": {YES: {"type": "boolean", "title": "Yes, do it", "default": False}},
    "required": [YES],
}


class InputRequired(Exception):
    """The client must ask the person and repeat the call; `result` is the answer until then."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("a person must answer")
        self.result = result


async def can_ask(session: Session, context: Context, proposal: str) -> bool:
    """Returns True if the client can ask a person now whose approval would be enough."""
    if not _has_forms(session, context):
        return False
    person = _as_person(session)
    return await asyncio.to_thread(may_approve, person, proposal, partial(confirmable_call, person))


def _has_forms(session: Session, context: Context) -> bool:
    capabilities = context.session.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    if elicitation is None or person_asked(session.caller) is None:
        return False
    if elicitation.form is None and elicitation.url is not None:  # an empty capability means forms
        return False
    return is_modern(context) or context.session.can_send_request


async def ask_person(session: Session, context: Context, proposal: str) -> Answered:
    """Returns the decision of the person. Raises InputRequired if the client must repeat the call with it."""
    waiting = await dispatch(_as_person(session), call_of(PeopleCalls.proposals), {})
    shown = next((str(each.shown) for each in waiting if each.id == UUID(proposal)), None)
    if shown is None:
        raise ProposalExpired
    if is_modern(context):
        request = ElicitRequest(params=ElicitRequestFormParams(message=shown, requested_schema=FORM))
        raise InputRequired(InputRequiredResult(input_requests={YES: request}, request_state=proposal))
    try:
        answer = await context.session.elicit_form(shown, FORM, related_request_id=context.request_id)
    except MCPError as error:
        waits = ConfirmationRequired(
            "The client could not ask the person; the proposal still waits for them."
        )
        waits.proposal = proposal
        raise waits from error
    return await _decide(session, proposal, answer)


async def submit_answer(session: Session, params: CallToolRequestParams) -> Answered:
    """Decides the proposal of a repeated call."""
    assert params.request_state is not None
    return await _decide(session, params.request_state, (params.input_responses or {}).get(YES))


async def _decide(session: Session, proposal: str, answer: Any) -> Answered:
    agrees = (
        isinstance(answer, ElicitResult)
        and answer.action == "accept"
        and (answer.content or {}).get(YES) is True
    )
    decision: Answered = await dispatch(
        _as_person(session), call_of(PeopleCalls.approve if agrees else PeopleCalls.refuse), {"id": proposal}
    )
    return decision


def _as_person(session: Session) -> Session:
    caller, person = session.caller, person_asked(session.caller)
    assert person is not None
    alone = replace(caller, door=DOOR) if person == caller.principal else Caller(person, door=DOOR)
    return session.acting_as(alone)


def is_modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS
