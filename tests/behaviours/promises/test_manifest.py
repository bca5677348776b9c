"""The manifest and the tests agree."""

import ast
from pathlib import Path

from tests.behaviours.promises.manifest import BEHAVIOURS, COMPLETE, SUPERSEDED

TESTS = Path(__file__).parents[2]


def defined() -> set[str]:
    return {
        f"{file.relative_to(TESTS).as_posix()}::{node.name}"
        for file in TESTS.rglob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


def test_every_test_that_a_behaviour_names_exists() -> None:
    assert {test for behaviour in BEHAVIOURS for test in behaviour.tests} - defined() == set()


def test_every_behaviour_of_a_complete_section_has_a_test() -> None:
    assert [one.id for one in BEHAVIOURS if one.section in COMPLETE and not one.tests] == []


def test_every_behaviour_has_an_id_of_its_own_a_sentence_and_a_source() -> None:
    ids = [one.id for one in BEHAVIOURS] + [one.id for one in SUPERSEDED]
    assert sorted({id for id in ids if ids.count(id) > 1}) == []
    assert all(one.sentence and one.source for one in BEHAVIOURS)


def test_what_is_superseded_says_why() -> None:
    assert [one.id for one in SUPERSEDED if not one.reason] == []
