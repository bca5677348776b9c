"""The one way from a command to memory: the server that HOLDFAST_URL names, or the local store."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from holdfast.domain.errors import InvalidField, Unavailable
from holdfast.entrypoints.cli.output import patiently
from holdfast.settings import Settings, load

if TYPE_CHECKING:
    from holdfast.entrypoints.python.memory import Memory, Own

DOOR = "cli"
"""Where an entry says that it came from."""


def settings_of(data: Path | None, **given: Any) -> Settings:
    """A data directory that was named stands for its own store, whatever HOLDFAST_DATABASE_URL says."""
    return load(**given) if data is None else load(data_dir=data, **given)


@contextmanager
def opened(data: Path | None, subject: str | None, what: str = "working") -> Iterator[Own]:
    """Somebody's own door, on a server or on the local store; both have the same methods."""
    settings = settings_of(data, subject=subject, sweep_seconds=0)
    with patiently(what):
        if settings.url:
            if subject is not None and subject != _token_subject(settings.token):
                raise InvalidField(
                    "With HOLDFAST_URL the token says who you are; leave --as out, or set another HOLDFAST_TOKEN."
                )
            with _client(settings.url, settings.token) as client:
                yield client
        else:
            with _memory(settings) as memory:
                yield _own(memory, settings.subject)


def local_settings(data: Path | None, what: str) -> Settings:
    settings = settings_of(data, sweep_seconds=0)
    if settings.url:
        raise InvalidField(
            f"`holdfast {what}` works on the local store, but HOLDFAST_URL is set: unset it, or run this where the "
            "server's store lies."
        )
    return settings


@contextmanager
def opened_store(data: Path | None, what: str) -> Iterator[Memory]:
    """The local store itself, for its upkeep, which a server does for its own."""
    settings = local_settings(data, what)
    with _memory(settings) as memory:
        if not memory.enabled:
            raise Unavailable(memory.reason)
        yield memory


def _memory(settings: Settings) -> Memory:
    from holdfast.entrypoints.python.memory import Memory
    from holdfast.wiring import open_engine, system_clock

    return Memory(open_engine(settings, system_clock, None, required=True), settings, system_clock)


def _own(memory: Memory, subject: str) -> Own:
    from holdfast.domain.principal import Caller, PrincipalKind, principal
    from holdfast.entrypoints.python.memory import Own

    return Own(memory.running.session(Caller(principal(PrincipalKind.USER, subject), door=DOOR)))


def _client(url: str, token: str | None) -> Any:
    try:
        from holdfast.entrypoints.http.client import Client
    except ImportError as error:
        raise Unavailable(
            "Talking to a server needs `holdfast[client]`: pip install 'holdfast[client]'."
        ) from error
    return Client(url, token=token)


def _token_subject(token: str | None) -> str | None:
    """Whom a token names, unchecked: the server checks it. Only to notice that another one is asked for."""
    try:
        payload = (token or "").split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return cast(str | None, claims.get("sub"))
    except (IndexError, ValueError, binascii.Error, AttributeError):
        return None
