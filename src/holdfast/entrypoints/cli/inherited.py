"""What an agent's program must be told so that it opens the store that this command opens. It starts `holdfast mcp`
without the variables of this shell; secrets are named to the person and not written into somebody else's file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from holdfast.crypto.keyfile import EPHEMERAL, OFF, key_file_of, own_key_file
from holdfast.settings import FILE, PREFIX, TABLE, Settings, load, surroundings
from holdfast.wiring import database_path, is_postgres

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


def warning(settings: Settings, said: Mapping[str, str]) -> str | None:
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
