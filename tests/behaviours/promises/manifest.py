"""The behaviour manifest: what SPEC and DESIGN promise, one sentence each, and the tests that prove it.

An id is the section of SPEC and a number. The source says where it stands and what it is: `M` a promise of a seed
system, `D` a detail of one, `W` a weakness of one done better, `T` what its own tests check, `DESIGN` a decision."""

from __future__ import annotations

from typing import NamedTuple

from tests.behaviours.promises import a_facts, b_tools, c_stores, d_files, e_assistant, engine

COMPLETE = frozenset("ABCDE")
"""Sections of which every behaviour has a test."""


class Behaviour(NamedTuple):
    id: str
    sentence: str
    source: str
    tests: tuple[str, ...]

    @property
    def section(self) -> str:
        return self.id[0]


class Superseded(NamedTuple):
    """What a seed system's tests check and this product decided otherwise."""

    id: str
    sentence: str
    source: str
    reason: str


def _behaviour(id: str, sentence: str, source: str, *tests: str) -> Behaviour:
    return Behaviour(id, sentence, source, tests)


BEHAVIOURS = tuple(
    _behaviour(*row)
    for part in (a_facts, b_tools, c_stores, d_files, e_assistant, engine)
    for row in part.ROWS
)
SUPERSEDED = tuple(
    Superseded(*row) for part in (a_facts, b_tools, c_stores, d_files, e_assistant) for row in part.SUPERSEDED
)
