"""Progress on standard error: bars at a terminal, one line a step elsewhere. NO_COLOR is respected by rich."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

Tell = Callable[[str, int, int | None], None]


@contextmanager
def shown_progress() -> Iterator[Tell]:
    """A call for each step: what is being done, how many bytes are done, of how many if that is known."""
    console = Console(stderr=True)
    if console.is_terminal:
        with bars(console) as shown:
            yield _bars(shown)
    else:
        yield _lines(console)


@contextmanager
def shown_count(what: str) -> Iterator[Callable[[int], None]]:
    """A number that grows, at a terminal; elsewhere nothing until it is done."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _count: None
        return
    with console.status(what) as status:
        yield lambda count: status.update(f"{count:,} {what}")


def bars(console: Console) -> Progress:
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
