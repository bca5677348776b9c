"""Numbered steps from nothing to today's schema, as a backend's `migrations` folder holds them."""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple


class Step(NamedTuple):
    number: int
    name: str
    sql: str


def read_steps(package: str) -> list[Step]:
    """In order."""
    found = []
    for file in resources.files(package).iterdir():
        if file.name.endswith(".sql"):
            number, _, name = file.name.removesuffix(".sql").partition("_")
            found.append(Step(int(number), name, file.read_text(encoding="utf-8")))
    return sorted(found)
