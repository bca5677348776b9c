"""A proposal is put to the person at once where their client has forms. In the handshake era the call waits for the
answer; since 2026-07-28 the client sends the call again with it. Whoever has no form answers on the command line.
Nothing that a model could say stands for a yes: the answer comes from the client, and the proposal is approved as the
person, whose own access counts."""

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

from holdfast.domain.errors import ConfirmationRequired, ProposalExpired
from holdfast.domain.principal import Caller
from holdfast.domain.proposal import Answered
from holdfast.entrypoints import dispatch
from holdfast.entrypoints.mcp.protocol import Context
from holdfast.operations.proposals import may_approve, person_asked
from holdfast.vocabularies.confirmed import confirmed
from holdfast.vocabularies.session import Session
from holdfast.vocabularies.wire.people_calls import APPROVE, PROPOSALS, REFUSE

DOOR = "form"
"""Through which a person answers; no model speaks there."""
YES = "yes"
FORM = {
    "type": "object",
    "properties": {YES: {"type": "boolean", "title": "Yes, do it", "default": False}},
    "required": [YES],
}


class Ask(Exception):
    """The client is to ask and to call again; `result` is what it is answered meanwhile."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("a person is asked")
        self.result = result


async def can_ask(session: Session, context: Context, proposal: str) -> bool:
    """Whether there is a person whom this client can ask now, and whose yes would be enough."""
    if not _has_forms(session, context):
        return False
    person = _as_person(session)
    return await asyncio.to_thread(
        may_approve, person.engine, person.caller, proposal, partial(confirmed, person)
    )


def _has_forms(session: Session, context: Context) -> bool:
    """An empty capability stands for forms."""
    capabilities = context.session.client_capabilities
    told = None if capabilities is None else capabilities.elicitation
    if told is None or (told.form is None and told.url is not None) or person_asked(session.caller) is None:
        return False
    return _is_modern(context) or context.session.can_send_request


async def asked(session: Session, context: Context, proposal: str) -> Answered:
    """What the person decided; raises Ask when the client is to come again with their answer."""
    shown = await _shown(session, proposal)
    if _is_modern(context):
        request = ElicitRequest(params=ElicitRequestFormParams(message=shown, requested_schema=FORM))
        raise Ask(InputRequiredResult(input_requests={YES: request}, request_state=proposal))
    try:
        answer = await context.session.elicit_form(shown, FORM, related_request_id=context.request_id)
    except MCPError as error:
        waits = ConfirmationRequired(
            "The client could not ask the person; the proposal still waits for them."
        )
        waits.proposal = proposal
        raise waits from error
    return await _answered(session, proposal, answer)


def answered_proposal(context: Context, params: CallToolRequestParams) -> str | None:
    """That of a call which comes again: what the client carried is sealed, and bound to this very call and caller."""
    return params.request_state if _is_modern(context) and params.input_responses else None


async def decided(session: Session, params: CallToolRequestParams, proposal: str) -> Answered:
    return await _answered(session, proposal, (params.input_responses or {}).get(YES))


async def _answered(session: Session, proposal: str, answer: Any) -> Answered:
    agrees = isinstance(answer, ElicitResult) and answer.action == "accept"
    agrees = agrees and (answer.content or {}).get(YES) is True
    result: Answered = await dispatch.write(
        _as_person(session), APPROVE if agrees else REFUSE, {"id": proposal}
    )
    return result


async def _shown(session: Session, proposal: str) -> str:
    waiting = await dispatch.read(_as_person(session), PROPOSALS, {})
    for each in waiting:
        if each.id == UUID(proposal):
            return str(each.shown)
    raise ProposalExpired


def _as_person(session: Session) -> Session:
    caller, person = session.caller, person_asked(session.caller)
    assert person is not None
    alone = replace(caller, door=DOOR) if person == caller.principal else Caller(person, door=DOOR)
    return session._replace(caller=alone)


def _is_modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS
