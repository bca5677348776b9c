"""Work that goes on beside the callers' own threads."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Thread

from holdfast.domain.errors import HoldfastError

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0

log = logging.getLogger("holdfast")


class BackgroundWorker:
    """A daemon thread that runs `work` after each signal, and every `interval` seconds without one.

    Signals that come within `delay` seconds, or while the work runs, lead to one more run. A failure is logged as
    `failure: reason`, and the work is tried again after a pause that doubles with each failure in a row."""

    def __init__(
        self,
        name: str,
        work: Callable[[], object],
        *,
        failure: str,
        interval: float | None = None,
        delay: float = 0.0,
        signal: Event | None = None,
    ) -> None:
        self.interval = interval
        self._work = work
        self._failure = failure
        self._delay = delay
        self._signal = Event() if signal is None else signal
        self._stop = Event()
        self._thread = Thread(target=self._serve, name=name, daemon=True)

    @property
    def stopping(self) -> bool:
        """True once `stop` was called; long work ends early then."""
        return self._stop.is_set()

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        if not self._signal.is_set():
            self._signal.set()

    def stop(self) -> None:
        """Ends the thread, after the run that is under way. What was signalled since is left to the caller."""
        self._stop.set()
        self._signal.set()
        if self._thread.is_alive():
            self._thread.join()

    def _serve(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while not self._stop.is_set():
            self._signal.wait(self.interval)
            if self._stop.wait(self._delay):
                return
            self._signal.clear()
            if self._succeeds():
                pause = FIRST_PAUSE_SECONDS
            else:
                self._signal.set()
                self._stop.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _succeeds(self) -> bool:
        try:
            self._work()
        except HoldfastError as error:
            log.warning("%s: %s", self._failure, error.message)
        except Exception:
            log.exception("%s, for a reason that was not expected", self._failure)
        else:
            return True
        return False
