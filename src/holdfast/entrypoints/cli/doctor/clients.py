"""The agents that `holdfast connect` has set up: their entries, and a probe of the server that each one starts. The
probe acts as an agent would; the MCP SDK is imported on use."""

from __future__ import annotations

import asyncio
import logging
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from holdfast.domain.errors import HoldfastError
from holdfast.entrypoints.cli.doctor import store
from holdfast.entrypoints.cli.doctor.finding import Finding, Scene, fail, ok, warn
from holdfast.settings import load, surroundings
from holdfast.wiring import MEMORY, locate_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp import Client, Tool


READ_ONLY = {"HOLDFAST_AUDIT_READS": "off", "HOLDFAST_SWEEP_SECONDS": "0", "HOLDFAST_EMBEDDER": "none"}
"""Variables that keep a probed program from changing the store."""
IN_MEMORY = {"HOLDFAST_DATABASE_URL": MEMORY}
SEE_SERVER = "see `server` and `token`"
PLACEHOLDER = "${"
"""The start of a value that the client fills in itself."""


@dataclass(frozen=True, slots=True)
class Agent:
    name: str
    """The client's name for `holdfast connect`; empty when no client is connected."""
    title: str
    server: Server
    scene: Scene | None
    """The scene its server will find, if that can be known."""


def clients(_scene: Scene) -> Finding:
    from holdfast.entrypoints.cli.clients import CLIENTS, entry_in

    found = []
    for client in CLIENTS.values():
        try:
            entry = entry_in(client)
        except HoldfastError as error:
            return warn(error.message, "correct the file, or check its entry `holdfast` yourself")
        if entry is None:
            continue
        command = entry.get("command")
        if command is not None and shutil.which(str(command)) is None:
            return fail(
                f"{client.title} starts {command}, which does not exist", f"holdfast connect {client.name}"
            )
        found.append(client.title)
    return ok(", ".join(found) if found else "none connected: `holdfast connect claude-code`, for example")


def mcp(scene: Scene) -> Finding:
    """Probes the server of each connected client; without any, `holdfast mcp` with the settings of this shell."""
    from importlib.util import find_spec

    entries = _entries()
    if find_spec("mcp") is None:
        if not entries:
            return ok("no MCP here: the server extra is not installed")
        return warn("not tried: the server extra is not installed", "pip install 'holdfast-memory[server]'")
    if not entries:
        return _without_clients(scene)
    untried = [title for _, title, entry in entries if PLACEHOLDER in str(entry)]
    agents = [_agent(*each, scene.now) for each in entries if PLACEHOLDER not in str(each[2])]
    servers = list(dict.fromkeys(agent.server for agent in agents))
    probes = dict(zip(servers, probe(servers), strict=True))
    return _found(scene, [(agent, probes[agent.server]) for agent in agents], untried)


def _found(scene: Scene, probes: list[tuple[Agent, Probe]], untried: list[str]) -> Finding:
    troubled = [(agent, each.trouble) for agent, each in probes if each.trouble]
    if troubled:
        causes = dict.fromkeys(f"{agent.title}: {trouble}" for agent, trouble in troubled)
        remedies = dict.fromkeys(_remedy(scene, agent) for agent, _ in troubled)
        return fail("; ".join(causes), "; ".join(remedies))
    found = [f"{agent.title} works: {', '.join(each.tools)}" for agent, each in probes]
    found += [f"{title} not tried: it fills in a part of its entry itself" for title in untried]
    return ok("; ".join(found))


def _without_clients(scene: Scene) -> Finding:
    from holdfast.entrypoints.cli.clients import own_command

    command, arguments = own_command()
    settings = scene.settings
    variables = surroundings() | {
        "HOLDFAST_DATA_DIR": str(settings.data_dir),
        "HOLDFAST_DATABASE_URL": settings.database_url or "",
        "HOLDFAST_SUBJECT": settings.subject,
    }
    server = _program(command, [*arguments, "mcp"], variables, scene)
    (found,) = probe([server])
    if not found.trouble:
        return ok(f"MCP works: {', '.join(found.tools)}")
    finding = fail if settings.url is None else warn  # a server may offer REST alone
    return finding(f"no answer: {found.trouble}", _remedy(scene, Agent("", "", server, scene)))


def _entries() -> list[tuple[str, str, dict[str, Any]]]:
    """Returns the readable entries; `clients` reports the others."""
    from holdfast.entrypoints.cli.clients import CLIENTS, entry_in

    found = []
    for client in CLIENTS.values():
        try:
            entry = entry_in(client)
        except HoldfastError:
            continue
        if entry is not None:
            found.append((client.name, client.title, entry))
    return found


def _agent(name: str, title: str, entry: Mapping[str, Any], now: float) -> Agent:
    address = entry.get("url") or entry.get("httpUrl")
    if address:
        return Agent(name, title, Address(str(address), _pairs(entry.get("headers"))), None)
    variables = dict(_pairs(entry.get("env")))
    arguments = [str(each) for each in entry.get("args") or ()]
    folder = next((after for option, after in pairwise(arguments) if option == "--data"), None)
    scene = None
    with suppress(HoldfastError):  # the program itself reports the wrong setting
        settings = load(variables, data_dir=folder)
        scene = Scene(settings, locate_store(settings).file, now)
    return Agent(name, title, _program(str(entry.get("command")), arguments, variables, scene), scene)


def _program(command: str, arguments: list[str], variables: dict[str, str], scene: Scene | None) -> Program:
    """Returns the program to start, on a store in memory if it would otherwise create or upgrade one."""
    variables = variables | READ_ONLY
    if scene is not None and scene.settings.url is None and store.would_change(scene):
        variables |= IN_MEMORY
        if "--data" in arguments:
            at = arguments.index("--data")
            arguments = arguments[:at] + arguments[at + 2 :]
    return Program(command, tuple(arguments), tuple(sorted(variables.items())))


def _remedy(scene: Scene, agent: Agent) -> str:
    again = f"holdfast connect {agent.name}"
    if isinstance(agent.server, Address):
        return f"start the server at {agent.server.url}, or: {again}"
    if agent.scene is None or shutil.which(agent.server.command) is None:
        return again
    if agent.scene.settings.url is not None:
        return f"start the server, or with its address and token set: {again}" if agent.name else SEE_SERVER
    command = shlex.join((agent.server.command, *agent.server.arguments))
    return _open_remedy(scene, agent) or f"run `{command}` to see why"


def _open_remedy(scene: Scene, agent: Agent) -> str | None:
    """Returns the remedy if the store does not open for this agent."""
    from holdfast.entrypoints.cli.clients import how_to_share_key

    assert agent.scene is not None
    for name, check in (("key", store.key), ("store", store.canary)):
        found = check(agent.scene)
        if found.state == "fail":
            if not agent.name:
                return f"see `{name}`"
            has_key = scene.settings.memory_key is not None and scene.same_store(agent.scene)
            return how_to_share_key(scene.settings) if has_key else found.remedy
    return None


def _pairs(found: object) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), str(value)) for name, value in found.items()) if isinstance(found, dict) else ()


PATIENCE_SECONDS = 15.0
NOT_FOUND = "not_found"
"""The one refusal that proves a working store: the probe asks for an entry that does not exist."""
CLOSED = "Connection closed"
"""The SDK's message; servers use its code for errors of their own."""
VIEW = {"command": "view", "path": "/memories/"}


@dataclass(frozen=True, slots=True)
class Program:
    """A program, started with these variables and the few that every program gets."""

    command: str
    arguments: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Address:
    url: str
    headers: tuple[tuple[str, str], ...]


Server = Program | Address


class Probe(NamedTuple):
    tools: tuple[str, ...]
    trouble: str = ""
    """The reason why an agent could not use it."""


def probe(servers: Sequence[Server]) -> list[Probe]:
    """Probes all servers at once. Each gets PATIENCE_SECONDS, plus the time that stopping it takes."""

    async def probe_all() -> list[Probe]:
        return list(await asyncio.gather(*map(_probe, servers)))

    with _sdk_log_silenced():
        return asyncio.run(probe_all())


async def _probe(server: Server) -> Probe:
    import anyio

    with TemporaryFile("w+", encoding="utf-8", errors="replace") as remarks:
        try:
            # Not asyncio's own timeout: the SDK stops its process only under this kind of cancellation.
            with anyio.fail_after(PATIENCE_SECONDS):
                async with _connected(server, remarks) as client:
                    return await _call(client)
        except TimeoutError:
            return Probe((), f"no answer within {PATIENCE_SECONDS:.0f} seconds")
        except Exception as error:
            return Probe((), _cause(error, remarks))


@asynccontextmanager
async def _connected(server: Server, remarks: IO[str]) -> AsyncIterator[Client]:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    if isinstance(server, Program):
        parameters = StdioServerParameters(
            command=server.command, args=list(server.arguments), env=dict(server.variables)
        )
        async with Client(stdio_client(parameters, remarks)) as client:  # type: ignore[arg-type]
            yield client
        return
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers=dict(server.headers)) as http,
        Client(streamable_http_client(server.url, http_client=http)) as client,
    ):
        yield client


async def _call(client: Client) -> Probe:
    tools = (await client.list_tools()).tools
    names = tuple(tool.name for tool in tools)
    call = _harmless_call(tools)
    if call is None:
        return Probe(names)
    answer = await client.call_tool(*call)
    code = (answer.structured_content or {}).get("code")
    if not answer.is_error or code == NOT_FOUND:
        return Probe(names)
    return Probe(names, " ".join(part.text for part in answer.content if part.type == "text") or str(code))


def _harmless_call(tools: Sequence[Tool]) -> tuple[str, dict[str, str]] | None:
    """Returns a read-only call: of the tool with the fewest required arguments, or `view` of the tool `memory`."""
    reading = [tool for tool in tools if tool.annotations is not None and tool.annotations.read_only_hint]
    if reading:
        easiest = min(reading, key=lambda tool: len(tool.input_schema.get("required", ())))
        return easiest.name, dict.fromkeys(easiest.input_schema.get("required", ()), "doctor")
    return next(((tool.name, VIEW) for tool in tools if tool.name == "memory"), None)


def _cause(error: BaseException, remarks: IO[str]) -> str:
    """Returns the innermost error of a task group, or the last output of a program that ended."""
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED and error.message == CLOSED:
        remarks.seek(0)
        last = [line.strip() for line in remarks if line.strip()][-1:]
        return last[0] if last else "it ended without any output"
    return str(error) or type(error).__name__


@contextmanager
def _sdk_log_silenced() -> Iterator[None]:
    """Drops the SDK's stack traces; the finding has the cause."""
    quiet, logger = logging.NullHandler(), logging.getLogger("mcp")
    logger.addHandler(quiet)
    try:
        yield
    finally:
        logger.removeHandler(quiet)
