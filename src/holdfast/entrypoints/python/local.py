"""Runs calls on the engine of this process, blocking or async."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar
from weakref import WeakKeyDictionary, ref

from holdfast.contracts.storage import Job, LongJob
from holdfast.domain.errors import Unavailable
from holdfast.operations.engine import KEYS_CHANGE, TRIES, settled
from holdfast.operations.idempotency import once
from holdfast.operations.session import Session
from holdfast.storage.keyring import StaleKeys
from holdfast.vocabularies.call import Call, Vocabulary, call_of


class LocalTransport:
    """Runs a call and commits the job it returns."""

    def __init__(self, session: Session, vocabulary: Vocabulary | None = None) -> None:
        self.session = session
        self.vocabulary = vocabulary
        """The one vocabulary, where it needs more than a session."""

    def run(self, method: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return run(self.session, _prepared(self, method, args, kwargs))


class AsyncLocalTransport(LocalTransport):
    """Runs a call without blocking the event loop."""

    async def run(self, method: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        prepare = _prepared(self, method, args, kwargs)
        slow = self.vocabulary is None and call_of(method).is_slow(kwargs)
        return await run_async(self.session, prepare, slow=slow)


def _prepared(
    transport: LocalTransport, method: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Callable[[], Any]:
    """Binds the arguments to the call. It may run twice, so an iterator becomes a list."""
    vocabulary = transport.vocabulary or call_of(method).vocabulary(transport.session)
    repeatable = {
        name: list(value) if hasattr(value, "__next__") else value for name, value in kwargs.items()
    }
    return partial(method, vocabulary, *args, **repeatable)


def run(session: Session, prepare: Callable[[], Any]) -> Any:
    """Makes a call and commits its job. Prepares the job again if its keys changed meanwhile."""
    for _ in range(TRIES):
        result = prepare()
        if isinstance(result, LongJob):
            return result.run()
        if not isinstance(result, Job):
            return result
        try:
            return session.engine.write(result)
        except StaleKeys as stale:
            session.engine.refresh(stale)
    raise Unavailable(KEYS_CHANGE)


async def run_async(session: Session, prepare: Callable[[], Any], *, slow: bool) -> Any:
    """Makes a call and awaits its commit. A remote store and a `slow` call run in a worker thread."""
    if session.is_remote:
        return await asyncio.to_thread(run, session, prepare)
    for _ in range(TRIES):
        result = await asyncio.to_thread(prepare) if slow else prepare()
        if isinstance(result, LongJob):
            return await asyncio.to_thread(result.run)
        if not isinstance(result, Job):
            return result
        try:
            return settled(await _CommitWaiter.of_running_loop().wait(session.engine.submit(result)))
        except StaleKeys as stale:
            session.engine.refresh(stale)
    raise Unavailable(KEYS_CHANGE)


async def dispatch(
    session: Session, call: Call, arguments: dict[str, Any], idempotency_key: str | None = None
) -> Any:
    """Returns the answer of a call for HTTP and MCP. A repeated idempotency key returns the first answer."""
    if idempotency_key is not None and call.repeat is not None:
        call.repeat(arguments, idempotency_key)
    prepare = partial(call.on, session, **arguments)
    if idempotency_key is not None and call.writes and not session.is_off:
        prepare = partial(once, session, idempotency_key, call, arguments, prepare)
    return await run_async(session, prepare, slow=call.is_slow(arguments))


class _CommitWaiter:
    """Brings results from the store's thread to one event loop. One commit ends many writes, and waking a loop is a
    system call, so it is woken once for all (`bench writes`: a fifth of the CPU of 64 awaited callers)."""

    _by_loop: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, _CommitWaiter]] = WeakKeyDictionary()

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = ref(loop)  # weak, or a loop would keep itself in the dictionary for ever
        self._done: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._woken = False

    @classmethod
    def of_running_loop(cls) -> _CommitWaiter:
        loop = asyncio.get_running_loop()
        waiter = cls._by_loop.get(loop)
        if waiter is None:
            waiter = cls._by_loop[loop] = cls(loop)
        return waiter

    def wait(self, write: Future[Any]) -> asyncio.Future[Any]:
        waiting = asyncio.get_running_loop().create_future()
        write.add_done_callback(lambda done: self._finished(waiting, done))
        return waiting

    def _finished(self, waiting: asyncio.Future[Any], write: Future[Any]) -> None:
        """Runs in the store's thread."""
        self._done.append((waiting, write))
        if not self._woken:
            self._woken = True
            loop = self._loop()
            with suppress(RuntimeError):  # the loop is closed, so nobody waits any more
                if loop is not None:
                    loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._woken = False  # before looking: a write that ends from now on wakes the loop again
        while self._done:
            waiting, write = self._done.popleft()
            if waiting.cancelled():
                continue
            error = write.exception()
            if error is not None:
                waiting.set_exception(error)
            else:
                waiting.set_result(write.result())
