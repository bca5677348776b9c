"""Recording: what tools and pipelines did is written down for whom they did it, in the room of runs, for 30 days."""

from __future__ import annotations

import logging
import secrets
from functools import partial
from threading import Event, Thread

from holdfast.domain.errors import HoldfastError
from holdfast.domain.principal import Caller, Principal
from holdfast.domain.profile import RUNS
from holdfast.domain.run import Ran, Run, run_prefix
from holdfast.operations.draft import Asked, Draft
from holdfast.operations.engine import Engine
from holdfast.operations.remember import MANY, remember_many
from holdfast.operations.work import Write

SECONDS = 0.5
"""How long runs are gathered before they are written."""

log = logging.getLogger("holdfast.runs")


def record(engine: Engine) -> None:
    """Writes all that waits. Recording must never break what is recorded: what fails is logged, and tried again where
    that may help."""
    if not len(engine.runs) and not engine.runs.writing.locked():
        return
    with engine.runs.writing:
        waiting = engine.runs.take()
        by_principal: dict[Principal, list[Ran]] = {}
        for ran in waiting:
            by_principal.setdefault(ran.who, []).append(ran)
        for who, runs in by_principal.items():
            for start in range(0, len(runs), MANY):
                _record(engine, who, runs[start : start + MANY])


def _record(engine: Engine, who: Principal, runs: list[Ran]) -> None:
    rows = [_asked(_without_secrets(engine, ran.run)) for ran in runs]
    try:
        outcomes = engine.write(Write(partial(remember_many, engine, Caller(who, door="handler"), rows)))
    except HoldfastError as error:
        log.warning("%d runs could not be recorded and will be tried again: %s", len(runs), error.message)
        engine.runs.put_back(runs)
        return
    refused = [outcome.error for outcome in outcomes if outcome.error is not None]
    if refused:
        log.warning("%d runs were not recorded: %s", len(refused), refused[0].message)


def _without_secrets(engine: Engine, run: Run) -> Run:
    if not run.inputs and not run.findings:
        return run
    return run._replace(
        inputs=tuple((name, value) for name, value in run.inputs if not engine.scrub(value).count),
        findings=tuple(word for word in run.findings if not engine.scrub(word).count),
    )


def _asked(run: Run) -> Asked:
    key = f"{run_prefix(run.head, run.id)}{run.at_us:016x}-{secrets.token_hex(4)}"
    return Asked(RUNS, None, Draft(run.body(), key, category=run.head))


class Recorder:
    """Records in the background until told to stop, then once more."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stop = Event()
        self._thread = Thread(target=self._serve, name="holdfast-recorder", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._engine.runs.work.set()
        if self._thread.is_alive():
            self._thread.join()
        record(self._engine)

    def _serve(self) -> None:
        while not self._stop.is_set():
            self._engine.runs.work.wait()
            if self._stop.wait(SECONDS):
                return
            record(self._engine)
