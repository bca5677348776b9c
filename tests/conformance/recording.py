"""A store that notes which methods of its contracts are called: `store.entries.by_key`, `transaction.keys.insert`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from holdfast.contracts.storage import Store, Transaction

T = TypeVar("T")


class _Noting:
    """Passes everything on; `_name` is where it stands, a part is anything that is not a method."""

    def __init__(self, target: object, name: str, called: set[str]) -> None:
        self._target = target
        self._name = name
        self._called = called

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(self._target, attribute)
        name = f"{self._name}.{attribute}"
        if attribute.startswith("_") or found is None:
            return found
        return self._noting(found, name) if callable(found) else _Noting(found, name, self._called)

    def _noting(self, method: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._called.add(name)
            return method(*args, **kwargs)

        return call


class _NotingStore(_Noting):
    def submit(self, job: Callable[[Transaction], T]) -> Future[T]:
        self._called.add("store.submit")
        store = cast(Store, self._target)
        return store.submit(lambda tx: job(cast(Transaction, _Noting(tx, "transaction", self._called))))


def noting(store: Store, called: set[str]) -> Store:
    return cast(Store, _NotingStore(store, "store", called))
