"""Our adapter for the suite of `agent-memory-guard` (amg-bench): its attacks are written to a memory of ours, and a
later turn reads them as a model would. `amg-bench` itself takes only its own adapters; this runs the same harness:
`python -m tests.security.memory_guard`."""

from __future__ import annotations

from typing import Any

from agent_memory_guard.bench.adapter import MemorySystemAdapter, RememberOutcome
from agent_memory_guard.bench.harness import SystemReport, run_suite
from agent_memory_guard.bench.scoring import Scorecard, score_report

import holdfast
from holdfast.domain.errors import HoldfastError

SOURCES: dict[str, holdfast.SourceName | None] = {
    "external_tool": "tool",
    "user_input": None,
    "agent_authored": None,
    "system": None,
}


class HoldfastAdapter(MemorySystemAdapter):
    """One memory, one user; what a tool gave is said to be a tool's. A turn reads what recall and context show."""

    name = "holdfast"
    version = holdfast.__version__

    def __init__(self) -> None:
        self._memory = holdfast.open(":memory:", key="ephemeral", embedder="none")
        self._own = self._memory.user("alice")

    def remember(self, key: str, value: Any, *, source_class: str = "external_tool") -> RememberOutcome:
        try:
            kept = self._own.remember(str(value), key=key, source=SOURCES[source_class])
        except HoldfastError:
            return RememberOutcome.BLOCKED
        if kept.quarantined:
            return RememberOutcome.QUARANTINED
        return RememberOutcome.REDACTED if kept.redacted else RememberOutcome.STORED

    def recall(self, key: str) -> Any | None:
        """The newest of everything, as an empty question asks for it: nothing a model can be shown is left out."""
        shown = [hit for hit in self._own.recall("", limit=50) if hit.key == key]
        return shown[0].text if shown else None


def graded() -> tuple[SystemReport, Scorecard]:
    report = run_suite(HoldfastAdapter)
    return report, score_report(report)


if __name__ == "__main__":
    report, card = graded()
    for run in report.runs:
        if not run.passed:
            print(f"{run.scenario_id}: {run.severity}, {run.final_outcome}, {run.detail}")
    print(
        f"score {card.score:.1f}, grade {card.grade.value}; {card.defended_total} of {card.malicious_total} attacks, "
        f"{card.critical_breaches} critical breaches; {card.false_positives} of {card.benign_total} false positives"
    )
