"""Who a tool runs for, and what it is given while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from holdfast.domain.errors import InvalidField
from holdfast.domain.principal import Principal
from holdfast.domain.run import FINDINGS_A_RUN, is_word
from holdfast.surfaces.cached import CachedCalls
from holdfast.surfaces.seat import Seat

H = TypeVar("H")
R_co = TypeVar("R_co", covariant=True)


class Calling(NamedTuple):
    """Who tools run for right now."""

    who: Principal
    session: str | None
    seat: Seat
    cache: CachedCalls


class Context(Generic[H]):
    """What a tool may use while it runs: its caller's memory, and a word on its own result."""

    def __init__(self, calling: Calling, handle: Callable[[Calling], H | None]) -> None:
        self._calling = calling
        self._handle = handle
        self.cacheable = True
        self.findings: list[str] = []

    @property
    def subject(self) -> str:
        return self._calling.who.id

    @property
    def session(self) -> str | None:
        return self._calling.session

    @cached_property
    def memory(self) -> H | None:
        """What tool code keeps for the caller; None when memory is off."""
        return self._handle(self._calling)

    def do_not_cache(self) -> None:
        """This output is for this call alone."""
        self.cacheable = False

    def finding(self, word: str) -> None:
        """Something this run came upon, in one short word: `missing-title`. The most common ones are in my-defaults."""
        if not is_word(word):
            raise InvalidField("A finding is one short printable word, such as `missing-title`.")
        if len(self.findings) < FINDINGS_A_RUN:
            self.findings.append(word)


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What became of the calls of a tool in this process."""

    hits: int = 0
    misses: int = 0
    uncached: int = 0
    """Outputs that were not kept, each logged with its reason."""
    errors: int = 0
    """Times the cache itself failed; the tool ran all the same."""


class Tool(Protocol[R_co]):
    """A registered function: called as before, but without its `ec`."""

    def __call__(self, *args: Any, **kwargs: Any) -> R_co: ...

    def cache_info(self) -> CacheInfo: ...
