"""One MCP server for one surface: from a request to the row of the table, and from its answer to the wire. Who calls is
settled before, for every request anew."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplate,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
    UnsubscribeRequestParams,
)
from mcp_types import Prompt as WirePrompt
from mcp_types import Resource as WireResource
from mcp_types import Tool as WireTool

from holdfast.domain.access import is_unattended
from holdfast.domain.errors import (
    Backend,
    ConfirmationRequired,
    HoldfastError,
    InvalidInput,
    NotFound,
    Unavailable,
)
from holdfast.domain.proposal import Answered
from holdfast.entrypoints import dispatch
from holdfast.entrypoints.mcp.completion import complete
from holdfast.entrypoints.mcp.elicitation import Ask, answered_proposal, asked, can_ask, decided
from holdfast.entrypoints.mcp.protocol import ARGUMENTS, Context, announced
from holdfast.entrypoints.mcp.subscriptions import Watching
from holdfast.entrypoints.mcp.text import text_of
from holdfast.entrypoints.mcp.tools import ANSWER, Resource, Surface, Tool
from holdfast.operations.results import Remembered
from holdfast.vocabularies.session import Session
from holdfast.vocabularies.wire.call import Call
from holdfast.vocabularies.wire.fields import arguments

UNEXPECTED = "The server failed in a way it did not expect; its log says more."

log = logging.getLogger("holdfast.mcp")
Result = dict[str, Any]
SeatOf = Callable[[Context], Session]
"""Where the caller of a request sits. Raises Unavailable when there is no store to sit at."""


class AgentServer:
    def __init__(self, surface: Surface, seat_of: SeatOf, watching: Watching) -> None:
        self._surface = surface
        self._seat_of = seat_of
        self._tools = {tool.name: tool for tool in surface.tools}
        self._listed = {tool.name: _wire_tool(tool) for tool in surface.tools}
        self._fixed = {each.uri: each for each in surface.resources if not each.is_template}
        self._templates = [each for each in surface.resources if each.is_template]
        self._prompts = {prompt.name: prompt for prompt in surface.prompts}
        self._watching = watching

    async def list_tools(self, context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        tools = [self._listed[name] for name, tool in self._tools.items() if self._offers(tool, context)]
        return ListToolsResult(tools=tools)

    def _offers(self, tool: Tool, context: Context) -> bool:
        """An unattended caller deletes nothing, so it is not even shown how."""
        if not tool.deletes:
            return True
        try:
            return not is_unattended(self._seat_of(context).caller)
        except Unavailable:
            return True

    def schema_of(self, name: str) -> dict[str, Any] | None:
        """Asked of every call, for the fields that a header must repeat: no tool of ours has any, and to look for them
        in a whole schema would take longer than to read the call."""
        return {} if name in self._tools else None

    async def call_tool(
        self, context: Context, params: CallToolRequestParams
    ) -> Result | InputRequiredResult:
        tool = self._tools.get(params.name)
        if tool is None or not self._offers(tool, context):
            raise MCPError(INVALID_PARAMS, f"There is no tool `{params.name[:64]}` here.")
        try:
            return await self._called(tool, context, params)
        except Ask as ask:
            return ask.result
        except HoldfastError as error:
            return _tool_error(error, plain=tool.plain_errors)
        except Exception:
            log.exception("a tool failed")
            return _tool_error(Backend(UNEXPECTED), plain=tool.plain_errors)

    async def _called(self, tool: Tool, context: Context, params: CallToolRequestParams) -> Result:
        session = self._seat_of(context)
        given = arguments(tool.fields, _given(context, params) or {})
        if not tool.call.writes:
            return await _told(tool.call, await dispatch.read(session, tool.call, given))
        if (proposal := answered_proposal(context, params)) is not None:
            return await _decided(tool.call, await decided(session, params, proposal))
        try:
            done = await dispatch.write(session, tool.call, given)
        except ConfirmationRequired as refusal:
            if refusal.proposal is None or not await can_ask(session, context, refusal.proposal):
                raise
            return await _decided(tool.call, await asked(session, context, refusal.proposal))
        waits = getattr(done, "proposal", None)
        if waits is not None and await can_ask(session, context, str(waits)):
            return await _decided(tool.call, await asked(session, context, str(waits)))
        return await _told(tool.call, done)

    async def list_resources(self, _: Context, __: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(resources=[_wire_resource(each) for each in self._fixed.values()])

    async def list_templates(
        self, _: Context, __: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(
            resource_templates=[_wire_template(each) for each in self._templates]
        )

    async def read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        resource, given = self._resource(uri)
        try:
            shown = resource.call.answer.show(
                await dispatch.read(self._seat_of(context), resource.call, given)
            )
        except HoldfastError as error:
            raise _protocol_error(error, uri) from error
        contents = TextResourceContents(
            uri=uri, mime_type=resource.media_type, text=_resource_text(resource, shown)
        )
        return ReadResourceResult(contents=[contents], ttl_ms=0, cache_scope="private")

    def _resource(self, uri: str) -> tuple[Resource, dict[str, Any]]:
        if uri in self._fixed:
            return self._fixed[uri], {}
        for template in self._templates:
            head = template.uri.removesuffix("{id}")
            if uri.startswith(head) and len(uri) > len(head):
                return template, {"id": uri.removeprefix(head)}
        raise MCPError(
            INVALID_PARAMS, f"There is no resource {uri[:256]}.", {"uri": uri, "code": NotFound.code}
        )

    async def list_prompts(self, _: Context, __: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(
            prompts=[
                WirePrompt(
                    name=prompt.name,
                    title=prompt.title,
                    description=prompt.sentence,
                    arguments=[
                        PromptArgument(name=each.name, description=each.sentence, required=each.required)
                        for each in prompt.arguments
                    ],
                )
                for prompt in self._prompts.values()
            ]
        )

    async def get_prompt(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        prompt = self._prompts.get(params.name)
        if prompt is None:
            raise MCPError(INVALID_PARAMS, f"There is no prompt `{params.name[:64]}` here.")
        said = params.arguments or {}
        if unknown := sorted(set(said) - {each.name for each in prompt.arguments}):
            raise MCPError(INVALID_PARAMS, _sendable(f"The prompt takes no argument `{unknown[0][:64]}`."))
        try:
            text = await prompt.write(self._seat_of(context), said)
        except HoldfastError as error:
            raise _protocol_error(error) from error
        message = PromptMessage(role="user", content=TextContent(text=_sendable(text)))
        return GetPromptResult(description=prompt.sentence, messages=[message])

    async def subscribe(self, context: Context, params: SubscribeRequestParams) -> EmptyResult:
        return await self._watching.subscribe(self._seat_of(context), context, params)

    async def unsubscribe(self, context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        return await self._watching.unsubscribe(context, params)

    async def listen(
        self, context: Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        return await self._watching.listen(self._seat_of(context), context, params)

    async def complete(self, context: Context, params: CompleteRequestParams) -> CompleteResult:
        """Nothing where nothing may be seen: a completion is no place for a refusal."""
        argument = params.argument
        try:
            found = await asyncio.to_thread(complete, self._seat_of(context), argument.name, argument.value)
        except HoldfastError:
            return CompleteResult(completion=Completion(values=[]))
        return CompleteResult(completion=Completion(values=found.values, total=None, has_more=found.more))


def build_server(
    surface: Surface, seat_of: SeatOf, watching: Watching, state_key: bytes | None = None
) -> Server[Any]:
    return announced(AgentServer(surface, seat_of, watching), surface.name, state_key)


def _given(context: Context, params: CallToolRequestParams) -> Any:
    request = context.request
    return params.arguments if request is None else request.scope.get(ARGUMENTS, params.arguments)


async def _told(call: Call, result: Any) -> Result:
    if isinstance(result, Remembered):
        near = [] if result.look is None else await asyncio.to_thread(result.look)
        result.look = lambda: near
    shown = call.answer.show(result)
    text = _sendable(text_of(call, result, shown))
    structured = shown if isinstance(shown, dict) else {"result": shown}
    return _result(text, structured)


async def _decided(call: Call, answer: Answered) -> Result:
    """What a call came to that a person has agreed to."""
    if not answer.approved:
        raise ConfirmationRequired("The person did not agree; nothing was done.")
    return await _told(call, call.answer.read(answer.result))


def _tool_error(error: HoldfastError, *, plain: bool = False) -> Result:
    message = _sendable(error.message)
    said = {"error": error.code, "code": error.code, "message": message}
    if plain:
        said = {"error": message, "code": error.code}
    if proposal := getattr(error, "proposal", None):
        said["proposal"] = str(proposal)
    return _result(message if plain else f"{error.code}: {message}", said, is_error=True)


def _result(text: str, structured: Result, *, is_error: bool = False) -> Result:
    """As it is sent: a model of the SDK would be checked and written out twice, which a long answer feels."""
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": structured,
        "isError": is_error,
        "resultType": "complete",
    }


def _protocol_error(error: HoldfastError, uri: str | None = None) -> MCPError:
    """Where there is no tool result to put it in. What cannot be seen is answered like what is not there."""
    kind = INVALID_PARAMS if isinstance(error, InvalidInput | NotFound) else -32000
    data = {"code": error.code} | ({} if uri is None else {"uri": uri})
    return MCPError(kind, _sendable(error.message), data)


def _sendable(text: str) -> str:
    """A lone surrogate, which a refusal may quote, cannot be sent as UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def _resource_text(resource: Resource, shown: Any) -> str:
    if not resource.body:
        return _sendable(json.dumps(shown, ensure_ascii=False, default=list))
    return _sendable(shown[resource.body] or shown.get("note") or "")


def _wire_tool(tool: Tool) -> WireTool:
    return WireTool(
        name=tool.name,
        title=tool.title or None,
        description=tool.sentence,
        input_schema=tool.input_schema,
        output_schema=ANSWER,
        annotations=ToolAnnotations(
            read_only_hint=not tool.call.writes,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent or not tool.call.writes,
            open_world_hint=False,
        ),
    )


def _wire_resource(resource: Resource) -> WireResource:
    return WireResource(
        uri=resource.uri,
        name=resource.name,
        title=resource.title,
        description=resource.sentence,
        mime_type=resource.media_type,
    )


def _wire_template(resource: Resource) -> ResourceTemplate:
    return ResourceTemplate(
        uri_template=resource.uri,
        name=resource.name,
        title=resource.title,
        description=resource.sentence,
        mime_type=resource.media_type,
    )
