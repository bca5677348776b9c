"""A process that is killed in the middle of a change: `python dying.py FOLDER CHANGE NAME MOMENT`. It says first how
the change is asked for. The moment is the number of a statement of its transaction, `COMMIT` for just before that,
or `committed` for just after it."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.faults import changes
from tests.faults.changes import Somebody
from tests.faults.processes import open_again
from tests.http.serving import serving
from tests.security.raw import engine_of


class Death:
    """Comes in the transaction that keeps the answer to an idempotency key, not in one of the store's own."""

    def __init__(self, moment: str) -> None:
        self._moment = moment
        self._statements = 0
        self._keeps_answer = False

    def before(self, _: Any, sql: str, __: Any) -> bool:
        self._statements = 1 if sql.startswith("BEGIN") else self._statements + 1
        self._keeps_answer |= "INTO receipts" in sql
        if self._moment == str(self._statements) or (self._keeps_answer and self._moment == sql):
            die()
        return True

    def after(self, *_: object) -> int:
        if self._keeps_answer and self._moment == "committed":
            die()
        return 0


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(folder: str, change: str, name: str, moment: str) -> None:
    with open_again(Path(folder)) as memory, serving(memory=memory, embedder="none") as service:
        who = Somebody(service, name)
        request = getattr(changes, change)(who)
        sys.stdout.write(json.dumps(request))
        sys.stdout.flush()
        death = Death(moment)
        with engine_of(memory).sealed.store._connections.writing() as db:  # type: ignore[attr-defined]
            db.exec_trace = death.before
            db.set_wal_hook(death.after)
        who.ask(request)
    raise AssertionError("it lived on")


if __name__ == "__main__":
    main(*sys.argv[1:])
