"""The scopes of `forget`: a closed union, parsed once for every interface. A missing scope is refused, never
`all`."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.domain.errors import InvalidScope
from holdfast.domain.limits import is_text
from holdfast.domain.run import PIPELINE_RUNS, TOOL_RUNS, run_prefix


@dataclass(frozen=True, slots=True)
class Everything:
    """Everything of the caller: own space and sessions, every partition, trash and history."""


@dataclass(frozen=True, slots=True)
class OneKey:
    key: str


@dataclass(frozen=True, slots=True)
class OneEntry:
    id: str


@dataclass(frozen=True, slots=True)
class Runs:
    """Recorded tool runs (`pack_history`) or pipeline runs (`pipeline_history`), of one id or of all."""

    head: str
    id: str | None = None

    @property
    def prefix(self) -> str:
        return f"{self.head}/" if self.id is None else run_prefix(self.head, self.id)


Scope = Everything | OneKey | OneEntry | Runs


def parse_scope(text: object) -> Scope:
    if not is_text(text):
        raise InvalidScope
    match text.partition(":"):
        case "all", "", "":
            return Everything()
        case "packs", "", "":
            return Runs(TOOL_RUNS)
        case "pipelines", "", "":
            return Runs(PIPELINE_RUNS)
        case "key", ":", key if key.strip():
            return OneKey(key.strip())
        case "id", ":", entry if entry.strip():
            return OneEntry(entry.strip())
        case "pack", ":", pack if pack.strip():
            return Runs(TOOL_RUNS, pack.strip())
        case "pipeline", ":", pipeline if pipeline.strip():
            return Runs(PIPELINE_RUNS, pipeline.strip())
    raise InvalidScope
