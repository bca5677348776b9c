"""Migrations: numbered SQL files, in the `migrations` folder of each backend. Never edit a released one."""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple


class Step(NamedTuple):
    number: int
    name: str
    sql: str


def read_steps(backend: str) -> list[Step]:
    """The migrations of a backend's package, in order."""
    steps = []
    for file in resources.files(backend).joinpath("migrations").iterdir():
        if file.name.endswith(".sql"):
            number, _, name = file.name.removesuffix(".sql").partition("_")
            steps.append(Step(int(number), name, file.read_text(encoding="utf-8")))
    return sorted(steps)
