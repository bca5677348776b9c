"""The command line as a door of the behaviour suite: a call of a user is one `holdfast call`, in this process, on the
store of the test. Who a command cannot be (an agent, a service, a user with roles) is served by the Python door."""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import Callable
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from threading import Lock
from typing import Any

import pytest

from holdfast.entrypoints.cli import door, run
from holdfast.entrypoints.cli.calling import _table
from holdfast.entrypoints.python import Memory
from holdfast.surfaces.wire.answers import error_named
from holdfast.surfaces.wire.call import Call
from holdfast.surfaces.wire.fields import said_by

CALLS = _table()
ONE_OUTPUT = Lock()
"""A process has one; commands that a test gives at once take turns."""


class Typed:
    """A vocabulary whose calls are typed as commands."""

    def __init__(self, own: Any, memory: Memory, subject: str, surface: str = "core") -> None:
        self._own = own
        self._memory = memory
        self._subject = subject
        self._surface = surface

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._own, name)
        if name in CALLS:
            return Typed(value, self._memory, self._subject, name)
        call = CALLS[self._surface].get(name)
        return value if call is None else self._typing(call, value)

    def _typing(self, call: Call, in_python: Callable[..., Any]) -> Callable[..., Any]:
        def typed(*args: Any, **kwargs: Any) -> Any:
            try:
                given = inspect.signature(call.run).bind(None, *args, **kwargs).arguments
            except TypeError:
                return in_python(*args, **kwargs)
            del given["self"]
            if given.keys() - {field.parameter for field in call.fields} or None in given.values():
                return in_python(*args, **kwargs)
            said = json.dumps(said_by(call.fields, given))
            return call.answer.read(self._run("call", self._surface, call.name, said))

        return typed

    def _run(self, *arguments: str) -> Any:
        with ONE_OUTPUT, pytest.MonkeyPatch.context() as patch, redirect_stderr(io.StringIO()) as err:
            patch.setattr(door, "_memory", lambda _: nullcontext(self._memory))
            with redirect_stdout(io.StringIO()) as out:
                code = run([*arguments, "--json", f"--as={self._subject}"])
        assert code in (0, 1), err.getvalue()
        told = json.loads(out.getvalue())
        if code == 1:
            raise error_named(told["error"], told["message"])
        return told


class TypedMemory:
    """A memory whose users sit at a terminal."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def user(self, id: str, **more: Any) -> Any:
        own = self._memory.user(id, **more)
        return own if more or not id else Typed(own, self._memory, id)
