"""Tools and pipelines that the host program registers: cached, recorded, run for a caller."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cached_property, partial, update_wrapper
from threading import Lock
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from holdfast.bounded_cache import BoundedCache
from holdfast.domain.errors import InvalidField, TooLarge
from holdfast.domain.principal import Caller, Principal, PrincipalKind, check_subject, principal
from holdfast.domain.run import PIPELINE_RUNS, TOOL_RUNS, Run, learnable
from holdfast.entrypoints.python.handle import Handle
from holdfast.entrypoints.python.local import run, run_async
from holdfast.entrypoints.python.running import Running
from holdfast.entrypoints.python.single_flight import Abandoned, Flights, Landed
from holdfast.entrypoints.python.tool_context import CacheInfo, Calling, Context, Inputs, Tool
from holdfast.operations.session import Session
from holdfast.vocabularies.cached import (
    Cache,
    CachedCalls,
    Kept,
    Uncacheable,
    cache_key,
    check_cache,
    check_name,
    decode_output,
    encode_output,
)

R = TypeVar("R")


class Toolbox:
    """What a memory knows of the tools of its host: who they run for, and how they are given a handle."""

    def __init__(self, running: Running, handle: Callable[[Session, Principal, str | None], Any]) -> None:
        self._running = running
        self._handle = handle
        self._nobody = self.made_out("", None)
        self._calling: ContextVar[Calling] = ContextVar("holdfast_calling", default=self._nobody)

    @property
    def enabled(self) -> bool:
        return self._running.enabled

    def made_out(self, subject: str, session_id: str | None) -> Calling:
        who = principal(PrincipalKind.USER, subject)
        named = None if session_id is None else check_subject("session", session_id) or None
        session = self._running.session(Caller(who, door="handler"))
        return Calling(who, named, session, CachedCalls(session))

    def calling_now(self) -> Calling:
        return self._calling.get()

    @contextmanager
    def calling(self, subject: str, session: str | None) -> Iterator[None]:
        token = self._calling.set(self.made_out(subject, session))
        try:
            yield
        finally:
            self._calling.reset(token)

    def handle_for(self, awaited: bool, calling: Calling) -> Any:
        """The memory's own kind of handle; a function that cannot await gets one that blocks."""
        if not self.enabled:
            return None
        kind = self._handle if awaited else Handle
        return kind(calling.session, calling.who, calling.session_id)

    def registered(
        self, head: str, name: str, version: str, cache: Cache | None, function: Callable[..., R]
    ) -> Tool[R]:
        if not callable(function):
            raise InvalidField("Register a function: @memory.tool(name) stands before a `def`.")
        self._running.record()
        tool = Registered(self, head, name, version, cache, function)
        wrapper: Any = _awaited(tool) if inspect.iscoroutinefunction(function) else _blocking(tool)
        update_wrapper(wrapper, function)
        wrapper.__signature__ = tool.signature
        wrapper.cache_info = tool.cache_info
        return cast("Tool[R]", wrapper)


def _blocking(tool: Registered) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return tool.call(*args, **kwargs)

    return call


def _awaited(tool: Registered) -> Callable[..., Awaitable[Any]]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        return await tool.call_async(*args, **kwargs)

    return call


class Tooling:
    """What both memories offer to the tools of their host."""

    _running: Running
    _handle: Callable[[Session, Principal, str | None], Any]

    @cached_property
    def _toolbox(self) -> Toolbox:
        return Toolbox(self._running, type(self)._handle)

    def tool(
        self, name: str, *, version: str = "1", cache: Cache | None = None
    ) -> Callable[[Callable[..., R]], Tool[R]]:
        """Registers a function, blocking or awaited: its runs are recorded, and with a `cache` an input that was
        answered before is answered from the caller's own cache. A parameter named `ec` is given the context:
        `ec.memory` (None when memory is off), `ec.do_not_cache()`, `ec.finding(word)`."""
        named, versioned = check_name("name of a tool", name), check_name("version", version)
        if cache is not None:
            check_cache(cache, self._running.limits)
        return partial(self._toolbox.registered, TOOL_RUNS, named, versioned, cache)

    def pipeline(self, name: str) -> Callable[[Callable[..., R]], Tool[R]]:
        """Registers a function whose runs are recorded as those of a pipeline."""
        named = check_name("name of a pipeline", name)
        return partial(self._toolbox.registered, PIPELINE_RUNS, named, "", None)

    def calling(self, subject: str, *, session: str | None = None) -> AbstractContextManager[None]:
        """Who tools run for inside a `with` block; outside of one they run for `unknown`. It goes along into tasks, not
        into threads that you start yourself."""
        return self._toolbox.calling(subject, session)


KNOWN_INPUTS = 4_096
LONGEST_WORDS = 256
"""Inputs of a tool whose place is remembered, and how long they may be."""

log = logging.getLogger("holdfast.tools")


class Host(Protocol):
    """What a registered function needs to know of the memory it is registered with."""

    @property
    def enabled(self) -> bool: ...

    def calling_now(self) -> Calling: ...

    def handle_for(self, awaited: bool, calling: Calling) -> Any:
        """None when memory is off."""
        ...


class _Call(NamedTuple):
    """One call of a registered function."""

    calling: Calling
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: dict[str, Any]
    """The same by name, with what was left out."""
    place: _Place | None
    """None when the output has no place in the cache."""
    began_ns: int

    @property
    def key(self) -> str:
        return "" if self.place is None else self.place.key

    @property
    def flight(self) -> tuple[Principal, str]:
        return self.calling.who, self.key


class _Place(NamedTuple):
    """Where the output of an input belongs, and what its hits are recorded as but for when and in which session."""

    key: str
    run: Run


class _Find(NamedTuple):
    call: _Call


class _Wait(NamedTuple):
    flight: Future[Landed]


class _Run(NamedTuple):
    call: _Call
    context: Context[Any]


class _Keep(NamedTuple):
    call: _Call
    output: Kept


_Step = _Find | _Wait | _Run | _Keep
_Steps = Generator[_Step, Any, "_Result"]


class _Result(NamedTuple):
    output: Any = None
    error: BaseException | None = None

    def given(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.output


class Registered:
    """A function with its name, version and cache. What happens is told once, as steps; a function that blocks and one
    that is awaited differ in how the steps are carried out."""

    def __init__(
        self, host: Host, head: str, name: str, version: str, cache: Cache | None, function: Any
    ) -> None:
        self._host = host
        self._head = head
        self._name = name
        self._version = version
        self._cache = cache
        self._function = function
        self._inputs = Inputs(function)
        self.signature = self._inputs.signature
        self._awaited = inspect.iscoroutinefunction(function)
        self._flights = Flights()
        self._places: BoundedCache[tuple[str, ...], _Place] = BoundedCache(KNOWN_INPUTS)
        self._lock = Lock()
        self._counts = {"hits": 0, "misses": 0, "uncached": 0, "errors": 0}

    def cache_info(self) -> CacheInfo:
        with self._lock:
            return CacheInfo(**self._counts)

    def _count(self, what: str) -> None:
        with self._lock:
            self._counts[what] += 1

    # A call that blocks, and one that is awaited

    def call(self, *args: Any, **kwargs: Any) -> Any:
        call = self._asked(args, kwargs)
        if call.place is not None and (found := self._found(call)) is not None:
            return self._hit(call, found)
        steps = self._steps(call)
        step: _Step | _Result = next(steps)
        while not isinstance(step, _Result):
            try:
                outcome = self._do(call, step)
            except BaseException as error:
                step = _thrown(steps, error)
            else:
                step = _sent(steps, outcome)
        return step.given()

    async def call_async(self, *args: Any, **kwargs: Any) -> Any:
        call = self._asked(args, kwargs)
        if call.place is not None and (found := await self._found_later(call)) is not None:
            return self._hit(call, found)
        steps = self._steps(call)
        step: _Step | _Result = next(steps)
        while not isinstance(step, _Result):
            try:
                outcome = await self._do_later(call, step)
            except BaseException as error:
                step = _thrown(steps, error)
            else:
                step = _sent(steps, outcome)
        return step.given()

    def _do(self, call: _Call, step: _Step) -> Any:
        match step:
            case _Find():
                return self._found(call)
            case _Wait(flight):
                return flight.result()
            case _Keep(_, output):
                assert self._cache is not None
                calling = call.calling
                cache = self._cache
                return run(calling.session, lambda: calling.cache.keep(call.key, output, cache))
            case _Run(_, context):
                args, kwargs = self._given(call, context)
                with self._flights.leading(call.flight):
                    return self._function(*args, **kwargs)

    async def _do_later(self, call: _Call, step: _Step) -> Any:
        match step:
            case _Find():
                return await self._found_later(call)
            case _Wait(flight):
                return await asyncio.wrap_future(flight)
            case _Keep(_, output):
                assert self._cache is not None
                calling = call.calling
                keep = partial(calling.cache.keep, call.key, output, self._cache)
                return await run_async(calling.session, keep, slow=False)
            case _Run(_, context):
                args, kwargs = self._given(call, context)
                with self._flights.leading(call.flight):
                    return await self._function(*args, **kwargs)

    # What happens

    def _asked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        inputs = self._inputs.of(args, kwargs)
        place = self._place(inputs) if self._cache is not None and self._host.enabled else None
        return _Call(self._host.calling_now(), args, kwargs, inputs, place, time.perf_counter_ns())

    def _place(self, inputs: dict[str, Any]) -> _Place | None:
        """Inputs of plain words are known again without being written out: hits are all about those. Names are part of
        that: a caller may say them in any order."""
        plain = all(type(value) is str for value in inputs.values())
        words = (*inputs, *inputs.values()) if plain else None
        place = None if words is None else self._places.get(words)
        if place is None:
            try:
                key = cache_key(self._name, self._version, inputs)
            except Uncacheable as reason:
                self._not_kept(reason)
                return None
            hit = Run(self._head, self._name, self._version, 0, True, True, inputs=learnable(inputs))
            place = _Place(key, hit)
            if words is not None and sum(map(len, words)) <= LONGEST_WORDS:
                self._places[words] = place
        return place

    def _given(self, call: _Call, context: Context[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if not self._inputs.takes_context:
            return call.args, call.kwargs
        return self._inputs.with_context(call.inputs, context)

    def _found(self, call: _Call) -> Landed:
        try:
            return call.calling.cache.find(call.key)
        except Exception as error:
            self._failed("read", error)
            return None

    async def _found_later(self, call: _Call) -> Landed:
        if call.calling.session.is_remote:
            return await asyncio.to_thread(self._found, call)
        return self._found(call)

    def _failed(self, what: str, error: Exception) -> None:
        """The cache is there to help: when it cannot, the tool runs as if there were none."""
        self._count("errors")
        log.warning("the cache of %s could not be %s: %s", self._name, what, type(error).__name__)

    def _not_kept(self, reason: Uncacheable) -> None:
        self._count("uncached")
        log.warning("an output of %s was not cached: %s", self._name, reason)

    def _hit(self, call: _Call, kept: Kept) -> Any:
        self._count("hits")
        calling, place = call.calling, call.place
        engine = calling.session.engine_or_none
        if engine is not None and place is not None:
            run = place.run if calling.session_id is None else place.run._replace(session=calling.session_id)
            engine.runs.add_hit(calling.who, run, engine.clock())
        return decode_output(kept)

    def _steps(self, call: _Call) -> _Steps:
        """A miss: wait for whoever runs the same already, else run, keep, and let the others go on."""
        if call.place is None or self._flights.leads(call.flight):
            result, _ = yield from self._run(call)
            return result
        while (flight := self._flights.join(call.flight)) is not None:
            try:
                landed = yield _Wait(flight)
            except Abandoned:
                continue
            except BaseException as error:  # of who waits: cancelled, or interrupted
                return _Result(error=error)
            if landed is not None:
                return _Result(self._hit(call, landed))
            result, _ = yield from self._run(call)
            return result
        left: Landed | Abandoned = Abandoned()
        try:
            found = yield _Find(call)  # the last flight may have landed since the first look
            if found is not None:
                left = found
                return _Result(self._hit(call, found))
            result, left = yield from self._run(call)
            return result
        finally:
            self._flights.land(call.flight, left)

    def _run(self, call: _Call) -> Generator[_Step, Any, tuple[_Result, Landed | Abandoned]]:
        context: Context[Any] = Context(call.calling, partial(self._host.handle_for, self._awaited))
        if self._cache is not None:
            self._count("misses")
        try:
            output = yield _Run(call, context)
        except BaseException as error:
            self._record(call, context, error)
            gone = None if isinstance(error, Exception) else Abandoned()
            return _Result(error=error), gone
        self._record(call, context)
        if call.place is None:
            return _Result(output), None
        kept = self._encoded(call, context, output)
        if kept is not None:
            try:
                yield _Keep(call, kept)
            except TooLarge as error:
                self._not_kept(Uncacheable(error.message))
                kept = None
            except Exception as error:
                self._failed("written", error)
                self._count("uncached")
                kept = None
            except BaseException as error:
                return _Result(error=error), kept
        return _Result(output), kept

    def _encoded(self, call: _Call, context: Context[Any], output: Any) -> Landed:
        try:
            if not context.cacheable:
                raise Uncacheable("the tool asked for it")
            return encode_output(output, call.calling.session.engine.scrub)
        except Uncacheable as reason:
            self._not_kept(reason)
            return None

    def _record(
        self,
        call: _Call,
        context: Context[Any],
        error: BaseException | None = None,
    ) -> None:
        engine = call.calling.session.engine_or_none
        if engine is None:
            return
        run = Run(
            self._head,
            self._name,
            self._version,
            engine.clock(),
            error is None,
            False,
            (time.perf_counter_ns() - call.began_ns) // 1_000,
            learnable(call.inputs),
            tuple(context.findings),
            None if error is None else type(error).__name__,
            call.calling.session_id,
        )
        engine.runs.add(call.calling.who, run)


def _sent(steps: _Steps, outcome: Any) -> _Step | _Result:
    try:
        return steps.send(outcome)
    except StopIteration as done:
        return cast(_Result, done.value)


def _thrown(steps: _Steps, error: BaseException) -> _Step | _Result:
    try:
        return steps.throw(error)
    except StopIteration as done:
        return cast(_Result, done.value)
