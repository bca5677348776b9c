"""Who may be asked under which name: a page of another site must not reach a server on this machine through somebody's
browser, neither by a name of its own (DNS rebinding) nor from its own origin. No CORS header is ever sent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from holdfast.domain.errors import AccessDenied, InvalidField

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
ANY = ("0.0.0.0", "::", "[::]", "")

_HOST = re.compile(rb"(\[[0-9a-f:.]+\]|[^\s\[\]:@/?#]+)(?::([0-9]*))?", re.IGNORECASE)
_ORIGIN = re.compile(rb"https?://(.+)", re.IGNORECASE)


class Guard:
    def __init__(self, *, host: str, allowed: Sequence[str] = ()) -> None:
        named = () if host in ANY else (f"[{host}]" if ":" in host else host,)
        self._named = frozenset(name.lower() for name in allowed)
        self._allowed = frozenset(name.lower() for name in (*LOOPBACK, *named)) | self._named
        self._as_sent = frozenset(name.encode() for name in self._allowed)

    def check(self, headers: Mapping[bytes, bytes], sent: Sequence[tuple[bytes, bytes]]) -> None:
        """`sent` has each header as often as it came."""
        host = headers.get(b"host")
        if host is None or (len(sent) != len(headers) and [name for name, _ in sent].count(b"host") != 1):
            raise InvalidField("A request names its host exactly once.")
        if not self._is_ours(host):
            raise AccessDenied(
                "This server does not go by that name; HOLDFAST_ALLOWED_HOSTS lists those it does."
            )
        if b"origin" in headers and not all(
            self._is_own(value, host) for name, value in sent if name == b"origin"
        ):
            raise AccessDenied("Pages of another site may not call this server.")

    def _is_ours(self, host: bytes) -> bool:
        name, _, port = host.partition(b":")
        usual = name in self._as_sent and (not port or port.isdigit())
        return usual or _name(host) in self._allowed

    def _is_own(self, origin: bytes, host: bytes) -> bool:
        """That of the very host and port asked, or of a name that the settings list: on this machine other programs
        serve pages too, on other ports."""
        said = _ORIGIN.fullmatch(origin)
        return said is not None and (said[1].lower() == host.lower() or _name(said[1]) in self._named)


def _name(host: bytes) -> str:
    """Without the port; an IPv6 address keeps its brackets. Nothing when it is no name."""
    said = _HOST.fullmatch(host)
    return "" if said is None else said[1].decode("latin-1").lower()
