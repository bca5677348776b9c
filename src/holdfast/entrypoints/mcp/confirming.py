"""What a person must confirm, and how they are asked: by the client's own form where it has one. In the handshake era
the call waits for the answer; since 2026-07-28 the client sends the call again with it. Without a form there is a
proposal, which a person approves elsewhere. Nothing that a model could say stands for a yes."""

from __future__ import annotations

from collections.abc import Mapping
from secrets import token_urlsafe
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from holdfast.domain.errors import ConfirmationRequired

Context = ServerRequestContext[Any, Any]
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


def has_form(context: Context) -> bool:
    """Whether this client can ask a person now; an empty capability stands for forms."""
    capabilities = context.session.client_capabilities
    told = None if capabilities is None else capabilities.elicitation
    if told is None or (told.form is None and told.url is not None):
        return False
    return _is_modern(context) or context.session.can_send_request


async def confirm(context: Context, params: CallToolRequestParams, shown: str) -> str | None:
    """Returns when a person said yes, with a key under which that yes counts once; raises ConfirmationRequired when
    they did not, and Ask when they are still to be asked."""
    if _is_modern(context):
        return _confirmed_before(params, shown)
    try:
        answer = await context.session.elicit_form(shown, FORM, related_request_id=context.request_id)
    except MCPError as error:
        raise ConfirmationRequired("The client could not ask a person; nothing was done.") from error
    _require_yes(answer)
    return None


def _confirmed_before(params: CallToolRequestParams, shown: str) -> str:
    """What the client was answered before is sealed and bound to this very call and caller."""
    answer = (params.input_responses or {}).get(YES)
    if params.request_state is None or answer is None:
        request = ElicitRequest(params=ElicitRequestFormParams(message=shown, requested_schema=FORM))
        raise Ask(InputRequiredResult(input_requests={YES: request}, request_state=token_urlsafe(24)))
    _require_yes(answer)
    return f"confirmed/{params.request_state}"


def _require_yes(answer: Any) -> None:
    content: Mapping[str, Any] = answer.content or {} if isinstance(answer, ElicitResult) else {}
    if not isinstance(answer, ElicitResult) or answer.action != "accept" or content.get(YES) is not True:
        raise ConfirmationRequired("The person did not agree; nothing was done.")


def _is_modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS
