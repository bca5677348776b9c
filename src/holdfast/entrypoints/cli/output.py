"""What the command line prints: for people at a terminal, as plain text in a pipe, as JSON, and progress bars."""

from __future__ import annotations

import json
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

SPOKEN = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
DRIVES = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
LEAST_OF_LAST = 16
"""While so much is left for the last column, the others stay whole."""
JOINERS = frozenset("\u200c\u200d")
"""Between letters and inside emoji; they change neither order nor place."""


def line(text: str) -> str:
    """On one line: breaks, tabs and whatever else drives a terminal are spelled out."""
    return text if text.isprintable() else "".join(map(_spelled, text))


def lines(text: str) -> str:
    """As written, line by line; whatever else drives a terminal is spelled out."""
    return "\n".join(
        part.expandtabs(4) if part.isascii() and part.isprintable() else _kept(part)
        for part in text.split("\n")
    )


def _kept(part: str) -> str:
    return "".join(_spelled(sign) for sign in part.removesuffix("\r").expandtabs(4))


def _spelled(sign: str) -> str:
    if sign.isprintable() or sign in JOINERS or unicodedata.category(sign) not in DRIVES:
        return sign
    if sign in SPOKEN:
        return SPOKEN[sign]
    code = ord(sign)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x1_0000 else f"\\U{code:08x}"


def emit(document: Mapping[str, Any]) -> None:
    """ASCII alone, so that it is the same in every locale and harmless at every terminal."""
    print(json.dumps(document))


def say(sentence: str) -> None:
    print(line(sentence))


def remark(sentence: str | None) -> None:
    """Beside the answer, on standard error; nothing when there is nothing to remark."""
    if sentence:
        print(line(sentence), file=sys.stderr)


def at_terminal() -> bool:
    return sys.stdout.isatty()


def body(text: str) -> None:
    """A text itself: byte for byte into a pipe, harmless at a terminal."""
    if at_terminal():
        print(lines(text))
    else:
        print(text)


def raw(base64: str) -> None:
    """Bytes into a pipe, as they are."""
    from base64 import b64decode

    sys.stdout.flush()
    sys.stdout.buffer.write(b64decode(base64))


def console() -> Console:
    from rich.console import Console

    # rich takes every dumb terminal to be 80 wide.
    size = shutil.get_terminal_size()
    return Console(highlight=False, markup=False, emoji=False, width=size.columns, height=size.lines)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Columns at a terminal, the last one cut where the line ends; tab-separated lines elsewhere."""
    shown = [[line("" if cell is None else str(cell)) for cell in row] for row in rows]
    if not at_terminal():
        for row in shown:
            print("\t".join(row))
    elif shown:
        _columns(headings, shown)


def _columns(headings: Sequence[str], rows: list[list[str]]) -> None:
    """The first columns stay whole while there is room for the last; else all of them are cut."""
    from rich.cells import cell_len, set_cell_size

    out = console()
    table = [list(headings), *rows]
    widths = [max(cell_len(cell) for cell in column) for column in zip(*table, strict=True)]
    room = out.width - 2 * (len(widths) - 1)
    if sum(widths[:-1]) + LEAST_OF_LAST <= room:
        widths[-1] = min(widths[-1], room - sum(widths[:-1]))
    else:
        widths = [min(width, max(room // len(widths), 1)) for width in widths]
    for at, row in enumerate(table):
        cells = [
            cell if cell_len(cell) <= width else set_cell_size(cell, width - 1) + "…"
            for cell, width in zip(row, widths, strict=True)
        ]
        told = "  ".join(set_cell_size(cell, width) for cell, width in zip(cells, widths, strict=True))
        out.print(told.rstrip(), style=None if at else "dim", soft_wrap=True)


def brief(moment: str | None) -> str:
    """A time to the second."""
    return "" if moment is None else moment[:19] + "Z"


def headed(head: str, text: str, foot: str = "") -> None:
    """At a terminal: a dim line, then the text, indented and wrapped to fit, then what there is to say about it."""
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    out.print(Text(line(head), style="dim"), no_wrap=True, overflow="ellipsis")
    out.print(Padding(Text(lines(text)), (0, 0, 0, 2), expand=False))
    if foot:
        out.print(Padding(Text(line(foot), style="dim"), (0, 0, 0, 2), expand=False))


def findings(rows: Iterable[tuple[str, str, str, str]], colours: Mapping[str, str]) -> None:
    """At a terminal: state, name and cause, wrapped to fit, and the remedy beneath where there is one."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for state, name, cause, remedy in rows:
        told = Text(line(cause))
        if remedy:
            told.append("\n" + line(remedy), style="bold")
        grid.add_row(Text(state, style=colours[state]), Text(name), told)
    console().print(grid)


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
