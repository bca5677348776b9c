"""Holdfast: memory for AI agents. `holdfast.open()` is the door; everything else is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.crypto.own_key import OwnKey as OwnKey
    from holdfast.domain.errors import HoldfastError as HoldfastError
    from holdfast.entrypoints.http.client import AsyncClient as AsyncClient
    from holdfast.entrypoints.http.client import Client as Client
    from holdfast.entrypoints.python.encrypted import AsyncEncrypted as AsyncEncrypted
    from holdfast.entrypoints.python.encrypted import Encrypted as Encrypted
    from holdfast.entrypoints.python.memory import AsyncMemory as AsyncMemory
    from holdfast.entrypoints.python.memory import Memory as Memory
    from holdfast.entrypoints.python.memory import open_memory as open
    from holdfast.entrypoints.python.memory import open_memory_async as aopen
    from holdfast.entrypoints.python.migrate_store import move_store as move_store
    from holdfast.vocabularies.cached import Cache as Cache

__version__ = "0.1.0"

_LATER = {
    "open": ("holdfast.entrypoints.python.memory", "open_memory"),
    "aopen": ("holdfast.entrypoints.python.memory", "open_memory_async"),
    "Memory": ("holdfast.entrypoints.python.memory", "Memory"),
    "AsyncMemory": ("holdfast.entrypoints.python.memory", "AsyncMemory"),
    "Client": ("holdfast.entrypoints.http.client", "Client"),
    "AsyncClient": ("holdfast.entrypoints.http.client", "AsyncClient"),
    "OwnKey": ("holdfast.crypto.own_key", "OwnKey"),
    "Encrypted": ("holdfast.entrypoints.python.encrypted", "Encrypted"),
    "AsyncEncrypted": ("holdfast.entrypoints.python.encrypted", "AsyncEncrypted"),
    "Cache": ("holdfast.vocabularies.cached", "Cache"),
    "move_store": ("holdfast.entrypoints.python.migrate_store", "move_store"),
    "HoldfastError": ("holdfast.domain.errors", "HoldfastError"),
    "errors": ("holdfast.domain", "errors"),
}

__all__ = [
    "AsyncClient",
    "AsyncEncrypted",
    "AsyncMemory",
    "Cache",
    "Client",
    "Encrypted",
    "HoldfastError",
    "Memory",
    "OwnKey",
    "aopen",
    "errors",
    "move_store",
    "open",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    import importlib

    module, attribute = _LATER[name]
    return getattr(importlib.import_module(module), attribute, None) or importlib.import_module(
        f"{module}.{attribute}"
    )


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
