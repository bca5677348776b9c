"""The routes table: method, path under /api/v1, call. One generic way (dispatch.py) leads from a row to the vocabulary;
clients and the OpenAPI document read the same rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from holdfast.surfaces.wire import calls
from holdfast.surfaces.wire.calls import Call
from holdfast.surfaces.wire.fields import Field, Kind

BASE = "/api/v1"
OWN_SPACE = "~"
"""The caller's own space, where a path has to name one."""
BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})
PURGE = Field("purge", Kind.SWITCH, "True: gone for good, not to the trash.")
_PARAMETER = re.compile(r"{(\w+)}")


@dataclass(frozen=True)
class Route:
    tag: str
    method: str
    path: str
    call: Call
    whole: str = ""
    """The field that the whole body is, where it is not an object of fields."""
    purge: Call | None = None
    """What `?purge=true` calls instead."""

    @cached_property
    def in_path(self) -> tuple[str, ...]:
        return tuple(_PARAMETER.findall(self.path))

    @cached_property
    def settled(self) -> frozenset[str]:
        """What the path has said: an entry's id there leaves neither its key nor its space open."""
        names = frozenset(self.in_path)
        return names | {"key", "space"} if "id" in names else names

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """What is said beside the path."""
        return tuple(field for field in self.call.fields if field.name not in self.settled)

    @cached_property
    def in_query(self) -> tuple[Field, ...]:
        return self.fields if self.purge is None else (*self.fields, PURGE)

    @cached_property
    def takes_body(self) -> bool:
        return self.method in BODY_METHODS

    @cached_property
    def takes_revision(self) -> bool:
        return any(field.name == "expected_revision" for field in self.call.fields)


def _entry(at: str) -> tuple[Route, ...]:
    """The same calls on an entry named by its id in the path, and by its key (or id) beside it."""
    return (
        Route("core", "GET", at, calls.GET),
        Route("core", "PATCH", at, calls.EDIT),
        Route("core", "DELETE", at, calls.TRASH, purge=calls.PURGE),
        Route("core", "GET", f"{at}/history", calls.HISTORY),
        Route("core", "GET", f"{at}/similar", calls.SIMILAR),
        Route("core", "POST", f"{at}/undo", calls.UNDO),
        Route("core", "POST", f"{at}/restore", calls.RESTORE),
        Route("core", "POST", f"{at}/renew", calls.RENEW),
        Route("core", "POST", f"{at}/replace", calls.REPLACE),
        Route("core", "POST", f"{at}/rename", calls.RENAME),
    )


ROUTES = (
    Route("core", "POST", "remember", calls.REMEMBER),
    Route("core", "POST", "remember/batch", calls.REMEMBER_MANY),
    Route("core", "POST", "recall", calls.RECALL),
    Route("core", "POST", "recall/why-not", calls.WHY_NOT),
    Route("core", "GET", "entries", calls.LIST),
    *_entry("entries/{id}"),
    *_entry("entry"),
    Route("core", "GET", "trash", calls.TRASHED),
    Route("core", "GET", "locked", calls.LOCKED),
    Route("core", "POST", "forget", calls.FORGET),
    Route("core", "GET", "context", calls.CONTEXT),
    Route("core", "GET", "spaces", calls.SPACES),
    Route("core", "POST", "spaces", calls.CREATE_SPACE),
    Route("core", "GET", "spaces/{space}/grants", calls.GRANTS),
    Route("core", "PUT", "spaces/{space}/grants/{grantee}", calls.SHARE),
    Route("core", "DELETE", "spaces/{space}/grants/{grantee}", calls.UNSHARE),
    Route("core", "GET", "index", calls.INDEX),
    Route("facts", "POST", "memory/store", calls.FACT_STORE),
    Route("facts", "POST", "memory/recall", calls.FACT_RECALL),
    Route("facts", "POST", "memory/forget", calls.FACT_FORGET),
    Route("facts", "GET", "memory/my-memory", calls.MY_MEMORY),
    Route("facts", "GET", "memory/history", calls.FACT_HISTORY),
    Route("facts", "GET", "memory/facts", calls.FACT_LIST),
    Route("facts", "GET", "memory/fact", calls.FACT_GET),
    Route("administration", "PUT", "chats/{chat}/participants", calls.SET_PARTICIPANTS, "participants"),
    Route("administration", "PUT", "systems/{system}/access", calls.SET_SYSTEM_ACCESS, "access"),
    Route("administration", "PUT", "rules/{role}", calls.SET_RULES, "rules"),
    Route("administration", "GET", "admin/stats", calls.STATS),
    Route("administration", "GET", "audit", calls.AUDIT),
)
