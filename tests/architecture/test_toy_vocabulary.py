"""A new vocabulary is one class with described methods and a row in each table, and every interface has it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "holdfast"
MOST_FILES = 5
VOCABULARY = '''
"""Toys, each with a color."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from holdfast.contracts.storage import Result
from holdfast.domain.errors import InvalidKey, MissingKey, NotFound
from holdfast.vocabularies.call import Vocabulary, call
from holdfast.vocabularies.encoding import record, single
from holdfast.vocabularies.fields import NAME, Field
from holdfast.vocabularies.kv import KvCalls

TOY = Field("The toy.", "ball", missing=MissingKey, wrong=InvalidKey, bounds=NAME)


@dataclass(frozen=True, slots=True)
class Toy:
    name: str
    color: str


class ToyCalls(Vocabulary):
    @call(single("ToyKept", "kept", bool), writes=True)
    def put(self, name: Annotated[str, TOY], *, color: Annotated[str, Field("Its color.")] = "red") -> Result[bool]:
        """Puts a toy on the shelf."""
        return KvCalls(self._session).kv_set(f"toys/{name}", color)

    @call(record(Toy))
    def get(self, name: Annotated[str, TOY]) -> Toy:
        """A toy by its name."""
        if color := KvCalls(self._session).kv_get(f"toys/{name}"):
            return Toy(name, color)
        raise NotFound

    @call(single("ToyGone", "gone", bool), writes=True)
    def drop(self, name: Annotated[str, TOY]) -> Result[bool]:
        """Takes a toy from the shelf."""
        return KvCalls(self._session).kv_delete(f"toys/{name}")
'''
KV = "from holdfast.vocabularies.kv import KvCalls\n"
IMPORTED = (KV, f"{KV}from holdfast.vocabularies.toys import ToyCalls\n")
ROUTE = '    Route("kv", "PUT", "kv/{key}", KvCalls.kv_set),\n'
ROUTES = """    Route("toys", "PUT", "toys/{name}", ToyCalls.put),
    Route("toys", "GET", "toys/{name}", ToyCalls.get),
    Route("toys", "DELETE", "toys/{name}", ToyCalls.drop),
"""
SURFACE = 'KV = Surface(\n    "kv",\n    (\n'
FACADE = "class Kv(Facade):\n"
TOYS = """class Toys(Facade):
    put = call(ToyCalls.put)
    get = call(ToyCalls.get)
    drop = call(ToyCalls.drop)


"""
REGISTERED = "        self.kv = Kv(transport)\n"
CHANGES = {
    "entrypoints/http/routes.py": (IMPORTED, (ROUTE, ROUTE + ROUTES)),
    "entrypoints/mcp/tools.py": (
        IMPORTED,
        (SURFACE, f'{SURFACE}        Tool("toy_get", "", ToyCalls.get, "A toy.", ("name",)),\n'),
    ),
    "entrypoints/facade.py": (
        IMPORTED,
        (FACADE, TOYS + FACADE),
        (REGISTERED, f"{REGISTERED}        self.toys = Toys(transport)\n"),
    ),
}
"""The text in each file, and what a developer would make of it."""
USE = """
from holdfast.entrypoints.http.openapi import document
from holdfast.entrypoints.mcp.tools import SURFACES
from tests.http.serving import serving

with serving() as service:
    toys = service.memory.user("alice").toys
    assert toys.put("ball", color="blue") is True
    assert toys.get("ball").color == "blue"
    assert service.ask("GET", "toys/ball").json() == {"name": "ball", "color": "blue"}
    assert service.send("toys/kite", {"color": "green"}, "PUT").json() == {"kept": True}
    assert service.send("toys/kite", {"colour": "green"}, "PUT").status_code == 400
    assert service.ask("DELETE", "toys/kite").json() == {"gone": True}
    assert service.ask("GET", "toys/kite").status_code == 404
    assert document("1")["components"]["schemas"]["Toy"]["required"] == ["name", "color"]
    assert "toy_get" in {tool.name for tool in SURFACES["kv"].tools}
    print("played")
"""


def test_a_vocabulary_of_three_calls_is_five_source_files(tmp_path: Path) -> None:
    package = tmp_path / "holdfast"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "vocabularies" / "toys.py").write_text(VOCABULARY, encoding="utf-8")
    for name, changes in CHANGES.items():
        text = (package / name).read_text(encoding="utf-8")
        for before, after in changes:
            assert before in text, f"{name} has no longer {before!r}"
            text = text.replace(before, after, 1)
        (package / name).write_text(text, encoding="utf-8")
    played = subprocess.run(
        [sys.executable, "-c", USE],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert played.stdout == "played\n", played.stderr
    assert 1 + len(CHANGES) <= MOST_FILES
