"""The command line as an interface of the suite: every call is one `holdfast call`, in this process. A user who is
nothing but their name has the store of the test; everybody else has a token and the server, as HOLDFAST_URL says."""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import Callable
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from functools import cache
from threading import Lock
from typing import Any

import pytest
import typer

from holdfast import Client
from holdfast.entrypoints.cli import commands, run, session
from holdfast.entrypoints.cli.call import _table
from holdfast.entrypoints.python.memory import Memory
from holdfast.vocabularies.answers import error_named
from holdfast.vocabularies.arguments import to_wire
from holdfast.vocabularies.call import Call
from tests.behaviours.served import Host, Served, is_merely_a_user

CALLS = _table()
ONE_OUTPUT = Lock()
"""A process has one; commands that a test gives at once take turns."""
WireRows = Callable[[pytest.MonkeyPatch], list[str]]
"""Says in the surroundings and by options of a command who gives it, and where memory is."""
_built, _get_command = cache(commands.built), cache(typer.main.get_command)
"""Every start of the command reads what it may be told; here once is enough."""


class Typed:
    """A vocabulary whose calls are typed as commands."""

    def __init__(self, own: Any, told: WireRows, sent: set[str], surface: str = "core") -> None:
        self._own = own
        self._told = told
        self._sent = sent
        self._surface = surface

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._own, name)
        if name in CALLS:
            return Typed(value, self._told, self._sent, name)
        call = CALLS[self._surface].get(name)
        return value if call is None else self._typing(call, value)

    def _typing(self, call: Call, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        def typed(*args: Any, **kwargs: Any) -> Any:
            try:
                given = inspect.signature(call.run).bind(None, *args, **kwargs).arguments
            except TypeError:
                return otherwise(*args, **kwargs)
            del given["self"]
            if given.keys() - {field.parameter for field in call.fields} or None in given.values():
                return otherwise(*args, **kwargs)
            self._sent.add(call.name)
            said = json.dumps(to_wire(call.fields, given))
            return call.answer.decode(self._run("call", self._surface, call.name, said))

        return typed

    def _run(self, *arguments: str) -> Any:
        with ONE_OUTPUT, pytest.MonkeyPatch.context() as patch, redirect_stderr(io.StringIO()) as err:
            patch.setattr(commands, "built", _built)
            patch.setattr(typer.main, "get_command", _get_command)
            options = self._told(patch)
            with redirect_stdout(io.StringIO()) as out:
                code = run([*arguments, "--json", *options])
        assert code in (0, 1), err.getvalue()
        told = json.loads(out.getvalue())
        if code == 1:
            raise error_named(told["error"], told["message"])
        return told


class TypedMemory(Served):
    """A memory whose users sit at a terminal."""

    def __init__(self, memory: Memory, host: Host) -> None:
        self.sent: set[str] = set()
        """Names of the calls that were typed."""
        super().__init__(memory, host)

    def _client(self, subject: str, **claims: Any) -> Client:
        if is_merely_a_user(subject, claims):
            return Typed(self._memory.user(subject), _on_the_store(self._memory, subject), self.sent)  # type: ignore[return-value]
        client = super()._client(subject, **claims)
        return Typed(client, _on_the_server(self.url, self.tokens[-1]), self.sent)  # type: ignore[return-value]


def _on_the_store(memory: Memory, subject: str) -> WireRows:
    def told(patch: pytest.MonkeyPatch) -> list[str]:
        patch.setattr(session, "_memory", lambda _: nullcontext(memory))
        return [f"--as={subject}"]

    return told


def _on_the_server(url: str, token: str) -> WireRows:
    def told(patch: pytest.MonkeyPatch) -> list[str]:
        patch.setenv("HOLDFAST_URL", url)
        patch.setenv("HOLDFAST_TOKEN", token)
        return []

    return told
