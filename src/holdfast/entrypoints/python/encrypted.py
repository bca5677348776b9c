"""Entries that a client encrypts before they leave it, over any interface. The engine stores them as they are; they are
never indexed, recalled or in a context."""

from __future__ import annotations

import json
from typing import Any

from holdfast.crypto.own_key import OwnKey
from holdfast.domain.errors import InvalidField


class Encrypted:
    """Calls whose texts only the holder of the key can read: `Encrypted(alice, key)`."""

    def __init__(self, calls: Any, key: OwnKey) -> None:
        self._calls = calls
        self._key = key

    def remember(self, text: str, *, key: str, **more: Any) -> Any:
        """Encrypts and stores a text. It must have a key, because the ciphertext is bound to it."""
        return self._calls.remember(self._key.encrypt(text, key.strip()), key=key, encrypted=True, **more)

    def get(self, key: str, **more: Any) -> Any:
        """Returns the text, decrypted here."""
        return self._text(self._calls.get(key, **more))

    def create(self, key: str, content: Any, **more: Any) -> Any:
        """Stores text or any JSON by the memory tool's `create`; `store` or `scope` say where."""
        try:
            text = json.dumps(content, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError):
            raise InvalidField("A value must be text, or something that JSON can write.") from None
        encrypted = self._key.encrypt(text, key.strip())
        return self._calls.stores.memory("create", key=key, content=encrypted, encrypted=True, **more)

    def view(self, key: str, **more: Any) -> Any:
        """Returns the content that `create` stored; None when there is none."""
        return self._content(self._calls.stores.memory("view", key=key, **more))

    def _text(self, entry: Any) -> str:
        return self._key.decrypt(entry.text, entry.key)

    def _content(self, shown: Any) -> Any:
        return None if shown is None else json.loads(self._key.decrypt(shown["value"], shown["key"]))


class AsyncEncrypted(Encrypted):
    """`Encrypted` over async calls: every method is awaited."""

    async def get(self, key: str, **more: Any) -> str:
        return self._text(await self._calls.get(key, **more))

    async def view(self, key: str, **more: Any) -> Any:
        return self._content(await self._calls.stores.memory("view", key=key, **more))
