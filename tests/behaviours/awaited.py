"""Awaited Python as a blocking interface: every call runs on an event loop in a thread of its own."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from threading import Thread
from typing import Any, Self

import holdfast
from holdfast.entrypoints.facade import Facade
from holdfast.entrypoints.python.memory import AsyncMemory

_AWAITED = (AsyncMemory, Facade)


class Portal:
    """An event loop in a thread of its own that runs coroutines for other threads."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="portal")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def open(self, *args: Any, **options: Any) -> Any:
        return Blocking(self.run(holdfast.aopen(*args, **options)), self)


class Blocking:
    """An awaited object with blocking methods: the same calls, the same answers."""

    def __init__(self, awaited: object, portal: Portal) -> None:
        self._awaited = awaited
        self._portal = portal

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._awaited, name)
        return self._calling(value) if inspect.isroutine(value) else self._facing(value)

    def _calling(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            if inspect.iscoroutine(result):
                result = self._portal.run(result)
            return self._facing(result)

        return call

    def _facing(self, value: Any) -> Any:
        return Blocking(value, self._portal) if isinstance(value, _AWAITED) else value
