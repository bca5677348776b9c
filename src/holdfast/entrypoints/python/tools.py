"""Tools and pipelines that the host program registers: cached, recorded, run for a caller."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cached_property, partial, update_wrapper
from threading import Lock
from typing import Any, NamedTuple, TypeVar, cast

from holdfast.bounded_cache import BoundedCache
from holdfast.domain.errors import InvalidField, TooLarge
from holdfast.domain.principal import Caller, Principal, PrincipalKind, check_subject, principal
from holdfast.domain.run import PIPELINE_RUNS, TOOL_RUNS, Run, learnable
from holdfast.entrypoints.python.local import run, run_async
from holdfast.entrypoints.python.running import Running
from holdfast.entrypoints.python.tool_context import (
    Abandoned,
    CacheInfo,
    Flights,
    Handle,
    Inputs,
    Landed,
    Tool,
    ToolCaller,
    ToolContext,
)
from holdfast.operations.session import Session
from holdfast.vocabularies.cached import (
    Cache,
    CachedCalls,
    StoredOutput,
    Uncacheable,
    cache_key,
    check_cache,
    check_name,
    decode_output,
    encode_output,
)

R = TypeVar("R")


class Toolbox:
    """The caller that the tools of a memory run for, and the handles that they get."""

    def __init__(self, running: Running, handle: Callable[[Session, Principal, str | None], Any]) -> None:
        self._running = running
        self._handle = handle
        nobody = self._tool_caller("", None)
        self._caller: ContextVar[ToolCaller] = ContextVar("holdfast_tool_caller", default=nobody)

    @property
    def enabled(self) -> bool:
        return self._running.enabled

    def _tool_caller(self, subject: str, session_id: str | None) -> ToolCaller:
        who = principal(PrincipalKind.USER, subject)
        named = None if session_id is None else check_subject("session", session_id) or None
        session = self._running.session(Caller(who, door="handler"))
        return ToolCaller(who, named, session, CachedCalls(session))

    def caller(self) -> ToolCaller:
        return self._caller.get()

    @contextmanager
    def acting_for(self, subject: str, session: str | None) -> Iterator[None]:
        token = self._caller.set(self._tool_caller(subject, session))
        try:
            yield
        finally:
            self._caller.reset(token)

    def handle_for(self, awaited: bool, caller: ToolCaller) -> Any:
        """Returns the memory's own kind of handle; a blocking one for a function that cannot await."""
        if not self.enabled:
            return None
        kind = self._handle if awaited else Handle
        return kind(caller.session, caller.who, caller.session_id)

    def registered(
        self, head: str, name: str, version: str, cache: Cache | None, function: Callable[..., R]
    ) -> Tool[R]:
        if not callable(function):
            raise InvalidField("Register a function: @memory.tool(name) stands before a `def`.")
        self._running.record()
        tool = Registered(self, head, name, version, cache, function)
        if inspect.iscoroutinefunction(function):

            async def awaited(*args: Any, **kwargs: Any) -> Any:
                return await tool.call_async(*args, **kwargs)

            wrapper: Any = awaited
        else:
            # A plain function, so that it becomes a method in a class.
            def blocking(*args: Any, **kwargs: Any) -> Any:
                return tool.call(*args, **kwargs)

            wrapper = blocking
        update_wrapper(wrapper, function)
        wrapper.__signature__ = tool.signature
        wrapper.cache_info = tool.cache_info
        return cast("Tool[R]", wrapper)


class Tooling:
    """Registration of tools, the same for both memories."""

    _running: Running
    _handle: Callable[[Session, Principal, str | None], Any]

    @cached_property
    def _toolbox(self) -> Toolbox:
        return Toolbox(self._running, type(self)._handle)

    def tool(
        self, name: str, *, version: str = "1", cache: Cache | None = None
    ) -> Callable[[Callable[..., R]], Tool[R]]:
        """Registers a function, blocking or awaited, and records its runs. With a `cache`, an input that was answered
        before is answered from the caller's own cache. A parameter named `ec` receives the context:
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
        """Names the caller of tools inside a `with` block; outside of one they run for `unknown`. Tasks inherit the
        caller, threads that you start yourself do not."""
        return self._toolbox.acting_for(subject, session)


KNOWN_INPUTS = 4_096
LONGEST_WORDS = 256
"""Inputs of a tool whose cache key is remembered, and the most characters of each."""

log = logging.getLogger("holdfast.tools")


class _Call(NamedTuple):
    """One call of a registered function."""

    caller: ToolCaller
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: dict[str, Any]
    """All arguments by name, with the defaults."""
    slot: _Slot | None
    """None when the output cannot be cached."""
    began_ns: int

    @property
    def key(self) -> str:
        return "" if self.slot is None else self.slot.key

    @property
    def flight(self) -> tuple[Principal, str]:
        return self.caller.who, self.key


class _Slot(NamedTuple):
    """The key of an output in the cache, and the run that a hit records, without its time and session."""

    key: str
    run: Run


class _Result(NamedTuple):
    """The output or the error of a run. A coroutine may not raise StopIteration, so it returns every error."""

    output: Any = None
    error: BaseException | None = None

    def unwrap(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.output


class Registered:
    """A function with its name, version and cache. One coroutine carries out a call; that of a blocking function never
    suspends, so it needs no event loop."""

    def __init__(
        self, toolbox: Toolbox, head: str, name: str, version: str, cache: Cache | None, function: Any
    ) -> None:
        self._toolbox = toolbox
        self._head = head
        self._name = name
        self._version = version
        self._cache = cache
        self._function = function
        self._inputs = Inputs(function)
        self.signature = self._inputs.signature
        self._awaited = inspect.iscoroutinefunction(function)
        self._flights = Flights()
        self._slots: BoundedCache[tuple[str, ...], _Slot] = BoundedCache(KNOWN_INPUTS)
        self._lock = Lock()
        self._counts = {"hits": 0, "misses": 0, "uncached": 0, "errors": 0}

    def cache_info(self) -> CacheInfo:
        with self._lock:
            return CacheInfo(**self._counts)

    def _count(self, what: str) -> None:
        with self._lock:
            self._counts[what] += 1

    def call(self, *args: Any, **kwargs: Any) -> Any:
        call = self._begin(args, kwargs)
        if call.slot is not None and (found := self._found(call)) is not None:
            return self._hit(call, found)
        try:
            self._miss(call).send(None)
        except StopIteration as done:
            return cast(_Result, done.value).unwrap()
        raise AssertionError("a blocking function never suspends")

    async def call_async(self, *args: Any, **kwargs: Any) -> Any:
        call = self._begin(args, kwargs)
        if call.slot is not None and (found := await self._look_up(call)) is not None:
            return self._hit(call, found)
        return (await self._miss(call)).unwrap()

    def _begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        inputs = self._inputs.of(args, kwargs)
        slot = self._slot(inputs) if self._cache is not None and self._toolbox.enabled else None
        return _Call(self._toolbox.caller(), args, kwargs, inputs, slot, time.perf_counter_ns())

    def _slot(self, inputs: dict[str, Any]) -> _Slot | None:
        """Returns the slot of an output, remembered for inputs of short texts. Most hits have such inputs. Names are
        part of the memo key, because arguments come in any order."""
        plain = all(type(value) is str for value in inputs.values())
        words = (*inputs, *inputs.values()) if plain else None
        slot = None if words is None else self._slots.get(words)
        if slot is None:
            try:
                key = cache_key(self._name, self._version, inputs)
            except Uncacheable as reason:
                self._not_kept(reason)
                return None
            hit = Run(self._head, self._name, self._version, 0, True, True, inputs=learnable(inputs))
            slot = _Slot(key, hit)
            if words is not None and sum(map(len, words)) <= LONGEST_WORDS:
                self._slots[words] = slot
        return slot

    def _arguments(self, call: _Call, context: ToolContext[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if not self._inputs.takes_context:
            return call.args, call.kwargs
        return self._inputs.with_context(call.inputs, context)

    def _found(self, call: _Call) -> Landed:
        try:
            return call.caller.cache.find(call.key)
        except Exception as error:
            self._failed("read", error)
            return None

    async def _look_up(self, call: _Call) -> Landed:
        if self._awaited and call.caller.session.is_remote:
            return await asyncio.to_thread(self._found, call)
        return self._found(call)

    def _failed(self, what: str, error: Exception) -> None:
        """Counts and logs a failure of the cache; the tool runs as if there were none."""
        self._count("errors")
        log.warning("the cache of %s could not be %s: %s", self._name, what, type(error).__name__)

    def _not_kept(self, reason: Uncacheable) -> None:
        self._count("uncached")
        log.warning("an output of %s was not cached: %s", self._name, reason)

    def _hit(self, call: _Call, kept: StoredOutput) -> Any:
        self._count("hits")
        caller, slot = call.caller, call.slot
        engine = caller.session.engine_or_none
        if engine is not None and slot is not None:
            run = slot.run if caller.session_id is None else slot.run._replace(session=caller.session_id)
            engine.runs.add_hit(caller.who, run, engine.clock())
        return decode_output(kept)

    async def _miss(self, call: _Call) -> _Result:
        """Waits for a concurrent run with equal input, or else runs the function and caches the output."""
        if call.slot is None or self._flights.leads(call.flight):
            return (await self._run(call))[0]
        while (flight := self._flights.join(call.flight)) is not None:
            try:
                landed = await asyncio.wrap_future(flight) if self._awaited else flight.result()
            except Abandoned:
                continue
            if landed is not None:
                return _Result(self._hit(call, landed))
            return (await self._run(call))[0]
        left: Landed | Abandoned = Abandoned()
        try:
            found = await self._look_up(call)  # the last flight may have landed since the first look
            if found is not None:
                left = found
                return _Result(self._hit(call, found))
            result, left = await self._run(call)
            return result
        finally:
            self._flights.land(call.flight, left)

    async def _run(self, call: _Call) -> tuple[_Result, Landed | Abandoned]:
        context: ToolContext[Any] = ToolContext(call.caller, partial(self._toolbox.handle_for, self._awaited))
        if self._cache is not None:
            self._count("misses")
        try:
            args, kwargs = self._arguments(call, context)
            with self._flights.leading(call.flight):
                output = self._function(*args, **kwargs)
                if self._awaited:
                    output = await output
        except BaseException as error:
            self._record(call, context, error)
            return _Result(error=error), None if isinstance(error, Exception) else Abandoned()
        self._record(call, context)
        if call.slot is None:
            return _Result(output), None
        kept = self._encoded(call, context, output)
        if kept is None:
            return _Result(output), None
        try:
            await self._keep(call, kept)
        except TooLarge as error:
            self._not_kept(Uncacheable(error.message))
            return _Result(output), None
        except Exception as error:
            self._failed("written", error)
            self._count("uncached")
            return _Result(output), None
        except BaseException as error:
            return _Result(error=error), kept
        return _Result(output), kept

    async def _keep(self, call: _Call, output: StoredOutput) -> None:
        assert self._cache is not None
        keep = partial(call.caller.cache.keep, call.key, output, self._cache)
        if self._awaited:
            await run_async(call.caller.session, keep, slow=False)
        else:
            run(call.caller.session, keep)

    def _encoded(self, call: _Call, context: ToolContext[Any], output: Any) -> Landed:
        try:
            if not context.cacheable:
                raise Uncacheable("the tool asked for it")
            return encode_output(output, call.caller.session.engine.scrub)
        except Uncacheable as reason:
            self._not_kept(reason)
            return None

    def _record(
        self,
        call: _Call,
        context: ToolContext[Any],
        error: BaseException | None = None,
    ) -> None:
        engine = call.caller.session.engine_or_none
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
            call.caller.session_id,
        )
        engine.runs.add(call.caller.who, run)
