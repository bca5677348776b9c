"""Entries that a client encrypts before they leave it, over any door: Python's or a client's, blocking or awaited. The
engine keeps them as they are; they are never indexed, recalled or in a context."""

from __future__ import annotations

import json
from typing import Any

from holdfast.crypto.own_key import OwnKey
from holdfast.domain.errors import InvalidField


class Encrypted:
    """`Encrypted(door, key)`: what is kept through it only the holder of the key can read."""

    def __init__(self, door: Any, key: OwnKey) -> None:
        self._door = door
        self._key = key

    def remember(self, text: str, *, key: str, **more: Any) -> Any:
        """As the door's `remember`; it must have a key, because the text is bound to it."""
        return self._door.remember(self._key.encrypt(text, key.strip()), key=key, encrypted=True, **more)

    def get(self, key: str, **more: Any) -> str:
        """The text, decrypted here."""
        entry = self._door.get(key, **more)
        return self._key.decrypt(entry.text, entry.key)

    def create(self, key: str, content: Any, **more: Any) -> Any:
        """The memory tool's `create`, of text or any JSON; `store` or `scope` say where."""
        sealed = self._key.encrypt(_written(content), key.strip())
        return self._door.stores.memory("create", key=key, content=sealed, encrypted=True, **more)

    def view(self, key: str, **more: Any) -> Any:
        """What `create` was given; None when there is nothing."""
        return _read(self._key, self._door.stores.memory("view", key=key, **more))


class AsyncEncrypted:
    """`Encrypted`, awaited."""

    def __init__(self, door: Any, key: OwnKey) -> None:
        self._door = door
        self._key = key

    async def remember(self, text: str, *, key: str, **more: Any) -> Any:
        return await self._door.remember(
            self._key.encrypt(text, key.strip()), key=key, encrypted=True, **more
        )

    async def get(self, key: str, **more: Any) -> str:
        entry = await self._door.get(key, **more)
        return self._key.decrypt(entry.text, entry.key)

    async def create(self, key: str, content: Any, **more: Any) -> Any:
        sealed = self._key.encrypt(_written(content), key.strip())
        return await self._door.stores.memory("create", key=key, content=sealed, encrypted=True, **more)

    async def view(self, key: str, **more: Any) -> Any:
        return _read(self._key, await self._door.stores.memory("view", key=key, **more))


def _written(content: Any) -> str:
    try:
        return json.dumps(content, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise InvalidField("A value must be text, or something that JSON can write.") from None


def _read(key: OwnKey, shown: Any) -> Any:
    return None if shown is None else json.loads(key.decrypt(shown["value"], shown["key"]))
