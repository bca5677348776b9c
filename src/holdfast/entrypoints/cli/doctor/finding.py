"""The finding of a check, and the scene that every check examines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from holdfast.settings import Settings
from holdfast.wiring import locate_store


class Finding(NamedTuple):
    state: str
    name: str
    cause: str
    remedy: str

    def named(self, name: str) -> Finding:
        return self._replace(name=name)


@dataclass(frozen=True, slots=True)
class Scene:
    settings: Settings
    database: Path | None
    """The file of the embedded store, which need not exist; None for other stores."""
    now: float

    @property
    def is_shared(self) -> bool:
        """True for a store on a database server."""
        return locate_store(self.settings).is_shared

    @property
    def folder(self) -> Path:
        return self.settings.data_dir if self.database is None else self.database.parent

    @property
    def has_store(self) -> bool:
        return self.database is not None and self.database.exists() and self.database.stat().st_size > 0

    def same_store(self, other: Scene) -> bool:
        if self.database is None or other.database is None:
            return self.settings.database_url == other.settings.database_url
        return self.database.resolve() == other.database.resolve()


Check = Callable[[Scene], Finding]

NO_STORE = "no store yet: `holdfast remember …` creates one"


def ok(cause: str) -> Finding:
    return Finding("ok", "", cause, "")


def warn(cause: str, remedy: str) -> Finding:
    return Finding("warn", "", cause, remedy)


def fail(cause: str, remedy: str) -> Finding:
    return Finding("fail", "", cause, remedy)
