"""Every transport refuses with the code and the words of Python, and writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from holdfast.domain.errors import HoldfastError
from holdfast.entrypoints.http.routes import BASE, ROUTES
from holdfast.entrypoints.mcp.tools import NAMED, Tool
from tests.behaviours.interface import HTTP, Interface
from tests.behaviours.looking import unchanged
from tests.transports.names import AGENTS, TRANSPORTS

REFUSED: dict[str, Callable[[Any], object]] = {
    "missing_value": lambda alice: alice.remember(" "),
    "missing_key": lambda alice: alice.facts.store("", "x"),
    "invalid_field": lambda alice: alice.recall("x", limit=0),
    "invalid_key": lambda alice: alice.remember("x", key="a\nb"),
    "invalid_name": lambda alice: alice.files.read_user_memory("../x"),
    "invalid_scope": lambda alice: alice.forget("everything"),
    "ttl_too_short": lambda alice: alice.remember("x", ttl=0),
    "ttl_too_long": lambda alice: alice.facts.store("k", "x", ttl_seconds=400 * 86_400),
    "reserved_category": lambda alice: alice.facts.store("k", "x", category="pack_history"),
    "reserved_key": lambda alice: alice.facts.store("pack_history/a", "x"),
    "too_large": lambda alice: alice.remember("x" * 65_537),
    "access_denied": lambda alice: alice.remember("x", space="user:nobody"),
    "not_found": lambda alice: alice.stores.memory("edit", path="/memories/none", old_str="a", new_str="b"),
    "edit_no_match": lambda alice: alice.stores.memory(
        "edit", path="/memories/file", old_str="a", new_str="b"
    ),
    "precondition_failed": lambda alice: alice.edit("k", text="y", expected_revision=7),
    "conflict": lambda alice: alice.rename("k", new_key="taken"),
    "invalid_level": lambda alice: alice.share("user:bob", level="all"),
}


def refusals(interface: Interface) -> dict[str, tuple[str, str]]:
    memory = interface.open()
    alice = memory.user("alice")
    alice.remember("text", key="k")
    alice.remember("text", key="taken")
    alice.stores.memory("create", path="/memories/file", content="text")
    told = {}
    with unchanged(memory):
        for expected, call in REFUSED.items():
            with pytest.raises(HoldfastError) as caught:
                call(alice)
            told[expected] = (caught.value.code, caught.value.message)
    return told


@pytest.mark.parametrize("interface", [HTTP, *TRANSPORTS], indirect=True)
def test_a_refusal_is_told_by_its_code_and_in_the_words_of_python(
    interface: Interface, python: Interface
) -> None:
    told = refusals(interface)
    assert {expected: code for expected, (code, _) in told.items()} == {code: code for code in REFUSED}
    assert told == refusals(python)


WRONG = ({"wrong": [1]}, "nul\x00", -1)
"""No field of any tool takes the first; what the others are refused for depends on the field."""
POSTED = {
    (surface.name, tool.name): (tool, route.path)
    for surface in NAMED.values()
    for tool in surface.tools
    for route in ROUTES
    if route.call is tool.call and route.method == "POST"
}


@pytest.mark.parametrize("named", POSTED, ids=" ".join)
@pytest.mark.parametrize("interface", AGENTS, indirect=True)
def test_every_field_of_a_tool_is_refused_with_the_code_of_rest(
    interface: Interface, named: tuple[str, str]
) -> None:
    surface, (tool, path) = named[0], POSTED[named]
    memory: Any = interface.open()
    alice: Any = memory.user("alice", teams=("platform",))
    headers = {"authorization": f"Bearer {memory.tokens[-1]}"}
    with httpx2.Client(base_url=f"{memory.url}{BASE}/", headers=headers) as rest:
        for field in tool.fields:
            for wrong in WRONG:
                said = {field.name: wrong}
                expected = rest.post(path, json=said).json()
                code = expected.get("code", expected.get("error")) if isinstance(expected, dict) else None
                assert code_of(alice.tools, surface, tool, said) == code, said


def code_of(tools: Any, surface: str, tool: Tool, said: dict[str, Any]) -> str | None:
    try:
        tools.call(surface, tool, said)
    except HoldfastError as error:
        return error.code
    return None
