"""The context of a registered tool: its caller, its inputs, its memory, the `ec` object, and single flight, which lets
concurrent calls with equal input share one run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from holdfast.domain.errors import InvalidField
from holdfast.domain.principal import Principal
from holdfast.domain.run import FINDINGS_A_RUN, is_word
from holdfast.entrypoints.facade import Facade, acall, call
from holdfast.entrypoints.python.local import AsyncLocalTransport, LocalTransport
from holdfast.operations.session import Session
from holdfast.vocabularies.cached import CachedCalls, StoredOutput
from holdfast.vocabularies.handler import HandlerCalls

Landed = StoredOutput | None
"""The cached output; None when the output was not cached, so that each waiter runs the tool itself."""


class Abandoned(Exception):
    """The leader was cancelled; a waiter takes its place."""


class Flights:
    def __init__(self) -> None:
        self._lock = Lock()
        self._open: dict[Hashable, Future[Landed]] = {}
        self._leads: ContextVar[frozenset[Hashable]] = ContextVar("holdfast_flights", default=frozenset())

    def join(self, key: Hashable) -> Future[Landed] | None:
        """Returns the flight to wait for; None for the leader, which must land."""
        with self._lock:
            known = self._open.get(key)
            if known is None:
                mine: Future[Landed] = Future()
                mine.set_running_or_notify_cancel()  # so that no waiter can cancel it
                self._open[key] = mine
            return known

    def land(self, key: Hashable, left: Landed | Abandoned) -> None:
        with self._lock:
            flight = self._open.pop(key)
        if isinstance(left, Abandoned):
            flight.set_exception(left)
        else:
            flight.set_result(left)

    def leads(self, key: Hashable) -> bool:
        """Returns True inside the flight: a tool that calls itself must not wait for itself."""
        return key in self._leads.get()

    @contextmanager
    def leading(self, key: Hashable) -> Iterator[None]:
        token = self._leads.set(self._leads.get() | {key})
        try:
            yield
        finally:
            self._leads.reset(token)


class _AnyHandle(Facade):
    """The values of one subject, or of one session of theirs."""

    _transport_type = LocalTransport

    def __init__(self, session: Session, subject: Principal, session_id: str | None) -> None:
        self._calls = HandlerCalls(session, subject, session_id)
        self._subject = subject
        super().__init__(self._transport_type(session, self._calls))

    def namespace(self) -> str:
        return self._calls.namespace()

    def across_sessions(self) -> Self:
        """Returns the subject's own namespace, which the next session finds again."""
        return type(self)(self._transport.session, self._subject, None)


class Handle(_AnyHandle):
    """The values that tool code stores for one subject, or for one session of theirs."""

    store = call(HandlerCalls.store)
    recall = call(HandlerCalls.recall)
    list = call(HandlerCalls.list)
    delete = call(HandlerCalls.delete)
    context = call(HandlerCalls.context)


class AsyncHandle(_AnyHandle):
    """`Handle`, awaited."""

    _transport_type = AsyncLocalTransport

    store = acall(HandlerCalls.store)
    recall = acall(HandlerCalls.recall)
    list = acall(HandlerCalls.list)
    delete = acall(HandlerCalls.delete)
    context = acall(HandlerCalls.context)


H = TypeVar("H")
R_co = TypeVar("R_co", covariant=True)


class ToolCaller(NamedTuple):
    """The caller that tools run for right now."""

    who: Principal
    session_id: str | None
    session: Session
    cache: CachedCalls


class ToolContext(Generic[H]):
    """The object `ec` of a running tool: its caller's memory, and controls for its own run."""

    def __init__(self, caller: ToolCaller, handle: Callable[[ToolCaller], H | None]) -> None:
        self._caller = caller
        self._handle = handle
        self.cacheable = True
        self.findings: list[str] = []

    @property
    def subject(self) -> str:
        return self._caller.who.id

    @property
    def session(self) -> str | None:
        return self._caller.session_id

    @cached_property
    def memory(self) -> H | None:
        """The handle of the caller; None when memory is off."""
        return self._handle(self._caller)

    def do_not_cache(self) -> None:
        """Keeps the output of this run out of the cache."""
        self.cacheable = False

    def finding(self, word: str) -> None:
        """Records one short word about this run, such as `missing-title`. The most common ones are in my-defaults."""
        if not is_word(word):
            raise InvalidField("A finding is one short printable word, such as `missing-title`.")
        if len(self.findings) < FINDINGS_A_RUN:
            self.findings.append(word)


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """Counts of a tool's calls in this process."""

    hits: int = 0
    misses: int = 0
    uncached: int = 0
    """Outputs that were not cached, each logged with its reason."""
    errors: int = 0
    """Failures of the cache itself; the tool ran all the same."""


class Tool(Protocol[R_co]):
    """A registered function, called without its parameter `ec`."""

    def __call__(self, *args: Any, **kwargs: Any) -> R_co: ...

    def cache_info(self) -> CacheInfo: ...


EC = "ec"
"""The parameter that receives the context."""


class Inputs:
    def __init__(self, function: Callable[..., Any]) -> None:
        self._whole = inspect.signature(function)
        sent = [each for each in self._whole.parameters.values() if each.name != EC]
        self.takes_context = len(sent) < len(self._whole.parameters)
        self.signature = self._whole.replace(parameters=sent)
        self._positional = tuple(each.name for each in sent if each.kind is each.POSITIONAL_OR_KEYWORD)
        self._names = frozenset(each.name for each in sent)
        self._defaults = {each.name: each.default for each in sent if each.default is not each.empty}
        self._simple = all(each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY) for each in sent)

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments by name. Plain ones skip `bind`, which takes ten times as long."""
        if self._simple and len(args) <= len(self._positional):
            first = dict(zip(self._positional, args, strict=False))
            inputs = {**self._defaults, **first, **kwargs}
            if inputs.keys() == self._names and not (kwargs.keys() & first.keys()):
                return inputs
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.arguments

    def with_context(self, inputs: dict[str, Any], context: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
        values = {**inputs, EC: context}
        whole: Any = {name: values[name] for name in self._whole.parameters}
        bound = inspect.BoundArguments(self._whole, whole)
        return bound.args, bound.kwargs
