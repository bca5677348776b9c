"""The manifest and the tests agree."""

import ast
from pathlib import Path

from tests.doors.behaviours import BEHAVIOURS

FOLDER = Path(__file__).parent


def defined() -> set[str]:
    """Those of this folder by their file, those of the mirror as `../mirror/…`."""
    beside = FOLDER.parent / "mirror"
    return {
        f"{'' if file.parent == FOLDER else '../mirror/'}{file.name}::{node.name}"
        for file in (*FOLDER.glob("test_*.py"), *beside.glob("test_*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_every_behaviour_names_a_test_that_exists() -> None:
    assert {behaviour.test for behaviour in BEHAVIOURS} - defined() == set()


def test_every_behaviour_has_an_id_of_its_own() -> None:
    ids = [behaviour.id for behaviour in BEHAVIOURS]
    assert len(set(ids)) == len(ids)
