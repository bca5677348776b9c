"""Tools and pipelines of the host program, as it registers them, and who they run for."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cached_property, partial, update_wrapper
from typing import Any, TypeVar, cast

from holdfast.domain.errors import InvalidField
from holdfast.domain.principal import Caller, Principal, PrincipalKind, check_subject, principal
from holdfast.domain.run import PIPELINE_RUNS, TOOL_RUNS
from holdfast.entrypoints.doors.calling import Calling, Tool
from holdfast.entrypoints.doors.handle import Handle
from holdfast.entrypoints.doors.registered import Registered
from holdfast.entrypoints.opening import Running
from holdfast.surfaces.cached import Cache, CachedCalls, check_cache, check_name
from holdfast.surfaces.seat import Seat

R = TypeVar("R")


class Toolbox:
    """What a memory knows of the tools of its host: who they run for, and how they are given a handle."""

    def __init__(self, running: Running, handle: Callable[[Seat, Principal, str | None], Any]) -> None:
        self._running = running
        self._handle = handle
        self._nobody = self.made_out("", None)
        self._calling: ContextVar[Calling] = ContextVar("holdfast_calling", default=self._nobody)

    @property
    def enabled(self) -> bool:
        return self._running.enabled

    def made_out(self, subject: str, session: str | None) -> Calling:
        who = principal(PrincipalKind.USER, subject)
        named = None if session is None else check_subject("session", session) or None
        seat = self._running.seat(Caller(who, door="handler"))
        return Calling(who, named, seat, CachedCalls(seat))

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
        return kind(calling.seat, calling.who, calling.session)

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
    _handle: Callable[[Seat, Principal, str | None], Any]

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
