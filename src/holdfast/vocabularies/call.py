"""The description of a call, at its method. REST routes, tools, the command line and clients all read it here.

class KvCalls(Vocabulary):
    @call(KEPT, writes=True)
    def kv_set(self, key: Annotated[str, KEY], value: Annotated[str, VALUE]) -> Job[bool]:
        "Keeps a text under a key."
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from types import SimpleNamespace
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from holdfast.operations.session import Session
from holdfast.vocabularies.encoding import Answer, Schema
from holdfast.vocabularies.fields import Field

F = TypeVar("F", bound=Callable[..., Any])

_DESCRIPTION = "description_of_call"
_ANNOTATED = "Annotated["
_DEFERRED = ("Job[", "Result[")


@dataclass
class Call:
    run: Callable[..., Any]
    annotations: Mapping[str, Any]
    answer: Answer[Any]
    writes: bool = False
    slow: bool | str = False
    """Computes for milliseconds, so it must not run on the event loop; or the argument that makes it do so."""
    rules: Schema | None = None
    """JSON Schema about several fields together."""
    repeat: Callable[[dict[str, Any], str], None] | None = None
    """Puts an idempotency key among the arguments, where the call itself answers repeated requests."""
    vocabulary: type[Vocabulary] = field(init=False)
    """The class that has the method, set when the class is made."""

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def sentence(self) -> str:
        """The first paragraph of the docstring."""
        return " ".join((self.run.__doc__ or "").partition("\n\n")[0].split())

    def is_slow(self, arguments: Mapping[str, Any]) -> bool:
        return bool(arguments.get(self.slow)) if isinstance(self.slow, str) else self.slow

    def on(self, session: Session, /, **arguments: Any) -> Any:
        """Runs the call for a session."""
        return self.run(self.vocabulary(session), **arguments)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """In the order of the parameters. Evaluated at first use, which local calls never need."""
        hints = get_type_hints(
            SimpleNamespace(__annotations__=self.annotations), self.run.__globals__, include_extras=True
        )
        return tuple(
            one.at(parameter, get_args(hint)[0])
            for parameter, hint in hints.items()
            if get_origin(hint) is Annotated
            for one in get_args(hint)[1:]
        )


def call(
    answer: Answer[Any],
    *,
    writes: bool = False,
    slow: bool | str = False,
    rules: Schema | None = None,
    repeat: Callable[[dict[str, Any], str], None] | None = None,
) -> Callable[[F], F]:
    """Describes a method of a vocabulary. The method keeps its plain types alone, which `help()` shows."""

    def describe(method: F) -> F:
        annotations = method.__annotations__
        setattr(method, _DESCRIPTION, Call(method, annotations, answer, writes, slow, rules, repeat))
        method.__annotations__ = {name: _plain(annotation) for name, annotation in annotations.items()}
        return method

    return describe


class _Shown(str):
    """An annotation that `help()` shows without quotes."""

    __repr__ = str.__str__


def _plain(annotation: Any) -> Any:
    """The type in `Annotated[type, field]` or `Job[type]`, which is text where annotations are not evaluated."""
    if not isinstance(annotation, str):
        return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    if annotation.startswith(_DEFERRED):
        return _Shown(annotation[annotation.index("[") + 1 : -1])
    if not annotation.startswith(_ANNOTATED):
        return _Shown(annotation)
    depth = 0
    for position, character in enumerate(annotation):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 1:
            return _Shown(annotation[len(_ANNOTATED) : position])
    raise TypeError(f"There is no field in {annotation}.")


def call_of(method: Callable[..., Any]) -> Call:
    description: Call = getattr(method, _DESCRIPTION)
    return description


class Vocabulary:
    """Calls that belong together, made for the session of one request."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __init_subclass__(cls) -> None:
        for described in cls.calls().values():
            described.vocabulary = cls

    @classmethod
    def calls(cls) -> Mapping[str, Call]:
        """The described calls by name."""
        return {name: call_of(method) for name, method in vars(cls).items() if hasattr(method, _DESCRIPTION)}


def with_key(arguments: dict[str, Any], key: str) -> None:
    arguments["idempotency_key"] = key


def with_key_each(arguments: dict[str, Any], key: str) -> None:
    """Gives each row a key of its own, derived from the key of the request."""
    for number, row in enumerate(arguments["entries"] if isinstance(arguments["entries"], list) else ()):
        if isinstance(row, dict):
            row.setdefault("idempotency_key", f"{sha256(key.encode()).hexdigest()}/{number}")
