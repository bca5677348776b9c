"""The routes table: method, path under /api/v1, call. One generic way (dispatch.py) leads from a row to the vocabulary;
clients and the OpenAPI document read the same rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from holdfast.vocabularies.wire import administration_calls as administration
from holdfast.vocabularies.wire import agent_calls as agents
from holdfast.vocabularies.wire import anthropic_calls as anthropic
from holdfast.vocabularies.wire import assistant_calls as assistant
from holdfast.vocabularies.wire import core_calls as core
from holdfast.vocabularies.wire import corpus_calls as corpus
from holdfast.vocabularies.wire import fact_calls as facts
from holdfast.vocabularies.wire import file_calls as files
from holdfast.vocabularies.wire import kv_calls as kv
from holdfast.vocabularies.wire import people_calls as people
from holdfast.vocabularies.wire import store_calls as stores
from holdfast.vocabularies.wire.call import Call
from holdfast.vocabularies.wire.fields import Field, Kind

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
        Route("core", "GET", at, core.GET),
        Route("core", "PATCH", at, core.EDIT),
        Route("core", "DELETE", at, core.TRASH, purge=core.PURGE),
        Route("core", "GET", f"{at}/history", core.HISTORY),
        Route("core", "GET", f"{at}/readers", core.READERS),
        Route("core", "GET", f"{at}/similar", core.SIMILAR),
        Route("core", "POST", f"{at}/undo", core.UNDO),
        Route("core", "POST", f"{at}/restore", core.RESTORE),
        Route("core", "POST", f"{at}/renew", core.RENEW),
        Route("core", "POST", f"{at}/replace", core.REPLACE),
        Route("core", "POST", f"{at}/rename", core.RENAME),
    )


ROUTES = (
    Route("core", "POST", "remember", core.REMEMBER),
    Route("core", "POST", "remember/batch", core.REMEMBER_MANY),
    Route("core", "POST", "recall", core.RECALL),
    Route("core", "POST", "recall/why-not", core.WHY_NOT),
    Route("core", "GET", "entries", core.LIST),
    *_entry("entries/{id}"),
    *_entry("entry"),
    Route("core", "GET", "trash", core.TRASHED),
    Route("core", "GET", "locked", core.LOCKED),
    Route("core", "POST", "forget", core.FORGET),
    Route("core", "GET", "context", core.CONTEXT),
    Route("core", "GET", "spaces", core.SPACES),
    Route("core", "POST", "spaces", core.CREATE_SPACE),
    Route("core", "GET", "spaces/{space}/grants", core.GRANTS),
    Route("core", "PUT", "spaces/{space}/grants/{grantee}", core.SHARE),
    Route("core", "DELETE", "spaces/{space}/grants/{grantee}", core.UNSHARE),
    Route("core", "GET", "index", core.INDEX),
    Route("facts", "POST", "memory/store", facts.FACT_STORE),
    Route("facts", "POST", "memory/recall", facts.FACT_RECALL),
    Route("facts", "POST", "memory/forget", facts.FACT_FORGET),
    Route("facts", "GET", "memory/my-memory", facts.MY_MEMORY),
    Route("facts", "GET", "memory/history", facts.FACT_HISTORY),
    Route("facts", "GET", "memory/facts", facts.FACT_LIST),
    Route("facts", "GET", "memory/fact", facts.FACT_GET),
    Route("facts", "POST", "memory/renew", facts.FACT_RENEW),
    Route("facts", "GET", "memory/defaults", facts.MY_DEFAULTS),
    Route("facts", "GET", "memory/callers", facts.CALLERS),
    Route("assistant", "POST", "assistant/searchMemory", assistant.SEARCH_MEMORY),
    Route("assistant", "POST", "assistant/saveMemory", assistant.SAVE_MEMORY),
    Route("assistant", "POST", "assistant/deleteMemory", assistant.DELETE_MEMORY),
    Route("assistant", "POST", "assistant/setMemoryAlwaysInject", assistant.SET_ALWAYS_INJECT),
    Route("assistant", "GET", "assistant/memories", assistant.LIST_MEMORIES),
    Route("people", "GET", "proposals", people.PROPOSALS),
    Route("people", "POST", "proposals/{id}/approve", people.APPROVE),
    Route("people", "POST", "proposals/{id}/refuse", people.REFUSE),
    Route("people", "GET", "quarantine", people.QUARANTINE),
    Route("people", "POST", "quarantine/{id}/approve", people.APPROVE_QUARANTINED),
    Route("people", "POST", "undo", people.UNDO_BY),
    Route("stores", "POST", "memory/tool", stores.MEMORY),
    Route("files", "POST", "user-memory", files.UPDATE_USER_MEMORY),
    Route("files", "GET", "user-memory", files.FILE_INDEX),
    Route("files", "GET", "user-memory/{name}", files.READ_USER_MEMORY),
    Route("agents", "GET", "agents/{id}/memory-settings", agents.MEMORY_SETTINGS),
    Route("agents", "PUT", "agents/{id}/memory-settings", agents.SET_MEMORY_SETTINGS),
    Route("kv", "PUT", "kv/{key}", kv.KV_SET),
    Route("kv", "GET", "kv/{key}", kv.KV_GET),
    Route("kv", "DELETE", "kv/{key}", kv.KV_DELETE),
    Route("corpus", "POST", "corpus/query", corpus.QUERY),
    Route("anthropic", "POST", "anthropic/memory", anthropic.MEMORY),
    Route("stores", "GET", "spaces/{space}/preview", stores.PREVIEW),
    Route("stores", "GET", "stores/{store}/internal/{key}", stores.GET_INTERNAL),
    Route("stores", "PUT", "stores/{store}/internal/{key}", stores.SET_INTERNAL),
    Route(
        "administration", "PUT", "chats/{chat}/participants", administration.SET_PARTICIPANTS, "participants"
    ),
    Route("administration", "PUT", "systems/{system}/access", administration.SET_SYSTEM_ACCESS, "access"),
    Route("administration", "PUT", "rules/{role}", administration.SET_RULES, "rules"),
    Route("administration", "GET", "admin/stats", administration.STATS),
    Route("administration", "GET", "audit", administration.AUDIT),
)
