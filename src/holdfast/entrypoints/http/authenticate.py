"""From the headers of a request to its caller. Whether nobody need show a token is decided here, before the start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from starlette.datastructures import Headers

from holdfast.domain.errors import InvalidField, Unauthenticated
from holdfast.domain.principal import UNKNOWN, Caller, Principal, PrincipalKind, check_subject
from holdfast.entrypoints.http.claims import DOOR, OF_TOKEN, Reason
from holdfast.entrypoints.http.jwks import is_loopback
from holdfast.entrypoints.http.tokens import Verifier, reason_of, unauthenticated
from holdfast.settings import Settings

RUN = "Holdfast-Run"
CONVERSATION = "Holdfast-Conversation"

RawHeaders = list[tuple[bytes, bytes]] | tuple[tuple[bytes, bytes], ...]
"""As ASGI has them: names in lower case."""

_AUTHORIZATION = b"authorization"
_RUN = RUN.lower().encode()
_CONVERSATION = CONVERSATION.lower().encode()


def check_auth_allowed(settings: Settings) -> None:
    """Refuses to start without tokens where others could reach the server."""
    if not settings.auth and not is_loopback(settings.host):
        raise InvalidField(
            "HOLDFAST_AUTH=off is for a loopback address alone; remove it, or set HOLDFAST_HOST=127.0.0.1."
        )


def challenge(error: Unauthenticated) -> str:
    """What WWW-Authenticate says beside a 401; as RFC 6750 has it, no error where no token was shown."""
    match reason_of(error):
        case None | Reason.MISSING | Reason.SCHEME:
            return "Bearer"
        case reason:
            return f'Bearer error="invalid_token", error_description="{reason}"'


class Authenticator:
    """Both ways raise Unauthenticated and Unavailable as the verifier does, and InvalidField for a bad header of ours,
    to known callers alone.

    A run that the token names stays: otherwise an unattended caller could name a new one for every save.
    """

    def __init__(self, settings: Settings, verifier: Verifier) -> None:
        check_auth_allowed(settings)
        self._off = not settings.auth
        self._verifier = verifier
        self._nobody = Caller(Principal(PrincipalKind.USER, UNKNOWN), door=DOOR)

    def known(self, headers: Mapping[bytes, bytes]) -> Caller | None:
        """The caller of a request that repeats no header, if nothing has to be awaited: the token was verified a moment
        ago, or none is asked."""
        caller = self._nobody if self._off else self._verifier.known(_bearer(headers.get(_AUTHORIZATION)))
        if caller is None or not (_RUN in headers or _CONVERSATION in headers):
            return caller
        return _in_circumstances(caller, _sent(list(headers.items())))

    async def caller(self, headers: Headers | RawHeaders) -> Caller:
        sent = _sent(headers)
        caller = self._nobody
        if not self._off:
            if len(sent.authorization) > 1:
                raise unauthenticated(Reason.SCHEME)
            caller = await self._verifier.verify(_bearer(*sent.authorization))
        return _in_circumstances(caller, sent)


class _Sent(NamedTuple):
    authorization: list[bytes]
    run: list[bytes]
    conversation: list[bytes]


def _sent(headers: Headers | RawHeaders) -> _Sent:
    sent = _Sent([], [], [])
    for name, value in headers if isinstance(headers, (list, tuple)) else headers.raw:
        if name == _AUTHORIZATION:
            sent.authorization.append(value)
        elif name == _RUN:
            sent.run.append(value)
        elif name == _CONVERSATION:
            sent.conversation.append(value)
    return sent


def _bearer(authorization: bytes | None = None) -> bytes:
    if authorization is None:
        raise unauthenticated(Reason.MISSING)
    scheme, _, token = authorization.partition(b" ")
    if scheme.lower() != b"bearer":
        raise unauthenticated(Reason.SCHEME)
    return token.strip(b" ")


def _in_circumstances(caller: Caller, sent: _Sent) -> Caller:
    if sent.run:
        caller = _in_run(caller, _only(RUN, sent.run))
    if sent.conversation:
        caller = replace(caller, conversation=_only(CONVERSATION, sent.conversation))
    return caller


def _in_run(caller: Caller, run: str) -> Caller:
    if run.startswith(OF_TOKEN):
        raise InvalidField(f"The header {RUN} must not start with `{OF_TOKEN}`.")
    named_by_token = caller.run is not None and not caller.run.startswith(OF_TOKEN)
    return caller if named_by_token else replace(caller, run=run)


def _only(name: str, values: list[bytes]) -> str:
    try:
        text = check_subject(f"header {name}", values[0].decode("utf-8"))
    except UnicodeDecodeError:
        raise InvalidField(f"The header {name} must be UTF-8.") from None
    if len(values) > 1 or not text.strip():
        raise InvalidField(f"Send the header {name} once and not empty.")
    return text
