"""The command as a test calls it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Exactly one document."""
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        return [line.split("\t") for line in self.out.splitlines()]


class Command(Protocol):
    def __call__(self, *arguments: str, given: str | bytes = b"", **environment: str) -> Done: ...
