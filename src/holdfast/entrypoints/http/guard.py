"""Who may be asked under which name: a page of another site must not reach a server on this machine through somebody's
browser, neither by a name of its own (DNS rebinding) nor from its own origin. No CORS header is ever sent."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from holdfast.domain.errors import AccessDenied, HoldfastError, InvalidField
from holdfast.entrypoints.http.answers import refusal

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
ANY = ("0.0.0.0", "::", "[::]", "")

App = Callable[[Any, Any, Any], Awaitable[None]]

_HOST = re.compile(rb"(\[[0-9a-f:.]+\]|[^\s\[\]:@/?#]+)(?::([0-9]*))?", re.IGNORECASE)
_ORIGIN = re.compile(rb"https?://(.+)", re.IGNORECASE)


class Guard:
    def __init__(self, app: App, *, host: str, allowed: Sequence[str] = ()) -> None:
        self._app = app
        named = () if host in ANY else (f"[{host}]" if ":" in host else host,)
        self._named = frozenset(name.lower() for name in allowed)
        self._allowed = frozenset(name.lower() for name in (*LOOPBACK, *named)) | self._named

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            try:
                self._check(scope["headers"])
            except HoldfastError as error:
                scope["holdfast.code"] = error.code
                await refusal(error).send(send)
                return
        await self._app(scope, receive, send)

    def _check(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1:
            raise InvalidField("A request names its host exactly once.")
        if _name(hosts[0]) not in self._allowed:
            raise AccessDenied(
                "This server does not go by that name; HOLDFAST_ALLOWED_HOSTS lists those it does."
            )
        for name, value in headers:
            if name == b"origin" and not self._is_own(value, hosts[0]):
                raise AccessDenied("Pages of another site may not call this server.")

    def _is_own(self, origin: bytes, host: bytes) -> bool:
        """That of the very host and port asked, or of a name that the settings list: on this machine other programs
        serve pages too, on other ports."""
        said = _ORIGIN.fullmatch(origin)
        return said is not None and (said[1].lower() == host.lower() or _name(said[1]) in self._named)


def _name(host: bytes) -> str:
    """Without the port; an IPv6 address keeps its brackets. Nothing when it is no name."""
    said = _HOST.fullmatch(host)
    return "" if said is None else said[1].decode("latin-1").lower()
