"""AI clients whose MCP settings `holdfast connect` can edit: where the file is, and how an entry looks in it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from holdfast.crypto.keyfile import EPHEMERAL, OFF, key_file_of, own_key_file
from holdfast.domain.errors import Unavailable
from holdfast.entrypoints.cli.jsonc import parsed, with_member, without_member
from holdfast.settings import FILE, PREFIX, TABLE, Settings, load, surroundings, user_config_dir
from holdfast.wiring import database_path, is_postgres

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


WHICH_STORE = ("HOLDFAST_DATA_DIR", "HOLDFAST_DATABASE_URL")


KEY = "HOLDFAST_MEMORY_KEY"


WITHHELD = (KEY, "HOLDFAST_MEMORY_OLD_KEYS", "HOLDFAST_EMBEDDER_KEY")
"""Secrets that the local store needs."""


OF_THE_SERVER = frozenset(
    PREFIX + name
    for name in (
        "MARKDOWN_DIR",
        "HOST",
        "PORT",
        "ALLOWED_HOSTS",
        "AUTH",
        "JWT_SECRET",
        "JWKS_URL",
        "JWT_ISSUER",
        "JWT_AUDIENCE",
        "JWT_ALGORITHMS",
        "RATE_PER_MINUTE",
        "MAX_REQUEST_BYTES",
    )
)
"""What `holdfast mcp` never looks at."""


DECIDED = frozenset((*WHICH_STORE, "HOLDFAST_SUBJECT", "HOLDFAST_URL", "HOLDFAST_TOKEN"))
"""What an option of the command may have decided, too."""


def said_to_agents(settings: Settings) -> dict[str, str]:
    if settings.url:
        token = {"HOLDFAST_TOKEN": settings.token} if settings.token else {}
        return {"HOLDFAST_URL": settings.url} | token
    usual = load({})
    said: dict[str, str] = {}
    if settings.data_dir != usual.data_dir:
        said["HOLDFAST_DATA_DIR"] = str(settings.data_dir.absolute())
    if settings.database_url:
        said["HOLDFAST_DATABASE_URL"] = _from_anywhere(settings)
    if settings.subject != usual.subject:
        said["HOLDFAST_SUBJECT"] = settings.subject
    return said | _harmless(settings, usual)


def _from_anywhere(settings: Settings) -> str:
    """An agent is started in a folder of its own."""
    path = database_path(settings)
    if path is None or path.is_absolute():
        return str(settings.database_url)
    return f"sqlite:///{quote(path.absolute().as_posix())}"


def _harmless(settings: Settings, usual: Settings) -> dict[str, str]:
    heard, said = surroundings(), {}
    for name, _, unit, _ in TABLE:
        name, value = PREFIX + name, heard.get(PREFIX + name)
        if not value or name in OF_THE_SERVER | DECIDED or (name in WITHHELD and not _is_word(value)):
            continue
        said[name] = str(Path(value).expanduser().absolute()) if unit == "path" else value
    if settings.model_dir != usual.model_dir:  # XDG_CACHE_HOME moves it, too
        said["HOLDFAST_MODEL_DIR"] = str(settings.model_dir.absolute())
    return said


def _is_word(value: str) -> bool:
    return value in (OFF, EPHEMERAL)


def sharing_warning(settings: Settings, said: Mapping[str, str]) -> str | None:
    """Which secrets of this shell an agent will miss that is told this, and what to do about each."""
    if settings.url:
        return None
    there = load(said)  # holdfast.toml may say it, too
    fields = {name: name.removeprefix(PREFIX).lower() for name in WITHHELD if name not in said}
    missed = [name for name, field in fields.items() if getattr(settings, field) != getattr(there, field)]
    told = [_key_missed(settings)] if KEY in missed else []
    told += [f"{name} is missing there: {_into_settings(settings, name)}." for name in missed if name != KEY]
    told = [sentence for sentence in told if sentence]
    if not told:
        return None
    return " ".join(("Secrets of this shell are not written into the entry.", *told))


def _key_missed(settings: Settings) -> str:
    path = database_path(settings)
    if path is None and not is_postgres(settings):
        return ""  # a store in memory is made anew each time
    if path is not None and _key_in(key_file_of(path)) == (settings.memory_key or "").strip().lower():
        return ""
    return f"Without {KEY} the agent cannot open this store: {bring_key(settings)}."


def bring_key(settings: Settings) -> str:
    """How the key of this shell gets to agents on the same store."""
    path = database_path(settings)
    if path is None:
        return _into_settings(settings, KEY)
    file = own_key_file(path).absolute()
    first = f"move {file} away, which holds another key, and then " if file.exists() else ""
    if os.name == "nt":
        how = f"write the key, 64 hex characters, into {file}"
    else:
        quoted = shlex.quote(str(file))
        how = f"put the key into its key file: (umask 077; printf '%s\\n' \"${KEY}\" > {quoted})"
    return f"{first}{how}; or add {KEY} to `env` of the entry yourself"


def _key_in(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip().lower()
    except (OSError, UnicodeDecodeError):
        return ""


def _into_settings(settings: Settings, name: str) -> str:
    file = (settings.data_dir / FILE).absolute()
    word = name.removeprefix(PREFIX).lower()
    return f'write {word} = "…" into {file} (readable by you alone), or add {name} to `env` of the entry yourself'
