"""What a program imports from `holdfast`: every name is there, type-checks, is documented and reads well in a shell."""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

import holdfast
from holdfast.domain.access import Level
from holdfast.domain.partition import MODEL_VISIBLE
from holdfast.entrypoints.facade import Own
from holdfast.vocabularies.call import call_of

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "architecture" / "typed_program.py"
EXPLAINED = (Own.remember, Own.get, Own.list, Own.recall, holdfast.open)


def test_every_public_name_is_there_and_no_other_is_promised_to_type_checkers() -> None:
    tree = ast.parse(Path(str(holdfast.__file__)).read_text(encoding="utf-8"))
    [checked] = [node for node in tree.body if isinstance(node, ast.If)]
    promised = [name.name for node in checked.body if isinstance(node, ast.ImportFrom) for name in node.names]
    assert sorted(promised) == sorted(holdfast.__all__)
    assert set(holdfast.__all__) <= set(dir(holdfast))
    for name in holdfast.__all__:
        assert getattr(holdfast, name) is not None
    with pytest.raises(AttributeError):
        _ = holdfast.Nothing


def test_every_public_name_has_a_line_in_the_python_page() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert [
        name for name in holdfast.__all__ if not re.search(rf"^\| `{name}` \| \S.{{5,}} \|$", page, re.M)
    ] == []


def test_names_that_calls_take_are_those_that_are_checked() -> None:
    assert get_args(holdfast.LevelName) == tuple(level.label for level in Level)
    assert get_args(holdfast.PartitionName) == tuple(partition.label for partition in MODEL_VISIBLE)
    [source] = [field for field in call_of(Own.remember).fields if field.name == "source"]
    assert source.bounds == {"enum": list(get_args(holdfast.SourceName))}


@pytest.mark.slow
def test_a_program_with_the_public_names_type_checks_strictly(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.read_text(encoding="utf-8"), encoding="utf-8")
    checked = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--follow-imports=silent",
            "--cache-dir",
            str(tmp_path / "cache"),
            str(program),
        ],
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("call", EXPLAINED, ids=lambda call: call.__name__)
def test_the_help_of_a_call_explains_every_argument(call: Callable[..., Any]) -> None:
    shown = pydoc.plain(pydoc.render_doc(call))
    arguments = re.findall(r"^ {8}(\w+): \S", shown.partition("Args:")[2], re.M)
    assert arguments == [
        name for name in inspect.signature(call).parameters if name not in ("self", "idempotency_key")
    ]


def test_the_help_of_a_call_shows_the_types_it_takes_and_gives() -> None:
    shown = pydoc.plain(pydoc.render_doc(Own.remember))
    assert "key: str | None = None" in shown
    assert "-> Remembered" in shown


def test_the_help_of_open_has_its_name() -> None:
    assert pydoc.plain(pydoc.render_doc(holdfast.open)).splitlines()[2].startswith("open(where")


def test_what_a_call_answers_shows_itself_in_one_line() -> None:
    with holdfast.open(":memory:", key="5e" * 32, embedder="none") as memory:
        alice = memory.user("alice")
        kept = alice.remember("The kettle\nis broken, and has been since the end of April", key="kettle")
        alice.remember("x", key="k", namespace="a")
        cut = r"key='kettle', text='The kettle\nis broken, and has been since…', revision=1"
        assert repr(kept) == f"Remembered(key='kettle', revision=1, created=True, id='{kept.id}')"
        assert repr(alice.get("kettle")) == f"Entry({cut})"
        assert repr(alice.get("k", namespace="a")) == "Entry(key='k', namespace='a', text='x', revision=1)"
        [hit] = alice.recall("kettle")
        assert repr(hit) == f"Hit({cut}, score={hit.score:.3g})"
        assert repr(alice.list(limit=1)) == "Page(1 entry, more=False)"
        assert repr(alice.edit("kettle", text="Mended")) == "Edited(key='kettle', text='Mended', revision=2)"
        assert repr(alice.history("kettle")[0]) == "Revision(2, key='kettle', text='Mended', change='edited')"
        alice.remember("Mended!", key="again")
        [near] = alice.similar("again")
        assert repr(near) == "Similar(key='kettle', text='Mended', revision=2, verdict='same')"


def test_what_is_no_text_shows_its_length() -> None:
    with holdfast.open(":memory:", key="5e" * 32, embedder="none") as memory:
        alice = memory.user("alice")
        alice.remember(b"\x00\x01\x02", key="k", encrypted=True)  # type: ignore[arg-type]
        assert repr(alice.get("k")) == "Entry(key='k', text='<3 bytes>', revision=1)"
