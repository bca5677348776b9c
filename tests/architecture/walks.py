"""Traces which files and functions of ours one call goes through, and where it calls upward through the layers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

PACKAGE = str(Path(__file__).resolve().parents[2] / "src" / "holdfast") + "/"
LAYERS = (
    ("domain",),
    ("disk", "background", "bounded_cache"),
    ("settings",),
    ("contracts",),
    ("text", "crypto", "safety"),
    ("storage",),
    ("recall",),
    ("operations",),
    ("vocabularies",),
    ("wiring",),
    ("entrypoints",),
)
_LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
CALLS = 6
_INNER = ("<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")
"""Parts of the function around them."""


@dataclass
class Walk:
    """The functions one call entered, by file, and its calls from a lower layer to a higher one."""

    functions: dict[tuple[str, str], None] = field(default_factory=dict)
    """In the order in which they were first entered."""
    upward: set[tuple[str, str]] = field(default_factory=set)

    @property
    def files(self) -> set[str]:
        return {file for file, _ in self.functions}

    def report(self) -> str:
        lines = [f"{len(self.files)} files, {len(self.functions)} functions, {len(self.upward)} upward"]
        lines += [f"  {file}: {name}" for file, name in sorted(self.functions)]
        lines += [f"  upward: {caller} -> {callee}" for caller, callee in sorted(self.upward)]
        return "\n".join(lines)


def _place(code: CodeType) -> str | None:
    path = code.co_filename
    return path[len(PACKAGE) :] if path.startswith(PACKAGE) else None


def _level(place: str) -> int:
    return _LEVEL.get(place.split("/")[0].removesuffix(".py"), len(LAYERS))


def _in_the_foreground(thread: str) -> bool:
    """Background work goes on beside a call, whoever made it; the writer's thread does the call's own work."""
    return not thread.startswith("holdfast-") or thread == "holdfast-writer"


class Tracer:
    """Sees every thread that starts while it is installed; records only inside `walk`."""

    def __init__(self) -> None:
        self._walk: Walk | None = None
        self.threads: Callable[[str], bool] = _in_the_foreground

    def __enter__(self) -> Self:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    @contextmanager
    def recording(self) -> Iterator[Walk]:
        self._walk = walk = Walk()
        try:
            yield walk
        finally:
            self._walk = None

    def walk(self, call: Callable[[], object]) -> Walk:
        with self.recording() as walk:
            call()
        return walk

    def smallest(self, call: Callable[[str], object]) -> Walk:
        """The smallest walk of several calls, each with a key of its own: a cache may be filled by any but the last."""
        return min(
            (self.walk(partial(call, f"key {n}")) for n in range(CALLS)), key=lambda walk: len(walk.functions)
        )

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        walk = self._walk
        if walk is None or event != "call" or not self.threads(threading.current_thread().name):
            return
        code = frame.f_code
        place = _place(code)
        if place is None or code.co_name == "<module>":
            return
        if code.co_name not in _INNER:
            walk.functions[place, code.co_qualname] = None
        caller = frame.f_back
        while caller is not None and _place(caller.f_code) is None:
            caller = caller.f_back  # through partial, a comprehension or the standard library
        if caller is not None:
            above = _place(caller.f_code)
            assert above is not None
            if _level(above) < _level(place):
                walk.upward.add((f"{above}:{caller.f_code.co_qualname}", f"{place}:{code.co_qualname}"))
