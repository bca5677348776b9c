"""From method and path to a row of the table, segment by segment, so that what one holds is never taken for a slash."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote_to_bytes

from holdfast.domain.errors import InvalidField, MethodNotAllowed, NotFound
from holdfast.entrypoints.http.routes import Route


def no_method(allowed: Iterable[str]) -> MethodNotAllowed:
    error = MethodNotAllowed()
    error.allowed = tuple(sorted(allowed))
    return error


_BROKEN_QUOTE = re.compile("%(?![0-9A-Fa-f]{2})")


class _Node:
    __slots__ = ("below", "name", "other", "routes")

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.below: dict[str, _Node] = {}
        self.other: _Node | None = None
        """Where any segment leads."""
        self.name = ""


class Router:
    def __init__(self, routes: Sequence[Route]) -> None:
        self._root = _Node()
        for route in routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        node = self._root
        for segment in route.path.split("/"):
            if segment.startswith("{"):
                node.other = node.other or _Node()
                node = node.other
                node.name = node.name or segment[1:-1]
                assert node.name == segment[1:-1], "one place in a path has one name"
            else:
                node = node.below.setdefault(segment, _Node())
        assert route.method not in node.routes, f"two rows for {route.method} {route.path}"
        node.routes[route.method] = route

    def find(self, method: str, path: str) -> tuple[Route, Mapping[str, str]]:
        """The row, and what the path says; `path` is still quoted."""
        node, said = self._root, {}
        for segment in path.split("/"):
            if segment in node.below:
                node = node.below[segment]
            elif node.other is not None and segment:
                node = node.other
                said[node.name] = _unquoted(segment)
            else:
                raise NotFound("There is no such route.")
        if not node.routes:
            raise NotFound("There is no such route.")
        route = node.routes.get("GET" if method == "HEAD" else method)
        if route is None:
            raise no_method({*node.routes, "HEAD"} if "GET" in node.routes else node.routes)
        return route, said


def _unquoted(segment: str) -> str:
    if "%" not in segment and segment.isascii():
        return segment
    try:
        if _BROKEN_QUOTE.search(segment):
            raise InvalidField("The path has a percent sign without two hexadecimal digits.")
        return unquote_to_bytes(segment).decode(errors="surrogatepass")
    except UnicodeDecodeError:
        raise InvalidField("The path is not valid UTF-8.") from None
