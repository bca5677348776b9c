"""The routes table: method, path under /api/v1, call. Clients and the OpenAPI document read the rows too."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from holdfast.vocabularies.administration import AdministrationCalls, AgentCalls
from holdfast.vocabularies.anthropic import AnthropicCalls
from holdfast.vocabularies.assistant import AssistantCalls
from holdfast.vocabularies.call import Call, call_of
from holdfast.vocabularies.core import CoreCalls
from holdfast.vocabularies.corpus import CorpusCalls
from holdfast.vocabularies.facts import FactCalls
from holdfast.vocabularies.fields import Field
from holdfast.vocabularies.files import FileCalls
from holdfast.vocabularies.kv import KvCalls
from holdfast.vocabularies.people import PeopleCalls
from holdfast.vocabularies.sharing import SharingCalls
from holdfast.vocabularies.stores import StoreCalls

BASE = "/api/v1"
OWN_SPACE = "~"
"""The caller's own space, where a path has to name one."""
BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})
PURGE = Field("True: gone for good, not to the trash.").at("purge", bool)
_PARAMETER = re.compile(r"{(\w+)}")


@dataclass(frozen=True)
class Route:
    tag: str
    method: str
    path: str
    run: Callable[..., Any]
    """A method of a vocabulary, with its description."""
    whole: str = ""
    """The field that the whole body is, where it is not an object of fields."""
    purging: Callable[..., Any] | None = None
    """The method that `?purge=true` calls instead."""

    @cached_property
    def call(self) -> Call:
        return call_of(self.run)

    @cached_property
    def purge(self) -> Call | None:
        return None if self.purging is None else call_of(self.purging)

    @cached_property
    def in_path(self) -> tuple[str, ...]:
        return tuple(_PARAMETER.findall(self.path))

    @cached_property
    def settled(self) -> frozenset[str]:
        """Fields that the path decides. An entry's id there decides its key and space as well."""
        names = frozenset(self.in_path)
        return names | {"key", "space", "namespace"} if "id" in names else names

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Fields taken from the body or the query."""
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
    """Routes on one entry, which the path or the fields beside it name."""
    return (
        Route("core", "GET", at, CoreCalls.get),
        Route("core", "PATCH", at, CoreCalls.edit),
        Route("core", "DELETE", at, CoreCalls.trash, purging=CoreCalls.purge),
        Route("core", "GET", f"{at}/history", CoreCalls.history),
        Route("core", "GET", f"{at}/readers", CoreCalls.readers),
        Route("core", "GET", f"{at}/similar", CoreCalls.similar),
        Route("core", "POST", f"{at}/undo", CoreCalls.undo),
        Route("core", "POST", f"{at}/restore", CoreCalls.restore),
        Route("core", "POST", f"{at}/renew", CoreCalls.renew),
        Route("core", "POST", f"{at}/replace", CoreCalls.replace),
        Route("core", "POST", f"{at}/rename", CoreCalls.rename),
    )


ROUTES = (
    Route("core", "POST", "remember", CoreCalls.remember),
    Route("core", "POST", "remember/batch", CoreCalls.remember_many),
    Route("core", "POST", "recall", CoreCalls.recall),
    Route("core", "POST", "recall/why-not", CoreCalls.why_not),
    Route("core", "GET", "entries", CoreCalls.list),
    *_entry("entries/{id}"),
    *_entry("entry"),
    Route("core", "GET", "trash", CoreCalls.trashed),
    Route("core", "GET", "locked", CoreCalls.locked),
    Route("core", "POST", "forget", CoreCalls.forget),
    Route("core", "GET", "context", CoreCalls.context),
    Route("core", "GET", "spaces", SharingCalls.spaces),
    Route("core", "POST", "spaces", SharingCalls.create_space),
    Route("core", "GET", "spaces/{space}/grants", SharingCalls.grants),
    Route("core", "PUT", "spaces/{space}/grants/{grantee}", SharingCalls.share),
    Route("core", "DELETE", "spaces/{space}/grants/{grantee}", SharingCalls.unshare),
    Route("core", "GET", "index", CoreCalls.index),
    Route("facts", "POST", "memory/store", FactCalls.store),
    Route("facts", "POST", "memory/recall", FactCalls.recall),
    Route("facts", "POST", "memory/forget", FactCalls.forget),
    Route("facts", "GET", "memory/my-memory", FactCalls.my_memory),
    Route("facts", "GET", "memory/history", FactCalls.history),
    Route("facts", "GET", "memory/facts", FactCalls.list),
    Route("facts", "GET", "memory/fact", FactCalls.get),
    Route("facts", "POST", "memory/renew", FactCalls.renew),
    Route("facts", "GET", "memory/defaults", FactCalls.defaults),
    Route("facts", "GET", "memory/callers", FactCalls.callers),
    Route("assistant", "POST", "assistant/searchMemory", AssistantCalls.search_memory),
    Route("assistant", "POST", "assistant/saveMemory", AssistantCalls.save_memory),
    Route("assistant", "POST", "assistant/deleteMemory", AssistantCalls.delete_memory),
    Route("assistant", "POST", "assistant/setMemoryAlwaysInject", AssistantCalls.set_memory_always_inject),
    Route("assistant", "GET", "assistant/memories", AssistantCalls.list),
    Route("people", "GET", "proposals", PeopleCalls.proposals),
    Route("people", "POST", "proposals/{id}/approve", PeopleCalls.approve),
    Route("people", "POST", "proposals/{id}/refuse", PeopleCalls.refuse),
    Route("people", "GET", "quarantine", PeopleCalls.quarantine),
    Route("people", "POST", "quarantine/{id}/approve", PeopleCalls.approve_quarantined),
    Route("people", "POST", "undo", PeopleCalls.undo_by),
    Route("stores", "POST", "memory/tool", StoreCalls.memory),
    Route("files", "POST", "user-memory", FileCalls.update_user_memory),
    Route("files", "GET", "user-memory", FileCalls.index),
    Route("files", "GET", "user-memory/{name}", FileCalls.read_user_memory),
    Route("agents", "GET", "agents/{id}/memory-settings", AgentCalls.memory_settings),
    Route("agents", "PUT", "agents/{id}/memory-settings", AgentCalls.set_memory_settings),
    Route("kv", "PUT", "kv/{key}", KvCalls.kv_set),
    Route("kv", "GET", "kv/{key}", KvCalls.kv_get),
    Route("kv", "DELETE", "kv/{key}", KvCalls.kv_delete),
    Route("corpus", "POST", "corpus/query", CorpusCalls.query),
    Route("anthropic", "POST", "anthropic/memory", AnthropicCalls.memory),
    Route("stores", "GET", "spaces/{space}/preview", StoreCalls.preview),
    Route("stores", "GET", "stores/{store}/internal/{key}", StoreCalls.get_internal),
    Route("stores", "PUT", "stores/{store}/internal/{key}", StoreCalls.set_internal),
    Route(
        "administration",
        "PUT",
        "chats/{chat}/participants",
        AdministrationCalls.set_participants,
        "participants",
    ),
    Route(
        "administration", "PUT", "systems/{system}/access", AdministrationCalls.set_system_access, "access"
    ),
    Route("administration", "PUT", "rules/{role}", AdministrationCalls.set_rules, "rules"),
    Route("administration", "GET", "admin/stats", AdministrationCalls.stats),
    Route("administration", "GET", "audit", AdministrationCalls.audit),
)
