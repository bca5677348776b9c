"""The context a registered tool runs in: its caller, its inputs, and the `ec` object it may ask for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from holdfast.domain.errors import InvalidField
from holdfast.domain.principal import Principal
from holdfast.domain.run import FINDINGS_A_RUN, is_word
from holdfast.operations.session import Session
from holdfast.vocabularies.cached import CachedCalls

H = TypeVar("H")
R_co = TypeVar("R_co", covariant=True)


class Calling(NamedTuple):
    """Who tools run for right now."""

    who: Principal
    session_id: str | None
    session: Session
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
        return self._calling.session_id

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


EC = "ec"
"""The parameter through which a function is given its context."""


class Inputs:
    def __init__(self, function: Callable[..., Any]) -> None:
        self._whole = inspect.signature(function)
        told = [each for each in self._whole.parameters.values() if each.name != EC]
        self.takes_context = len(told) < len(self._whole.parameters)
        self.signature = self._whole.replace(parameters=told)
        self._positional = tuple(each.name for each in told if each.kind is each.POSITIONAL_OR_KEYWORD)
        self._names = frozenset(each.name for each in told)
        self._defaults = {each.name: each.default for each in told if each.default is not each.empty}
        self._simple = all(each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY) for each in told)

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """As `bind` gives them, at a tenth of its price where arguments are plain; what does not fit it refuses."""
        if self._simple and len(args) <= len(self._positional):
            first = dict(zip(self._positional, args, strict=False))
            inputs = {**self._defaults, **first, **kwargs}
            if inputs.keys() == self._names and not (kwargs.keys() & first.keys()):
                return inputs
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.arguments

    def with_context(self, inputs: dict[str, Any], context: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
        said = {**inputs, EC: context}
        whole: Any = {name: said[name] for name in self._whole.parameters}
        bound = inspect.BoundArguments(self._whole, whole)
        return bound.args, bound.kwargs
