"""The programs that `holdfast connect` knows: where each keeps its MCP servers, and what an entry looks like there."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.domain.errors import Unavailable
from holdfast.entrypoints.cli.inherited import WHICH_STORE, WITHHELD, said_to_agents
from holdfast.entrypoints.cli.jsonc import parsed, with_member, without_member
from holdfast.settings import Settings, user_config_dir

NAME = "holdfast"
BACKUP = ".before-holdfast"
Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Client:
    name: str
    title: str
    file: Callable[[], Path]
    servers: str = "mcpServers"
    typed: bool = False
    """Whether an entry says that it is spoken to over stdio."""

    @property
    def member(self) -> tuple[str, str]:
        return self.servers, NAME


def _home(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


def _of_application(*parts: str) -> Callable[[], Path]:
    """In the folder where the platform's applications keep what users set."""
    return lambda: user_config_dir().joinpath(*parts)


CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client("claude-code", "Claude Code", _home(".claude.json"), typed=True),
        Client("claude-desktop", "Claude Desktop", _of_application("Claude", "claude_desktop_config.json")),
        Client("cursor", "Cursor", _home(".cursor", "mcp.json")),
        Client("vscode", "VS Code", _of_application("Code", "User", "mcp.json"), "servers", typed=True),
        Client("gemini", "Gemini CLI", _home(".gemini", "settings.json")),
    )
}


def own_command() -> tuple[str, list[str]]:
    """What starts this very program, and its first arguments."""
    beside = Path(sys.executable).with_name("holdfast.exe" if os.name == "nt" else "holdfast")
    return (str(beside), []) if beside.exists() else (sys.executable, ["-m", "holdfast"])


def entry_for(client: Client, settings: Settings, surface: str) -> Entry:
    """Starts this very program on this very store, or on the server that HOLDFAST_URL names. Keys that somebody put
    into the entry of the same store stay there."""
    command, arguments = own_command()
    arguments = [*arguments, "mcp"]
    if surface != "core":
        arguments += ["--surface", surface]
    said = said_to_agents(settings)
    if not settings.url:
        said |= _keys_of(entry_in(client), said)
    entry: Entry = {"type": "stdio"} if client.typed else {}
    return entry | {"command": command, "args": arguments} | ({"env": said} if said else {})


def _keys_of(entry: Entry | None, said: Mapping[str, str]) -> dict[str, str]:
    env = entry.get("env") if entry is not None and is_ours(entry) else None
    if not isinstance(env, dict) or any(env.get(name) != said.get(name) for name in WHICH_STORE):
        return {}
    return {name: value for name, value in env.items() if name in WITHHELD and name not in said}


def is_ours(entry: object) -> bool:
    """Whether `connect` wrote it, of whatever installation: a bare `holdfast` somebody wrote by hand."""
    if not isinstance(entry, dict) or not isinstance(entry.get("args"), list):
        return False
    command, arguments = Path(str(entry.get("command"))), entry["args"]
    if not command.is_absolute():
        return False
    return arguments[:3] == ["-m", "holdfast", "mcp"] or (
        command.name in ("holdfast", "holdfast.exe") and arguments[:1] == ["mcp"]
    )


def entry_in(client: Client) -> Entry | None:
    """What stands there now."""
    found = _entry(client, read(client.file()))
    return found if isinstance(found, dict) else None


def _entry(client: Client, text: str) -> Any:
    servers = parsed(text).get(client.servers)
    return servers.get(NAME) if isinstance(servers, dict) else None


def read(path: Path) -> str:
    """Every character of it, line ends and a byte order mark too; nothing where there is no file."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(f"{path} cannot be read: {error}.") from error


def connected(client: Client, before: str, entry: Entry) -> str:
    return with_member(before, client.member, entry)


def disconnected(client: Client, now: str) -> str:
    """Without our entry, or with the one that stood there before ours. Where nothing else has changed since, the file
    is byte for byte what it was. An entry of that name that was never ours stays."""
    known = _backup(client).exists()
    if not known and not is_ours(_entry(client, now)):
        return now
    backup = _without_ours(client, read(_backup(client)))
    former = _entry(client, backup)
    after = without_member(now, client.member)
    if former is not None:
        after = with_member(now, client.member, former)
    old, new = parsed(backup), parsed(after)
    if backup and old in (new, {name: each for name, each in new.items() if each or name != client.servers}):
        return backup
    return "" if not backup and new == {client.servers: {}} else after


def keep(client: Client, text: str, *, backup: str | None = None) -> None:
    """Writes the file whole or not at all, through a link, with the rights it had. A backup that is there stays: it is
    of before the first time. An empty one says that there was no file."""
    path = client.file().resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    if backup is not None and not _backup(client).exists():
        _write(_backup(client), _without_ours(client, backup), path)
    if text:
        _write(path, text, path)
    else:
        path.unlink(missing_ok=True)


def _without_ours(client: Client, text: str) -> str:
    """What would be there had we never come: a backup may be lost, or have been made when we were there already."""
    if not is_ours(_entry(client, text)):
        return text
    rest = without_member(text, client.member)
    return "" if parsed(rest) == {client.servers: {}} else rest


def forget_backup(client: Client) -> None:
    _backup(client).unlink(missing_ok=True)


def _backup(client: Client) -> Path:
    path = client.file().resolve()
    return path.with_name(path.name + BACKUP)


def _write(path: Path, text: str, like: Path) -> None:
    handle, draft = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        if like.exists():
            shutil.copymode(like, draft)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
