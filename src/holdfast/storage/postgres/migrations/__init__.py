"""Numbered steps from an empty database to today's schema; `steps()` reads them in order. Never edit a released one."""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple


class Step(NamedTuple):
    number: int
    name: str
    sql: str


def steps() -> list[Step]:
    found = []
    for file in resources.files(__name__).iterdir():
        if file.name.endswith(".sql"):
            number, _, name = file.name.removesuffix(".sql").partition("_")
            found.append(Step(int(number), name, file.read_text(encoding="utf-8")))
    return sorted(found)
