"""What the conformance suite calls, beside everything of ours. Every call is counted: a scenario that passed without
calling its fixture has shown nothing."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as wire
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from holdfast.entrypoints.mcp.protocol import Context, mcp_server
from holdfast.entrypoints.mcp.server import ToolServer
from holdfast.entrypoints.mcp.tools import Surface

CALLED: Counter[str] = Counter()
Fixture = Callable[[Context, wire.CallToolRequestParams], Awaitable[Any]]
PAUSE = 0.05
NAME_FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def _png() -> str:
    """One red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    pixel = chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + head + pixel + chunk(b"IEND", b"")).decode()


def _wav() -> str:
    """One silent sample."""
    form = struct.pack("<HHIIHH", 1, 1, 8_000, 16_000, 2, 16)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", 2) + b"\0\0"
    return base64.b64encode(b"RIFF" + struct.pack("<I", len(body)) + body).decode()


IMAGE = wire.ImageContent(data=_png(), mime_type="image/png")
AUDIO = wire.AudioContent(data=_wav(), mime_type="audio/wav")


def text(said: str) -> wire.TextContent:
    return wire.TextContent(text=said)


def embedded(uri: str, media_type: str, said: str) -> wire.EmbeddedResource:
    contents = wire.TextResourceContents(uri=uri, mime_type=media_type, text=said)
    return wire.EmbeddedResource(resource=contents)


def done(*content: Any, is_error: bool = False) -> wire.CallToolResult:
    return wire.CallToolResult(content=list(content), is_error=is_error)


def shows(*content: Any, is_error: bool = False) -> Fixture:
    async def fixture(_: Context, __: wire.CallToolRequestParams) -> wire.CallToolResult:
        return done(*content, is_error=is_error)

    return fixture


async def logging(context: Context, _: wire.CallToolRequestParams) -> wire.CallToolResult:
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", said, related_request_id=context.request_id)
        await asyncio.sleep(PAUSE)
    return done(text("It was logged."))


async def progress(context: Context, _: wire.CallToolRequestParams) -> wire.CallToolResult:
    for part in (0, 50, 100):
        await context.session.report_progress(part, 100)
        await asyncio.sleep(PAUSE)
    return done(text("It went on."))


async def sampling(context: Context, params: wire.CallToolRequestParams) -> wire.CallToolResult:
    said = wire.SamplingMessage(role="user", content=text((params.arguments or {}).get("prompt", "")))
    answer = await context.session.create_message(
        [said], max_tokens=100, related_request_id=context.request_id
    )
    return done(text(f"LLM response: {getattr(answer.content, 'text', '')}"))


def elicits(form: Mapping[str, Any], said: str = "") -> Fixture:
    async def fixture(context: Context, params: wire.CallToolRequestParams) -> wire.CallToolResult:
        message = said or (params.arguments or {}).get("message", "")
        answer = await context.session.elicit_form(message, dict(form), related_request_id=context.request_id)
        return done(
            text(f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content or {})}")
        )

    return fixture


def properties(**each: Any) -> dict[str, Any]:
    return {"type": "object", "properties": each, "required": list(each)}


ONE_OF = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
OPTIONS = ["option1", "option2", "option3"]
USER_FORM = properties(username={"type": "string"}, email={"type": "string"})
DEFAULTS_FORM = properties(
    name={"type": "string", "default": "John Doe"},
    age={"type": "integer", "default": 30},
    score={"type": "number", "default": 95.5},
    status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    verified={"type": "boolean", "default": True},
)
ENUMS_FORM = properties(
    untitledSingle={"type": "string", "enum": OPTIONS},
    titledSingle={"type": "string", "oneOf": ONE_OF},
    legacyEnum={"type": "string", "enum": OPTIONS, "enumNames": ["One", "Two", "Three"]},
    untitledMulti={"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    titledMulti={"type": "array", "items": {"anyOf": ONE_OF}},
)


# Calls that come again with an answer


def form(message: str, schema: Mapping[str, Any]) -> wire.ElicitRequest:
    return wire.ElicitRequest(
        params=wire.ElicitRequestFormParams(message=message, requested_schema=dict(schema))
    )


def sample(said: str, tokens: int) -> wire.CreateMessageRequest:
    message = wire.SamplingMessage(role="user", content=text(said))
    return wire.CreateMessageRequest(
        params=wire.CreateMessageRequestParams(messages=[message], max_tokens=tokens)
    )


NEEDED: Mapping[str, Callable[[Any], bool]] = {
    "elicitation/create": lambda can: can.elicitation is not None,
    "sampling/createMessage": lambda can: can.sampling is not None,
    "roots/list": lambda can: can.roots is not None,
}
KINDS: Mapping[str, type] = {
    "elicitation/create": wire.ElicitResult,
    "sampling/createMessage": wire.CreateMessageResult,
    "roots/list": wire.ListRootsResult,
}


def asks(requests: Mapping[str, Any], state: str | None = None, *, able: bool = False) -> Fixture:
    """Asks until all is answered; with `able` only what the client can be asked."""

    async def fixture(context: Context, params: wire.CallToolRequestParams) -> Any:
        can = context.session.client_capabilities or wire.ClientCapabilities()
        wanted = {
            name: request for name, request in requests.items() if not able or NEEDED[request.method](can)
        }
        given = params.input_responses or {}
        answered = all(isinstance(given.get(name), KINDS[request.method]) for name, request in wanted.items())
        if not answered or (state is not None and params.request_state != state):
            return wire.InputRequiredResult(input_requests=wanted, request_state=state)
        told = json.dumps({name: given[name].model_dump(mode="json", exclude_none=True) for name in wanted})
        return done(text(f"{state or 'Hello'}: {told}"))

    return fixture


async def in_rounds(_: Context, params: wire.CallToolRequestParams) -> Any:
    first = form("Step 1: What is your name?", NAME_FORM)
    second = form("Step 2: What is your favorite color?", properties(color={"type": "string"}))
    given = params.input_responses or {}
    if params.request_state == "second" and "step2" in given:
        return done(text("Both steps are done."))
    if params.request_state == "first" and "step1" in given:
        return wire.InputRequiredResult(input_requests={"step2": second}, request_state="second")
    return wire.InputRequiredResult(input_requests={"step1": first}, request_state="first")


async def without_capability(context: Context, _: wire.CallToolRequestParams) -> Any:
    can = context.session.client_capabilities
    if can is None or can.sampling is None:
        needed = wire.ClientCapabilities(sampling=wire.SamplingCapability())
        raise MCPError(
            wire.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "This needs sampling.",
            {"requiredCapabilities": needed.model_dump(by_alias=True, exclude_none=True)},
        )
    return done(text("The client can sample."))


ASK_NAME = form("What is your name?", NAME_FORM)
CONFIRM = form("Please confirm", properties(ok={"type": "boolean"}))
ASK_ALL = {
    "user_name": ASK_NAME,
    "greeting": sample("Generate a greeting", 50),
    "client_roots": wire.ListRootsRequest(),
}
TOOLS: Mapping[str, Fixture] = {
    "test_simple_text": shows(text("This is a simple text response for testing.")),
    "test_image_content": shows(IMAGE),
    "test_audio_content": shows(AUDIO),
    "test_embedded_resource": shows(
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": shows(
        text("Multiple content types test:"),
        IMAGE,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ),
    "test_error_handling": shows(text("This tool intentionally returns an error for testing"), is_error=True),
    "test_tool_with_logging": logging,
    "test_logging_tool": logging,
    "test_tool_with_progress": progress,
    "test_sampling": sampling,
    "test_elicitation": elicits(USER_FORM),
    "test_elicitation_sep1034_defaults": elicits(DEFAULTS_FORM, "Please provide user information"),
    "test_elicitation_sep1330_enums": elicits(ENUMS_FORM, "Please choose"),
    "test_streaming_elicitation": asks({"user_name": ASK_NAME}),
    "test_missing_capability": without_capability,
    "test_input_required_result_elicitation": asks({"user_name": ASK_NAME}),
    "test_input_required_result_sampling": asks(
        {"capital_question": sample("What is the capital of France?", 100)}
    ),
    "test_input_required_result_list_roots": asks({"client_roots": wire.ListRootsRequest()}),
    "test_input_required_result_request_state": asks({"confirm": CONFIRM}, "state-ok"),
    "test_input_required_result_tampered_state": asks({"confirm": CONFIRM}, "state-ok"),
    "test_input_required_result_multiple_inputs": asks(ASK_ALL, "all"),
    "test_input_required_result_multi_round": in_rounds,
    "test_input_required_result_capabilities": asks(ASK_ALL, able=True),
}
TAKES = {"test_sampling": "prompt", "test_elicitation": "message"}

STATIC: Mapping[str, wire.TextResourceContents | wire.BlobResourceContents] = {
    "test://static-text": wire.TextResourceContents(
        uri="test://static-text",
        mime_type="text/plain",
        text="This is the content of the static text resource.",
    ),
    "test://static-binary": wire.BlobResourceContents(
        uri="test://static-binary", mime_type="image/png", blob=_png()
    ),
    "test://watched-resource": wire.TextResourceContents(
        uri="test://watched-resource", mime_type="text/plain", text="Watched"
    ),
}
TEMPLATE = "test://template/{id}/data"
PROMPTS: Mapping[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}

NOT_REQUIRED = frozenset({"test_logging_tool", "test_streaming_elicitation", "test://watched-resource"})
"""Fixtures of scenarios that no revision requires."""
OF_ONE_REVISION: Mapping[str, frozenset[str]] = {
    "2025-11-25": frozenset(
        {
            "test_tool_with_logging",
            "test_sampling",
            "test_elicitation",
            "test_elicitation_sep1034_defaults",
            "test_elicitation_sep1330_enums",
        }
    ),
    "2026-07-28": frozenset(
        {
            "test_missing_capability",
            "test_input_required_result_elicitation",
            "test_input_required_result_sampling",
            "test_input_required_result_list_roots",
            "test_input_required_result_request_state",
            "test_input_required_result_tampered_state",
            "test_input_required_result_multiple_inputs",
            "test_input_required_result_multi_round",
            "test_input_required_result_capabilities",
            "test_input_required_result_prompt",
        }
    ),
}
"""Fixtures that scenarios of one revision alone call: before 2026-07-28 a server asks in the middle of a call, since
then a call comes again with the answer."""


def required_of(revision: str) -> frozenset[str]:
    """What a run for the revision has to call."""
    of_others = (names for other, names in OF_ONE_REVISION.items() if other != revision)
    return frozenset({*TOOLS, *STATIC, *PROMPTS}).difference(NOT_REQUIRED, *of_others)


def prompted(name: str, said: Mapping[str, str]) -> list[Any]:
    match name:
        case "test_simple_prompt":
            return [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            return [text(f"Prompt with arguments: arg1='{said['arg1']}', arg2='{said['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            resource = embedded(said["resourceUri"], "text/plain", "Embedded resource content for testing.")
            return [resource, text("Please process the embedded resource above.")]
        case "test_prompt_with_image":
            return [IMAGE, text("Please analyze the image above.")]
        case _:
            return [text("This is a prompt with your context.")]


class Fixtures(ToolServer):
    """Our own server, which answers the suite's names too."""

    async def list_tools(self, context: Context, params: Any) -> wire.ListToolsResult:
        ours = await super().list_tools(context, params)
        more = [
            wire.Tool(
                name=name,
                description="A fixture of the conformance suite.",
                input_schema=properties(**{TAKES[name]: {"type": "string"}})
                if name in TAKES
                else {"type": "object"},
            )
            for name in TOOLS
        ]
        return wire.ListToolsResult(tools=[*ours.tools, *more])

    async def call_tool(self, context: Context, params: wire.CallToolRequestParams) -> Any:
        CALLED[params.name] += 1
        fixture = TOOLS.get(params.name)
        return await (super().call_tool if fixture is None else fixture)(context, params)

    async def list_resources(self, context: Context, params: Any) -> wire.ListResourcesResult:
        ours = await super().list_resources(context, params)
        more = [wire.Resource(uri=uri, name=uri, mime_type=each.mime_type) for uri, each in STATIC.items()]
        return wire.ListResourcesResult(resources=[*ours.resources, *more])

    async def list_templates(self, context: Context, params: Any) -> wire.ListResourceTemplatesResult:
        ours = await super().list_templates(context, params)
        more = wire.ResourceTemplate(uri_template=TEMPLATE, name="template")
        return wire.ListResourceTemplatesResult(resource_templates=[*ours.resource_templates, more])

    async def read_resource(
        self, context: Context, params: wire.ReadResourceRequestParams
    ) -> wire.ReadResourceResult:
        uri = str(params.uri)
        CALLED[uri] += 1
        head, _, tail = TEMPLATE.partition("{id}")
        if uri in STATIC:
            return wire.ReadResourceResult(contents=[STATIC[uri]])
        if uri.startswith(head) and uri.endswith(tail):
            id = uri.removeprefix(head).removesuffix(tail)
            said = json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})
            contents = wire.TextResourceContents(uri=uri, mime_type="application/json", text=said)
            return wire.ReadResourceResult(contents=[contents])
        return await super().read_resource(context, params)

    async def list_prompts(self, context: Context, params: Any) -> wire.ListPromptsResult:
        ours = await super().list_prompts(context, params)
        more = [
            wire.Prompt(
                name=name,
                description="A fixture of the conformance suite.",
                arguments=[
                    wire.PromptArgument(name=each, description="A word.", required=True) for each in said
                ],
            )
            for name, said in PROMPTS.items()
        ]
        return wire.ListPromptsResult(prompts=[*ours.prompts, *more])

    async def get_prompt(self, context: Context, params: wire.GetPromptRequestParams) -> Any:
        CALLED[params.name] += 1
        if params.name not in PROMPTS:
            return await super().get_prompt(context, params)
        if params.name == "test_input_required_result_prompt" and not params.input_responses:
            wanted = form("What context should the prompt use?", properties(context={"type": "string"}))
            return wire.InputRequiredResult(input_requests={"user_context": wanted})
        said = prompted(params.name, params.arguments or {})
        messages = [wire.PromptMessage(role="user", content=each) for each in said]
        return wire.GetPromptResult(messages=messages)


def build_fixtures(
    surface: Surface, session_of: Any, subscriptions: Any, state_key: bytes | None
) -> Server[Any]:
    server = mcp_server(Fixtures(surface, session_of, subscriptions), surface.name, state_key)

    async def set_level(_: Context, __: wire.SetLevelRequestParams) -> wire.EmptyResult:
        return wire.EmptyResult()

    server.add_request_handler("logging/setLevel", wire.SetLevelRequestParams, set_level)
    return server
