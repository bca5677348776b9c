"""Opens memory for a command: on the server of HOLDFAST_URL, or in the local store."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from typer import Context

from holdfast.domain.errors import InvalidField, Unavailable
from holdfast.entrypoints.cli.output import status
from holdfast.settings import Settings, load

if TYPE_CHECKING:
    from holdfast.entrypoints.facade import Own
    from holdfast.entrypoints.python.memory import Memory

DOOR = "cli"
"""The origin that entries record."""


def settings_of(data: Path | None, **options: Any) -> Settings:
    """Loads the settings. A data directory on the command line overrides HOLDFAST_DATABASE_URL, too."""
    return load(**options) if data is None else load(data_dir=data, **options)


@contextmanager
def opened(context: Context, what: str) -> Iterator[Own]:
    """Opens the memory of one user, on a server or in the local store; both have the same methods."""
    subject = context.obj.subject
    settings = settings_of(context.obj.data, subject=subject, sweep_seconds=0)
    with status(what):
        if settings.url:
            if subject is not None and subject != _token_subject(settings.token):
                raise InvalidField(
                    "With HOLDFAST_URL the token says who you are; leave --as out, or set another HOLDFAST_TOKEN."
                )
            try:
                from holdfast.entrypoints.http.client import Client
            except ImportError as error:
                raise Unavailable(
                    "Talking to a server needs the client extra: pip install 'holdfast-memory[client]'."
                ) from error
            with Client(settings.url, token=settings.token) as client:
                yield cast(Any, client)
        else:
            with _memory(settings) as memory:
                yield _own(memory, settings.subject)


def local_settings(context: Context, what: str) -> Settings:
    settings = settings_of(context.obj.data, sweep_seconds=0)
    if settings.url:
        raise InvalidField(
            f"`holdfast {what}` works on the local store, but HOLDFAST_URL is set: unset it, or run this where the "
            "server's store is."
        )
    return settings


@contextmanager
def opened_store(context: Context, what: str) -> Iterator[Memory]:
    """Opens the local store for maintenance."""
    settings = local_settings(context, what)
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
    from holdfast.entrypoints.facade import Own
    from holdfast.entrypoints.python.local import LocalTransport

    caller = Caller(principal(PrincipalKind.USER, subject), door=DOOR)
    return Own(LocalTransport(memory.running.session(caller)))


def _token_subject(token: str | None) -> str | None:
    """Returns the subject of an unverified token, to notice an `--as` that contradicts it."""
    try:
        payload = (token or "").split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return cast(str | None, claims.get("sub"))
    except (IndexError, ValueError, binascii.Error, AttributeError):
        return None
