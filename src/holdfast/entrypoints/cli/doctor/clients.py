"""The agents that `holdfast connect` has set up, and whether each would get an answer."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from holdfast.domain.errors import HoldfastError
from holdfast.entrypoints.cli.doctor import database, store
from holdfast.entrypoints.cli.doctor.finding import Finding, Scene, fail, ok, warn
from holdfast.entrypoints.cli.doctor.mcp_probe import Address, Heard, Program, Server, talk
from holdfast.settings import load, surroundings
from holdfast.wiring import MEMORY, database_path, is_postgres

LOOKING = {"HOLDFAST_AUDIT_READS": "off", "HOLDFAST_SWEEP_SECONDS": "0", "HOLDFAST_EMBEDDER": "none"}
"""So that a store is left as it is by a program that only answers a question."""
NOWHERE = {"HOLDFAST_DATABASE_URL": MEMORY}
ASK_SERVER = "see `server` and `token`"
FILLED_IN = "${"
"""Begins what a program puts into its entry itself."""


@dataclass(frozen=True, slots=True)
class Agent:
    name: str
    """Of its program, as `holdfast connect` knows it; empty for none in particular."""
    title: str
    server: Server
    scene: Scene | None
    """What its server will find; None where that cannot be known."""


def clients(_scene: Scene) -> Finding:
    from holdfast.entrypoints.cli.clients import CLIENTS, entry_in

    found = []
    for client in CLIENTS.values():
        try:
            entry = entry_in(client)
        except HoldfastError as error:
            return warn(f"{client.file()}: {error.message}", "correct the file; nothing was changed in it")
        if entry is None:
            continue
        command = entry.get("command")
        if command is not None and shutil.which(str(command)) is None:
            return fail(
                f"{client.title} starts {command}, which is not there", f"holdfast connect {client.name}"
            )
        found.append(client.title)
    return ok(", ".join(found) if found else "none connected: `holdfast connect claude-code`, for example")


def mcp(scene: Scene) -> Finding:
    """What each connected program starts is started and asked; without any, `holdfast mcp` as it is set up here."""
    from importlib.util import find_spec

    entries = _entries()
    if find_spec("mcp") is None:
        if not entries:
            return ok("no MCP here: `holdfast[server]` is not installed")
        return warn("not tried: `holdfast[server]` is not installed here", "pip install 'holdfast[server]'")
    if not entries:
        return _of_nobody(scene)
    untried = [title for _, title, entry in entries if FILLED_IN in str(entry)]
    agents = [_agent(*each, scene.now) for each in entries if FILLED_IN not in str(each[2])]
    servers = list(dict.fromkeys(agent.server for agent in agents))
    heard = dict(zip(servers, talk(servers), strict=True))
    return _told(scene, [(agent, heard[agent.server]) for agent in agents], untried)


def _told(scene: Scene, heard: list[tuple[Agent, Heard]], untried: list[str]) -> Finding:
    troubled = [(agent, each.trouble) for agent, each in heard if each.trouble]
    if troubled:
        causes = dict.fromkeys(f"{agent.title}: {trouble}" for agent, trouble in troubled)
        remedies = dict.fromkeys(_remedy(scene, agent) for agent, _ in troubled)
        return fail("; ".join(causes), "; ".join(remedies))
    found = [f"{agent.title} is offered {', '.join(each.tools)}" for agent, each in heard]
    found += [f"{title} not tried: it fills in a part of its entry itself" for title in untried]
    return ok("; ".join(found))


def _of_nobody(scene: Scene) -> Finding:
    from holdfast.entrypoints.cli.clients import own_command

    command, arguments = own_command()
    settings = scene.settings
    variables = surroundings() | {
        "HOLDFAST_DATA_DIR": str(settings.data_dir),
        "HOLDFAST_DATABASE_URL": settings.database_url or "",
        "HOLDFAST_SUBJECT": settings.subject,
    }
    server = _program(command, [*arguments, "mcp"], variables, scene)
    (heard,) = talk([server])
    if not heard.trouble:
        return ok(f"an agent is offered {', '.join(heard.tools)}")
    say = fail if settings.url is None else warn  # a server may be reached for REST alone
    return say(f"no answer: {heard.trouble}", _remedy(scene, Agent("", "", server, scene)))


def _entries() -> list[tuple[str, str, dict[str, Any]]]:
    """Those that can be read; `clients` tells of the others."""
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
    with suppress(HoldfastError):  # the start says which setting is wrong
        settings = load(variables, data_dir=folder)
        scene = Scene(settings, database_path(settings), now)
    return Agent(name, title, _program(str(entry.get("command")), arguments, variables, scene), scene)


def _program(command: str, arguments: list[str], variables: dict[str, str], scene: Scene | None) -> Program:
    """One whose start would make a store, or bring one to a newer schema, gets one in memory instead."""
    variables = variables | LOOKING
    if scene is not None and scene.settings.url is None and _would_change(scene):
        variables |= NOWHERE
        if "--data" in arguments:
            at = arguments.index("--data")
            arguments = arguments[:at] + arguments[at + 2 :]
    return Program(command, tuple(arguments), tuple(sorted(variables.items())))


def _would_change(scene: Scene) -> bool:
    if not is_postgres(scene.settings):
        return scene.database is not None and (not scene.has_store or store.is_older(scene))
    try:
        return database.is_older(str(scene.settings.database_url))
    except (HoldfastError, ImportError):
        return False  # the start says why


def _remedy(scene: Scene, agent: Agent) -> str:
    again = f"holdfast connect {agent.name}"
    if isinstance(agent.server, Address):
        return f"start the server at {agent.server.url}, or: {again}"
    if agent.scene is None or shutil.which(agent.server.command) is None:
        return again
    if agent.scene.settings.url is not None:
        return f"start the server, or with its address and token set: {again}" if agent.name else ASK_SERVER
    return _to_open(scene, agent) or f"run `{_shown(agent.server)}` and look"


def _to_open(scene: Scene, agent: Agent) -> str | None:
    """Where the store does not open for this agent: what opens it."""
    from holdfast.entrypoints.cli.clients import bring_key

    assert agent.scene is not None
    for name, check in (("key", store.key), ("store", store.canary)):
        found = check(agent.scene)
        if found.state == "fail":
            if not agent.name:
                return f"see `{name}`"
            has_key = scene.settings.memory_key is not None and scene.same_store(agent.scene)
            return bring_key(scene.settings) if has_key else found.remedy
    return None


def _shown(program: Program) -> str:
    return shlex.join((program.command, *program.arguments))


def _pairs(found: object) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), str(value)) for name, value in found.items()) if isinstance(found, dict) else ()
