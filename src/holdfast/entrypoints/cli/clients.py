"""AI clients that `holdfast connect` knows: a table of them, the entry each one gets, and one way to write their files.
Only plain JSON is written; a file with comments is for its owner to edit."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from holdfast.crypto.keyfile import EPHEMERAL, OFF, key_file_of
from holdfast.disk import write_atomically
from holdfast.domain.errors import InvalidJson, Unavailable
from holdfast.entrypoints.plain_json import unique_names
from holdfast.settings import FILE, PREFIX, TABLE, Settings, load, surroundings, user_config_dir
from holdfast.wiring import locate_store

NAME = "holdfast"
BACKUP = ".before-holdfast"
BYTE_ORDER_MARK = "\ufeff"

KEY = "HOLDFAST_MEMORY_KEY"
STORE_SETTINGS = ("HOLDFAST_DATA_DIR", "HOLDFAST_DATABASE_URL")
LOCAL_SECRETS = (KEY, "HOLDFAST_MEMORY_OLD_KEYS", "HOLDFAST_EMBEDDER_KEY")
"""Secrets of the local store, which are never copied into an entry."""
SERVER_SETTINGS = frozenset(
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
"""Settings that `holdfast mcp` does not use."""
OPTION_SETTINGS = frozenset((*STORE_SETTINGS, "HOLDFAST_SUBJECT", "HOLDFAST_URL", "HOLDFAST_TOKEN"))
"""Settings that an option of the command may override."""

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AiClient:
    name: str
    title: str
    file: Callable[[], Path]
    servers: str = "mcpServers"
    """The member of the file that holds all MCP servers."""
    typed: bool = False
    """Entries name their transport."""


def _in_home(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


def _in_config(*parts: str) -> Callable[[], Path]:
    return lambda: user_config_dir().joinpath(*parts)


CLIENTS: Mapping[str, AiClient] = {
    client.name: client
    for client in (
        AiClient("claude-code", "Claude Code", _in_home(".claude.json"), typed=True),
        AiClient("claude-desktop", "Claude Desktop", _in_config("Claude", "claude_desktop_config.json")),
        AiClient("cursor", "Cursor", _in_home(".cursor", "mcp.json")),
        AiClient("vscode", "VS Code", _in_config("Code", "User", "mcp.json"), "servers", typed=True),
        AiClient("gemini", "Gemini CLI", _in_home(".gemini", "settings.json")),
    )
}


def entry_for(client: AiClient, settings: Settings, surface: str, former: object = None) -> JsonObject:
    """Returns an entry that starts this very program on this very store, or on the server of HOLDFAST_URL. Secrets that
    a person added to the `former` entry of the same store stay."""
    command, arguments = own_command()
    arguments = [*arguments, "mcp", *(("--surface", surface) if surface != "core" else ())]
    environment = _environment(settings)
    if not settings.url:
        environment |= _secrets_of(former, environment)
    entry: JsonObject = {"type": "stdio"} if client.typed else {}
    return entry | {"command": command, "args": arguments} | ({"env": environment} if environment else {})


def own_command() -> tuple[str, list[str]]:
    """Returns the command that starts this very program, and its first arguments."""
    script = Path(sys.executable).with_name("holdfast.exe" if os.name == "nt" else "holdfast")
    return (str(script), []) if script.exists() else (sys.executable, ["-m", "holdfast"])


def is_ours(entry: object) -> bool:
    """Recognises an entry that `connect` of any installation wrote."""
    if not isinstance(entry, dict) or not isinstance(entry.get("args"), list):
        return False
    command, arguments = Path(str(entry.get("command"))), entry["args"]
    if not command.is_absolute():
        return False
    return arguments[:3] == ["-m", "holdfast", "mcp"] or (
        command.name in ("holdfast", "holdfast.exe") and arguments[:1] == ["mcp"]
    )


def _environment(settings: Settings) -> dict[str, str]:
    """Returns the settings of this shell and command that the client's process would not inherit."""
    if settings.url:
        return {"HOLDFAST_URL": settings.url} | ({"HOLDFAST_TOKEN": settings.token} if settings.token else {})
    defaults = load({})
    environment: dict[str, str] = {}
    if settings.data_dir != defaults.data_dir:
        environment["HOLDFAST_DATA_DIR"] = str(settings.data_dir.absolute())
    if settings.database_url:
        path = locate_store(settings).file
        relative = path is not None and not path.is_absolute()  # a client starts programs in another folder
        environment["HOLDFAST_DATABASE_URL"] = (
            f"sqlite:///{quote(path.absolute().as_posix())}" if path and relative else settings.database_url
        )
    if settings.subject != defaults.subject:
        environment["HOLDFAST_SUBJECT"] = settings.subject
    return environment | _harmless_settings(settings, defaults)


def _harmless_settings(settings: Settings, defaults: Settings) -> dict[str, str]:
    shell, harmless = surroundings(), {}
    for row, _, unit, _ in TABLE:
        name, value = PREFIX + row, shell.get(PREFIX + row)
        is_secret = name in LOCAL_SECRETS and value not in (OFF, EPHEMERAL)
        if value and not is_secret and name not in SERVER_SETTINGS | OPTION_SETTINGS:
            harmless[name] = str(Path(value).expanduser().absolute()) if unit == "path" else value
    if settings.model_dir != defaults.model_dir:  # XDG_CACHE_HOME moves it, too
        harmless["HOLDFAST_MODEL_DIR"] = str(settings.model_dir.absolute())
    return harmless


def _secrets_of(entry: object, environment: Mapping[str, str]) -> dict[str, str]:
    env = entry.get("env") if isinstance(entry, dict) and is_ours(entry) else None
    if not isinstance(env, dict) or any(env.get(name) != environment.get(name) for name in STORE_SETTINGS):
        return {}
    return {name: value for name, value in env.items() if name in LOCAL_SECRETS and name not in environment}


def missing_secrets(settings: Settings, environment: Mapping[str, str]) -> str | None:
    """Names the secrets of this shell that an agent with this environment will miss, and a remedy for each."""
    if settings.url:
        return None
    theirs = load(environment)  # reads holdfast.toml, too
    fields = {name: name.removeprefix(PREFIX).lower() for name in LOCAL_SECRETS if name not in environment}
    missing = [name for name, field in fields.items() if getattr(settings, field) != getattr(theirs, field)]
    sentences = []
    for name in missing:
        if name != KEY:
            sentences.append(f"{name} is missing there: {_into_settings(settings, name)}.")
        elif _needs_key(settings):
            sentences.append(f"Without {KEY} the agent cannot open this store: {how_to_share_key(settings)}.")
    return (
        " ".join(("Secrets of this shell are not written into the entry.", *sentences)) if sentences else None
    )


def _needs_key(settings: Settings) -> bool:
    """A store in memory makes its own key; a key file may hold the key already."""
    path = locate_store(settings).file
    if path is None:
        return locate_store(settings).is_shared
    try:
        in_file = key_file_of(path).read_text(encoding="ascii").strip().lower()
    except (OSError, UnicodeDecodeError):
        in_file = ""
    return in_file != (settings.memory_key or "").strip().lower()


def how_to_share_key(settings: Settings) -> str:
    """Returns instructions that give agents on the same store the key of this shell."""
    path = locate_store(settings).file
    if path is None:
        return _into_settings(settings, KEY)
    file = key_file_of(path).absolute()
    first = f"move {file} away, which holds another key, and then " if file.exists() else ""
    if os.name == "nt":
        how = f"write the key, 64 hex characters, into {file}"
    else:
        quoted = shlex.quote(str(file))
        how = f"put the key into its key file: (umask 077; printf '%s\\n' \"${KEY}\" > {quoted})"
    return f"{first}{how}; or add {KEY} to `env` of the entry yourself"


def _into_settings(settings: Settings, name: str) -> str:
    file = (settings.data_dir / FILE).absolute()
    word = name.removeprefix(PREFIX).lower()
    return f'write {word} = "…" into {file} (readable by you alone), or add {name} to `env` of the entry yourself'


def read(path: Path) -> str:
    """Returns the text with its line ends and byte order mark; empty when there is no file."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(f"{path} cannot be read: {error}.") from error


def entry_in(client: AiClient, text: str | None = None) -> JsonObject | None:
    """Returns the entry named `holdfast` in the client's file, or in this text of it."""
    entry = _parse(client, read(client.file()) if text is None else text)[client.servers].get(NAME)
    return entry if isinstance(entry, dict) else None


def with_entry(client: AiClient, text: str, entry: object) -> str:
    """Returns the text with the entry, and the very same text if it is there."""
    settings = _parse(client, text)
    if settings[client.servers].get(NAME) == entry:
        return text
    settings[client.servers][NAME] = entry
    return _rendered(settings, text)


def without_entry(client: AiClient, text: str) -> str:
    """Returns the text without our entry, or with the one that was there before ours.

    When nothing else changed since, this is the backup byte for byte. An entry that was never ours stays."""
    backup = _backup(client)
    settings = _parse(client, text)
    ours = settings[client.servers].pop(NAME, None)
    if not backup.exists() and not is_ours(ours):
        return text
    before = _before_us(client, read(backup))
    settings_before = _parse(client, before)
    former = settings_before[client.servers].get(NAME)
    if former is not None:
        settings[client.servers][NAME] = former
    if settings == settings_before:
        return before
    return text if ours == former else _rendered(settings, text)


def save(client: AiClient, text: str, backup: str | None = None) -> None:
    """Writes the file atomically, through a symbolic link, keeping its permissions; empty text removes it.

    `backup` is written once, the first time; an empty backup means that there was no file."""
    path = client.file().resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    if backup is not None and not _backup(client).exists():
        _write(_backup(client), _before_us(client, backup), path)
    if text:
        _write(path, text, path)
    else:
        path.unlink(missing_ok=True)


def remove_backup(client: AiClient) -> None:
    _backup(client).unlink(missing_ok=True)


def _backup(client: AiClient) -> Path:
    path = client.file().resolve()
    return path.with_name(path.name + BACKUP)


def _before_us(client: AiClient, text: str) -> str:
    """Removes our entry from a backup that was lost and made again, or made when we were there already."""
    settings = _parse(client, text)
    if not is_ours(settings[client.servers].get(NAME)):
        return text
    del settings[client.servers][NAME]
    return "" if settings == {client.servers: {}} else _rendered(settings, text)


def _parse(client: AiClient, text: str) -> JsonObject:
    """Returns the settings, always with an object of servers. InvalidJson when they could not be written back."""
    text = text.removeprefix(BYTE_ORDER_MARK)
    try:
        settings = json.loads(text, object_pairs_hook=unique_names) if text.strip() else {}
        json.dumps(settings, allow_nan=False)
    except ValueError as error:
        raise InvalidJson(f"{client.file()} is not plain JSON ({error}); nothing was changed.") from None
    if not isinstance(settings, dict):
        raise InvalidJson(f"{client.file()} is not a JSON object; nothing was changed.")
    if not isinstance(settings.setdefault(client.servers, {}), dict):
        raise InvalidJson(f"`{client.servers}` in {client.file()} is not an object; nothing was changed.")
    return settings


def _rendered(settings: JsonObject, former: str) -> str:
    """Returns the settings as text with the indentation, line ends and byte order mark of the former text."""
    indent = re.search(r'^([ \t]+)"', former, re.MULTILINE)
    text = json.dumps(settings, indent=indent[1] if indent else 2, ensure_ascii=False)
    text = text.encode(errors="backslashreplace").decode()  # half of a surrogate pair
    if former.endswith("\n") or not former:
        text += "\n"
    if "\r\n" in former:
        text = text.replace("\n", "\r\n")
    return BYTE_ORDER_MARK + text if former.startswith(BYTE_ORDER_MARK) else text


def _write(path: Path, text: str, like: Path) -> None:
    """Writes with the permissions of an existing file."""
    mode = stat.S_IMODE(like.stat().st_mode) if like.exists() else 0o600
    write_atomically(path, text.encode(), mode=mode)
