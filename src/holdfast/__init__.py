"""Holdfast: memory for AI agents. `holdfast.open()` opens a store; everything is imported at its first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.crypto.own_key import OwnKey
    from holdfast.domain import errors
    from holdfast.domain.access import Answered, Grant, Level, Proposal
    from holdfast.domain.context import Context
    from holdfast.domain.entry import Entry, Revision
    from holdfast.domain.errors import HoldfastError
    from holdfast.domain.partition import Partition
    from holdfast.domain.principal import Principal
    from holdfast.entrypoints.facade import AsyncOwn, Own
    from holdfast.entrypoints.http.client import AsyncClient, Client
    from holdfast.entrypoints.python.encrypted import AsyncEncrypted, Encrypted
    from holdfast.entrypoints.python.memory import AsyncMemory, Memory, aopen, move_store, open
    from holdfast.entrypoints.python.tool_context import AsyncHandle, Handle
    from holdfast.operations.audit import Reading
    from holdfast.operations.edit import Edited, Replaced
    from holdfast.operations.results import (
        AsyncPage,
        Forgotten,
        Hit,
        Hits,
        Outcome,
        Page,
        Remembered,
        Similar,
        Swept,
        WhyNot,
    )
    from holdfast.operations.share import Unshared
    from holdfast.operations.spaces import SpaceInfo
    from holdfast.operations.undo import Undone
    from holdfast.recall.index import IndexStatus
    from holdfast.safety.advice import Advice
    from holdfast.vocabularies.cached import Cache
    from holdfast.vocabularies.fields import LevelName, PartitionName, SourceName

__version__ = "0.1.0"

_NAMES = {
    "holdfast.crypto.own_key": "OwnKey",
    "holdfast.domain.access": "Answered Grant Level Proposal",
    "holdfast.domain.context": "Context",
    "holdfast.domain.entry": "Entry Revision",
    "holdfast.domain.errors": "HoldfastError",
    "holdfast.domain.partition": "Partition",
    "holdfast.domain.principal": "Principal",
    "holdfast.entrypoints.facade": "AsyncOwn Own",
    "holdfast.entrypoints.http.client": "AsyncClient Client",
    "holdfast.entrypoints.python.encrypted": "AsyncEncrypted Encrypted",
    "holdfast.entrypoints.python.tool_context": "AsyncHandle Handle",
    "holdfast.entrypoints.python.memory": "AsyncMemory Memory aopen move_store open",
    "holdfast.operations.audit": "Reading",
    "holdfast.operations.edit": "Edited Replaced",
    "holdfast.operations.results": "AsyncPage Forgotten Hit Hits Outcome Page Remembered Similar Swept WhyNot",
    "holdfast.operations.share": "Unshared",
    "holdfast.operations.spaces": "SpaceInfo",
    "holdfast.operations.undo": "Undone",
    "holdfast.recall.index": "IndexStatus",
    "holdfast.safety.advice": "Advice",
    "holdfast.vocabularies.cached": "Cache",
    "holdfast.vocabularies.fields": "LevelName PartitionName SourceName",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "Advice",
    "Answered",
    "AsyncClient",
    "AsyncEncrypted",
    "AsyncHandle",
    "AsyncMemory",
    "AsyncOwn",
    "AsyncPage",
    "Cache",
    "Client",
    "Context",
    "Edited",
    "Encrypted",
    "Entry",
    "Forgotten",
    "Grant",
    "Handle",
    "Hit",
    "Hits",
    "HoldfastError",
    "IndexStatus",
    "Level",
    "LevelName",
    "Memory",
    "Outcome",
    "Own",
    "OwnKey",
    "Page",
    "Partition",
    "PartitionName",
    "Principal",
    "Proposal",
    "Reading",
    "Remembered",
    "Replaced",
    "Revision",
    "Similar",
    "SourceName",
    "SpaceInfo",
    "Swept",
    "Undone",
    "Unshared",
    "WhyNot",
    "aopen",
    "errors",
    "move_store",
    "open",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name == "errors":
        return importlib.import_module("holdfast.domain.errors")
    if name not in _MODULES:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
