"""Settings: one table, read once. No other module reads the environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.disk import on_disk
from holdfast.domain.errors import InvalidField
from holdfast.domain.limits import Limits

PREFIX = "HOLDFAST_"
FILE = "holdfast.toml"


class Setting(NamedTuple):
    name: str
    default: Any
    unit: str
    sentence: str


TABLE = (
    Setting(
        "DATA_DIR",
        None,
        "path",
        "where the store and its key lie (0700 / 0600); default: the platform's user data directory",
    ),
    Setting(
        "DATABASE_URL",
        None,
        "url",
        "`sqlite:///path`, `sqlite://` for memory, or `postgresql://…`; default: `holdfast.db` in the data directory",
    ),
    Setting("POOL_SIZE", 10, "connections", "most connections of this node to PostgreSQL"),
    Setting(
        "PREPARED_STATEMENTS",
        "off",
        "word",
        "`on` keeps plans on PostgreSQL's connections: quicker, but not behind a pooler in transaction mode",
    ),
    Setting(
        "MEMORY_KEY",
        None,
        "key",
        "64 hex characters, `ephemeral`, or `off`; default: a key file made once beside the store",
    ),
    Setting("MEMORY_OLD_KEYS", "", "keys", "comma-separated keys still accepted for reading"),
    Setting(
        "DURABILITY",
        "full",
        "word",
        "`full`: acknowledged means on disk; `relaxed` may lose the last moments on power loss",
    ),
    Setting("SUBJECT", "local", "id", "the user that a local program acts as"),
    Setting("URL", None, "url", "the command line talks to this server instead of the local store"),
    Setting("TOKEN", None, "token", "what it shows that server"),
    Setting(
        "MARKDOWN_DIR",
        None,
        "path",
        "an empty folder, then the server's own: file memories are mirrored there as plain text that people may edit, "
        "`users/{userId}/memory/<name>.md` with `MEMORY.md` and `trash/`",
    ),
    Setting("HOST", "127.0.0.1", "address", "where the server listens"),
    Setting("PORT", 7077, "port", "where the server listens"),
    Setting(
        "ALLOWED_HOSTS",
        "",
        "names",
        "comma-separated names by which others reach the server, besides loopback and HOLDFAST_HOST",
    ),
    Setting("AUTH", "on", "word", "`off`: no token is asked for, on a loopback address alone"),
    Setting(
        "JWT_SECRET",
        None,
        "key",
        "signs and checks local tokens (HS256), at least 32 bytes; default: a secret made once in the data directory",
    ),
    Setting("JWKS_URL", None, "url", "where a foreign issuer publishes its keys; its tokens are taken too"),
    Setting("JWT_ISSUER", None, "text", "the `iss` that tokens must have"),
    Setting("JWT_AUDIENCE", None, "text", "the `aud` that tokens must have"),
    Setting(
        "JWT_ALGORITHMS",
        "RS256,ES256,EdDSA",
        "names",
        "comma-separated algorithms a foreign issuer may sign with",
    ),
    Setting("RATE_PER_MINUTE", 6_000, "calls", "most calls of one principal in a minute; 0: no limit"),
    Setting("MAX_REQUEST_BYTES", 8_388_608, "bytes", "longest body of a request"),
    Setting(
        "SWEEP_SECONDS",
        60,
        "seconds",
        "how often expired entries and old trash are removed; 0: never by itself",
    ),
    Setting(
        "EMBEDDER",
        "default",
        "word",
        "`default` (gte-small, after `holdfast model fetch`; words only until then), `none`, `openai` (any compatible "
        "endpoint), or `module:factory`",
    ),
    Setting(
        "EMBEDDER_URL",
        "https://api.openai.com/v1",
        "url",
        "for `openai`: the address before `/embeddings`; memories are sent there to be embedded",
    ),
    Setting("EMBEDDER_MODEL", "text-embedding-3-small", "name", "for `openai`: the model to ask for"),
    Setting(
        "EMBEDDER_KEY", None, "key", "for `openai`: sent as a bearer token; local servers often need none"
    ),
    Setting(
        "MODEL_DIR",
        None,
        "path",
        "where fetched models lie, for all stores; default: `holdfast/models` in the platform's user cache directory",
    ),
    Setting(
        "MODEL_SOURCE",
        None,
        "path",
        "a folder with the model's files, asked before any network; for machines without one",
    ),
    Setting(
        "RECALL_CACHE_MB",
        256,
        "megabytes",
        "ceiling for the opened words and vectors of the spaces searched last; the last one always stays",
    ),
    Setting(
        "AUDIT_READS",
        "on",
        "word",
        "`off`: the audit log records writes alone, and nobody can ask who read an entry",
    ),
    Setting(
        "SCRUB_CARDS",
        "off",
        "word",
        "`on`: card numbers with a right check digit are taken out of what is kept, as secrets are",
    ),
    Setting("MODEL_SHARING", "off", "word", "`on`: a model may share a store without a person's yes"),
    Setting("MAX_KEY_BYTES", 512, "bytes", "longest key"),
    Setting("MAX_HINT_CHARACTERS", 500, "characters", "longest hint, description or category"),
    Setting("MAX_BODY_BYTES", 65_536, "bytes", "longest text of an entry"),
    Setting("MAX_VALUE_BYTES", 1_048_576, "bytes", "longest handler or cache value"),
    Setting("MAX_TAGS", 32, "tags", "most tags of an entry"),
    Setting("MAX_TAG_CHARACTERS", 64, "characters", "longest tag"),
    Setting("MAX_ENTRIES", 100_000, "entries", "most entries of a space, trash included"),
    Setting("MAX_LIST_ROWS", 1_000, "entries", "longest page of a list"),
    Setting("MAX_SEARCH_HITS", 50, "hits", "most hits of a search"),
    Setting("MAX_ALWAYS_INJECT", 25, "entries", "most always-apply entries in a context"),
    Setting("MAX_REVISIONS", 10_000, "revisions", "most earlier revisions kept of an entry"),
)


@dataclass(frozen=True, slots=True)
class Settings:
    data_dir: Path
    database_url: str | None
    pool_size: int
    prepared_statements: bool
    memory_key: str | None = field(repr=False)
    memory_old_keys: tuple[str, ...] = field(repr=False)
    durable: bool
    subject: str
    url: str | None
    token: str | None = field(repr=False)
    markdown_dir: Path | None
    host: str
    port: int
    allowed_hosts: tuple[str, ...]
    auth: bool
    jwt_secret: str | None = field(repr=False)
    jwks_url: str | None
    jwt_issuer: str | None
    jwt_audience: str | None
    jwt_algorithms: tuple[str, ...]
    rate_per_minute: int
    request_bytes: int
    sweep_seconds: float
    embedder: str
    embedder_url: str
    embedder_model: str
    embedder_key: str | None = field(repr=False)
    model_dir: Path
    model_source: Path | None
    recall_cache_bytes: int
    audit_reads: bool
    scrub_cards: bool
    model_sharing: bool
    limits: Limits


def load(environment: Mapping[str, str] | None = None, /, **arguments: Any) -> Settings:
    """Loads settings. Arguments win over the environment, which wins over `holdfast.toml` in the data directory."""
    environment = os.environ if environment is None else environment
    configured, data_dir = _configured(environment, arguments)
    return _settings(environment, data_dir, _from_file(data_dir / FILE) | configured)


def load_without_file(**arguments: Any) -> Settings:
    """Loads settings for memory that stays off because `holdfast.toml` could not be read."""
    configured, data_dir = _configured(os.environ, arguments)
    return _settings(os.environ, data_dir, configured)


def _configured(environment: Mapping[str, str], arguments: Mapping[str, Any]) -> tuple[dict[str, Any], Path]:
    """The arguments over the environment, by the names of the table, and the data directory."""
    configured = {name: environment[PREFIX + name] for name, *_ in TABLE if environment.get(PREFIX + name)}
    configured |= {name.upper(): value for name, value in arguments.items() if value is not None}
    if arguments.get("data_dir") is not None and arguments.get("database_url") is None:
        configured.pop("DATABASE_URL", None)
    data_dir = configured.get("DATA_DIR")
    return configured, _user_data_dir(environment) if data_dir is None else Path(data_dir).expanduser()


def _settings(environment: Mapping[str, str], data_dir: Path, configured: dict[str, Any]) -> Settings:
    values = {setting.name: setting.default for setting in TABLE} | configured
    if values["DURABILITY"] not in ("full", "relaxed"):
        raise InvalidField("HOLDFAST_DURABILITY is `full` or `relaxed`.")
    return Settings(
        data_dir=data_dir,
        database_url=values["DATABASE_URL"],
        pool_size=_number("POOL_SIZE", values["POOL_SIZE"], int),
        prepared_statements=_switch("PREPARED_STATEMENTS", values["PREPARED_STATEMENTS"]),
        memory_key=values["MEMORY_KEY"],
        memory_old_keys=_names(values["MEMORY_OLD_KEYS"]),
        durable=values["DURABILITY"] == "full",
        subject=str(values["SUBJECT"]),
        url=values["URL"],
        token=values["TOKEN"],
        markdown_dir=_path(values["MARKDOWN_DIR"]),
        host=str(values["HOST"]),
        port=_number("PORT", values["PORT"], int),
        allowed_hosts=_names(values["ALLOWED_HOSTS"]),
        auth=_switch("AUTH", values["AUTH"]),
        jwt_secret=values["JWT_SECRET"],
        jwks_url=values["JWKS_URL"],
        jwt_issuer=values["JWT_ISSUER"],
        jwt_audience=values["JWT_AUDIENCE"],
        jwt_algorithms=_names(values["JWT_ALGORITHMS"]),
        rate_per_minute=_number("RATE_PER_MINUTE", values["RATE_PER_MINUTE"], int),
        request_bytes=_number("MAX_REQUEST_BYTES", values["MAX_REQUEST_BYTES"], int),
        sweep_seconds=_number("SWEEP_SECONDS", values["SWEEP_SECONDS"], float),
        embedder=str(values["EMBEDDER"]),
        embedder_url=str(values["EMBEDDER_URL"]),
        embedder_model=str(values["EMBEDDER_MODEL"]),
        embedder_key=values["EMBEDDER_KEY"],
        model_dir=_path(values["MODEL_DIR"]) or _user_cache_dir(environment) / "models",
        model_source=_path(values["MODEL_SOURCE"]),
        recall_cache_bytes=_number("RECALL_CACHE_MB", values["RECALL_CACHE_MB"], int) << 20,
        audit_reads=_switch("AUDIT_READS", values["AUDIT_READS"]),
        scrub_cards=_switch("SCRUB_CARDS", values["SCRUB_CARDS"]),
        model_sharing=_switch("MODEL_SHARING", values["MODEL_SHARING"]),
        limits=Limits(
            **{
                cap.name: _number(f"MAX_{cap.name.upper()}", values[f"MAX_{cap.name.upper()}"], int)
                for cap in fields(Limits)
            }
        ),
    )


def surroundings() -> dict[str, str]:
    """The environment of this process, for a process started from it."""
    return dict(os.environ)


@dataclass(frozen=True, slots=True)
class Mirrors:
    """Download mirrors that the environment names for other tools; None: the usual servers."""

    npm: str | None
    hub: str | None


def mirrors(environment: Mapping[str, str] | None = None) -> Mirrors:
    """Reads npm's variable in any case, and HF_ENDPOINT as the Hugging Face tools do."""
    environment = os.environ if environment is None else environment
    variables = {name.lower(): value for name, value in environment.items()}
    return Mirrors(npm=variables.get("npm_config_registry") or None, hub=variables.get("hf_endpoint") or None)


def refuse_telemetry() -> None:
    """Switches off onnxruntime's reports to its makers, which must happen before it is loaded."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def _path(value: Any) -> Path | None:
    return Path(value).expanduser() if value else None


def _names(value: Any) -> tuple[str, ...]:
    return tuple(name.strip() for name in str(value).split(",") if name.strip())


def _switch(name: str, value: Any) -> bool:
    if value not in ("on", "off", True, False):
        raise InvalidField(f"{PREFIX}{name} is `on` or `off`.")
    return value in ("on", True)


def _number(name: str, value: Any, kind: Callable[[Any], Any]) -> Any:
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if number < 0 or not isfinite(number):
        raise InvalidField(f"{PREFIX}{name} must be a number, not `{value}`.")
    return number


def _from_file(path: Path) -> dict[str, Any]:
    try:
        with on_disk(path):
            text = _text(path)
        if text is None:
            return {}
        import tomllib

        table = tomllib.loads(text)
    except ValueError as error:
        raise InvalidField(f"{path.name} cannot be read: {error}.") from error
    known = {setting.name for setting in TABLE}
    values = {name.upper().removeprefix(PREFIX): value for name, value in table.items()}
    if unknown := sorted(set(values) - known):
        raise InvalidField(f"{path.name} names an unknown setting `{unknown[0].lower()}`.")
    return values


def _text(path: Path) -> str | None:
    """Returns None where there is no such file."""
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None


def _user_data_dir(environment: Mapping[str, str]) -> Path:
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "holdfast"
    if sys.platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / "holdfast"
    return Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share") / "holdfast"


def usual_data_dir() -> Path:
    """The data directory without any configuration."""
    return _user_data_dir(os.environ)


def user_config_dir(environment: Mapping[str, str] | None = None) -> Path:
    """The folder of the platform for settings of applications."""
    environment, home = os.environ if environment is None else environment, Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(environment.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config")


def _user_cache_dir(environment: Mapping[str, str]) -> Path:
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "holdfast"
    if sys.platform == "win32":
        return _user_data_dir(environment) / "cache"
    return Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "holdfast"
