"""Progress on standard error: bars at a terminal, one line a step elsewhere. NO_COLOR is respected by rich."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

Tell = Callable[[str, int, int | None], None]


@contextmanager
def shown_progress() -> Iterator[Tell]:
    """A call for each step: what is being done, how many bytes are done, of how many if that is known."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with bars(console) as shown:
            yield _bars(shown)
    else:
        yield _lines(console)


@contextmanager
def shown_count(what: str) -> Iterator[Callable[[int], None]]:
    """A number that changes, at a terminal; elsewhere one line, once it has taken a second."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _one_line(what)
        return
    with console.status(what) as status:
        yield lambda count: status.update(f"{count:,} {what}")


def _one_line(what: str) -> Callable[[int], None]:
    began, said = time.monotonic(), False

    def tell(count: int) -> None:
        nonlocal said
        if not said and time.monotonic() > began + 1:
            said = True
            print(f"{count:,} {what} ...", file=sys.stderr)

    return tell


def bars(console: Console) -> Progress:
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def _bars(shown: Progress) -> Tell:
    tasks: dict[str, TaskID] = {}

    def tell(step: str, done: int, total: int | None) -> None:
        if step not in tasks:
            tasks[step] = shown.add_task(step, total=total)
        shown.update(tasks[step], completed=done, total=total)

    return tell


def _lines(console: Console) -> Tell:
    said: set[str] = set()

    def tell(step: str, _done: int, total: int | None) -> None:
        if step not in said:
            said.add(step)
            size = f" ({total / 1e6:.0f} MB)" if total else ""
            console.print(f"{step}{size} ...", markup=False, highlight=False, soft_wrap=True)

    return tell


@contextmanager
def patiently(what: str) -> Iterator[None]:
    """Says what is going on once that has taken a second, at a terminal; whoever prints must wait until it ends."""
    if not sys.stderr.isatty():
        yield
        return
    ended = Event()
    waiting = Thread(target=_say_later, args=(what, ended), daemon=True)
    waiting.start()
    try:
        yield
    finally:
        ended.set()
        waiting.join()


def _say_later(what: str, ended: Event) -> None:
    if ended.wait(1.0):
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        ended.wait()
