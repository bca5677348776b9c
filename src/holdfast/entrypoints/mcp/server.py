"""The MCP server of one surface: finds the tool, resource or prompt of a request, runs it, and encodes its answer. The
caller is authenticated before, for every request."""

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

from holdfast.domain.access import Answered, is_unattended
from holdfast.domain.errors import (
    Backend,
    ConfirmationRequired,
    HoldfastError,
    InvalidInput,
    NotFound,
    Unavailable,
)
from holdfast.entrypoints.mcp.elicitation import (
    InputRequired,
    ask_person,
    can_ask,
    is_modern,
    submit_answer,
)
from holdfast.entrypoints.mcp.prompts import complete
from holdfast.entrypoints.mcp.protocol import ARGUMENTS, Context, mcp_server
from holdfast.entrypoints.mcp.subscriptions import Subscriptions
from holdfast.entrypoints.mcp.text import text_of
from holdfast.entrypoints.mcp.tools import ANSWER, Resource, Surface, Tool
from holdfast.entrypoints.python.local import dispatch
from holdfast.operations.session import Session
from holdfast.vocabularies.arguments import read_arguments
from holdfast.vocabularies.call import Call

UNEXPECTED = "The server failed in a way it did not expect; its log says more."

log = logging.getLogger("holdfast.mcp")
Result = dict[str, Any]
SessionOf = Callable[[Context], Session]
"""Returns the session of a request. Raises Unavailable when the store could not be opened."""


class ToolServer:
    def __init__(self, surface: Surface, session_of: SessionOf, subscriptions: Subscriptions) -> None:
        self._surface = surface
        self._session_of = session_of
        self._tools = {tool.name: tool for tool in surface.tools}
        self._listed = {tool.name: _wire_tool(tool) for tool in surface.tools}
        self._fixed = {each.uri: each for each in surface.resources if not each.is_template}
        self._templates = [each for each in surface.resources if each.is_template]
        self._prompts = {prompt.name: prompt for prompt in surface.prompts}
        self._subscriptions = subscriptions

    async def list_tools(self, context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        tools = [self._listed[name] for name, tool in self._tools.items() if self._offers(tool, context)]
        return ListToolsResult(tools=tools)

    def _offers(self, tool: Tool, context: Context) -> bool:
        """Hides tools that delete from an unattended caller, which may delete nothing."""
        if not tool.deletes:
            return True
        try:
            return not is_unattended(self._session_of(context).caller)
        except Unavailable:
            return True

    def schema_of(self, name: str) -> dict[str, Any] | None:
        """The SDK looks in the schema of every call for fields that a header must repeat. Our tools have none, and an
        empty schema is searched fastest."""
        return {} if name in self._tools else None

    async def call_tool(
        self, context: Context, params: CallToolRequestParams
    ) -> Result | InputRequiredResult:
        tool = self._tools.get(params.name)
        if tool is None or not self._offers(tool, context):
            raise MCPError(INVALID_PARAMS, f"There is no tool `{params.name[:64]}` here.")
        try:
            return await self._run(tool, context, params)
        except InputRequired as required:
            return required.result
        except HoldfastError as error:
            return _tool_error(error, plain=tool.plain_errors)
        except Exception:
            log.exception("a tool failed")
            return _tool_error(Backend(UNEXPECTED), plain=tool.plain_errors)

    async def _run(self, tool: Tool, context: Context, params: CallToolRequestParams) -> Result:
        session, call, sent = self._session_of(context), tool.call, params.arguments
        if context.request is not None:
            sent = context.request.scope.get(ARGUMENTS, sent)
        arguments = {**tool.preset, **read_arguments(tool.fields, sent or {})}
        if not call.writes:
            return await _tool_result(call, await dispatch(session, call, arguments))
        if params.request_state is not None and params.input_responses and is_modern(context):
            # The client repeats the call with the answer of the person. The SDK bound its state to call and caller.
            return await _decided_result(call, await submit_answer(session, params))
        try:
            done = await dispatch(session, call, arguments)
        except ConfirmationRequired as refusal:
            if refusal.proposal is None or not await can_ask(session, context, refusal.proposal):
                raise
            return await _decided_result(call, await ask_person(session, context, refusal.proposal))
        proposal = getattr(done, "proposal", None)
        if proposal is not None and await can_ask(session, context, str(proposal)):
            return await _decided_result(call, await ask_person(session, context, str(proposal)))
        return await _tool_result(call, done)

    async def list_resources(self, _: Context, __: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(
            resources=[WireResource(uri=each.uri, **_described(each)) for each in self._fixed.values()]
        )

    async def list_templates(
        self, _: Context, __: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(
            resource_templates=[
                ResourceTemplate(uri_template=each.uri, **_described(each)) for each in self._templates
            ]
        )

    async def read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        resource, arguments = self._resource(uri)
        try:
            shown = resource.call.answer.encode(
                await dispatch(self._session_of(context), resource.call, arguments)
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
        sent = params.arguments or {}
        if unknown := sorted(set(sent) - {each.name for each in prompt.arguments}):
            raise MCPError(INVALID_PARAMS, _encodable(f"The prompt takes no argument `{unknown[0][:64]}`."))
        try:
            text = await prompt.write(self._session_of(context), sent)
        except HoldfastError as error:
            raise _protocol_error(error) from error
        message = PromptMessage(role="user", content=TextContent(text=_encodable(text)))
        return GetPromptResult(description=prompt.sentence, messages=[message])

    async def subscribe(self, context: Context, params: SubscribeRequestParams) -> EmptyResult:
        return await self._subscriptions.subscribe(self._session_of(context), context, params)

    async def unsubscribe(self, context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        return await self._subscriptions.unsubscribe(context, params)

    async def listen(
        self, context: Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        return await self._subscriptions.listen(self._session_of(context), context, params)

    async def complete(self, context: Context, params: CompleteRequestParams) -> CompleteResult:
        """Returns no values instead of an error: a completion cannot show a refusal."""
        argument = params.argument
        try:
            found = await asyncio.to_thread(
                complete, self._session_of(context), argument.name, argument.value
            )
        except HoldfastError:
            return CompleteResult(completion=Completion(values=[]))
        return CompleteResult(completion=Completion(values=found.values, total=None, has_more=found.more))


def build_server(
    surface: Surface, session_of: SessionOf, subscriptions: Subscriptions, state_key: bytes | None = None
) -> Server[Any]:
    return mcp_server(ToolServer(surface, session_of, subscriptions), surface.name, state_key)


async def _tool_result(call: Call, result: Any) -> Result:
    shown = call.answer.encode(result)
    text = _encodable(text_of(call, result, shown))
    return _result(text, shown if isinstance(shown, dict) else {"result": shown})


async def _decided_result(call: Call, decision: Answered) -> Result:
    """Returns the result of a call that a person approved."""
    if not decision.approved:
        raise ConfirmationRequired("The person did not agree; nothing was done.")
    return await _tool_result(call, call.answer.decode(decision.result))


def _tool_error(error: HoldfastError, *, plain: bool = False) -> Result:
    message = _encodable(error.message)
    shown = {"error": error.code, "code": error.code, "message": message}
    if plain:
        shown = {"error": message, "code": error.code}
    if proposal := getattr(error, "proposal", None):
        shown["proposal"] = str(proposal)
    return _result(message if plain else f"{error.code}: {message}", shown, is_error=True)


def _result(text: str, structured: Result, *, is_error: bool = False) -> Result:
    """Returns plain JSON: the SDK would validate and dump a model twice, which is slow for long answers."""
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": structured,
        "isError": is_error,
        "resultType": "complete",
    }


def _protocol_error(error: HoldfastError, uri: str | None = None) -> MCPError:
    """Returns the error of a request that has no tool result. Hidden and missing resources look alike."""
    kind = INVALID_PARAMS if isinstance(error, InvalidInput | NotFound) else -32000
    data = {"code": error.code} | ({} if uri is None else {"uri": uri})
    return MCPError(kind, _encodable(error.message), data)


def _encodable(text: str) -> str:
    """Escapes lone surrogates, which a refusal may quote and UTF-8 cannot encode."""
    return text.encode("utf-8", "backslashreplace").decode()


def _resource_text(resource: Resource, shown: Any) -> str:
    if not resource.body:
        return _encodable(json.dumps(shown, ensure_ascii=False, default=list))
    return _encodable(shown[resource.body] or shown.get("note") or "")


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


def _described(resource: Resource) -> dict[str, Any]:
    """Returns the members that resources and templates share."""
    return {
        "name": resource.name,
        "title": resource.title,
        "description": resource.sentence,
        "mime_type": resource.media_type,
    }
