"""docs/architecture.md tells the way of a call as it is: its files are entered, in that order, and its names exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.recall.embed_pending import embed_pending
from tests.architecture.walks import Tracer, Walk

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "holdfast"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
EMBEDDER = "tests.behaviours.embedders:sensible"
MOST_FILES = 8

STEP = re.compile(r"^\| \d+ \| `(?P<file>[\w/.]+)` \| `(?P<function>[\w.]+)` \|", re.M)
FILE = re.compile(r"`(?P<file>(?:\w+/)*\w+\.py)`")
FOLDER = re.compile(r"`(?P<folder>(?:\w+/)+)`")

Spine = list[tuple[str, str]]


def page() -> str:
    return (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def written() -> str:
    """The page without its generated tables."""
    return re.sub(r"<!-- generated: .*?<!-- end -->", "", page(), flags=re.S)


def spine(heading: str) -> Spine:
    section = page().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [(step["file"], step["function"]) for step in STEP.finditer(section)]


def assert_goes_through(walk: Walk, expected: Spine) -> None:
    """The walk enters the functions of the spine, each for the first time after the one before."""
    entered = [(file, name.partition(".<locals>")[0]) for file, name in walk.functions]
    assert 1 < len(expected) <= MOST_FILES
    assert [step for step in expected if step not in entered] == []
    assert sorted(expected, key=entered.index) == expected


@pytest.fixture
def tracer() -> Iterator[Tracer]:
    with Tracer() as tracer:
        yield tracer


@pytest.fixture
def memory(tracer: Tracer) -> Iterator[holdfast.Memory]:
    """Without the background thread: the tests embed."""
    with holdfast.open(":memory:", key="ephemeral", sweep_seconds=0, embedder=EMBEDDER) as memory:
        worker = memory.running._embedding_worker
        assert worker is not None
        worker.stop()
        memory.user("alice").remember("Deploys go through Konflux", key="deploy")
        embed(memory)
        yield memory


def embed(memory: holdfast.Memory) -> None:
    engine = memory.running.opened.engine
    assert engine is not None
    assert embed_pending(engine.index) == 1


def test_a_write_goes_through_the_files_of_its_spine(tracer: Tracer, memory: holdfast.Memory) -> None:
    alice = memory.user("alice")
    walk = tracer.walk(lambda: alice.remember("x", key="k"))
    assert_goes_through(walk, spine("How a write goes down"))


def test_a_recall_goes_through_the_files_of_its_spine(tracer: Tracer, memory: holdfast.Memory) -> None:
    alice = memory.user("alice")
    walk = tracer.walk(lambda: alice.recall("deploys"))
    assert_goes_through(walk, spine("How a recall goes down"))


def test_embedding_goes_through_the_files_of_its_spine(tracer: Tracer, memory: holdfast.Memory) -> None:
    memory.user("alice").remember("Tea is at four")
    walk = tracer.walk(lambda: embed(memory))
    assert_goes_through(walk, spine("How an entry is embedded"))


def test_every_file_and_folder_that_the_page_names_exists() -> None:
    named = [found["folder"] for found in FOLDER.finditer(written())]
    named += [found["file"] for found in FILE.finditer(written())]
    homes = (PACKAGE, ROOT, PACKAGE / "recall" / "embedding")
    assert [name for name in named if not any((home / name).exists() for home in homes)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_source_file_that_any_page_names_exists(page: Path) -> None:
    named = {found["file"] for found in FILE.finditer(page.read_text(encoding="utf-8"))}
    paths = {name for name in named if "/" in name}
    assert sorted(name for name in paths if not any((home / name).exists() for home in (PACKAGE, ROOT))) == []


def test_every_name_of_the_code_that_the_page_uses_exists() -> None:
    defined: set[str] = set()
    for source in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                methods = [child.name for child in node.body if isinstance(child, ast.FunctionDef)]
                assigned = [child.targets[0] for child in node.body if isinstance(child, ast.Assign)]
                names = [*methods, *(target.id for target in assigned if isinstance(target, ast.Name))]
                defined |= {node.name, *(f"{node.name}.{name}" for name in names)}
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                defined.add(node.id)
    used = set(re.findall(r"`([A-Z]\w+(?:\.\w+)?)`", written()))
    assert used
    assert used - defined == {"CODES"}  # of a test
