"""Output of the command line: for people at a terminal, as plain text in a pipe, as JSON, and progress bars."""

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

ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
CONTROL_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
LAST_COLUMN_WIDTH = 16
"""The other columns are cut when the last one would get less."""
JOINERS = frozenset("\u200c\u200d")
"""Parts of emoji and of some scripts; they change neither order nor place."""


def line(text: str) -> str:
    """Returns the text on one line, with line breaks, tabs and control characters escaped."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def lines(text: str) -> str:
    """Returns the text with its lines, and with control characters escaped."""
    parts = (part.removesuffix("\r").expandtabs(4) for part in text.split("\n"))
    return "\n".join(part if part.isprintable() else "".join(map(_escaped, part)) for part in parts)


def _escaped(character: str) -> str:
    if (
        character.isprintable()
        or character in JOINERS
        or unicodedata.category(character) not in CONTROL_CATEGORIES
    ):
        return character
    if character in ESCAPES:
        return ESCAPES[character]
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x1_0000 else f"\\U{code:08x}"


def emit(document: Mapping[str, Any]) -> None:
    """Prints JSON in ASCII, which is the same in every locale and harmless at every terminal."""
    print(json.dumps(document))


def say(sentence: str) -> None:
    print(line(sentence))


def remark(sentence: str | None) -> None:
    """Prints a note on standard error, beside the answer."""
    if sentence:
        print(line(sentence), file=sys.stderr)


def counted(number: int, noun: str, plural: str = "") -> str:
    """Returns `1 key`, `2 keys`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def at_terminal() -> bool:
    return sys.stdout.isatty()


def body(text: str) -> None:
    """Prints a text: unchanged into a pipe, escaped at a terminal."""
    if at_terminal():
        print(lines(text))
    else:
        print(text)


def raw(base64: str) -> None:
    """Writes bytes into a pipe."""
    from base64 import b64decode

    sys.stdout.flush()
    sys.stdout.buffer.write(b64decode(base64))


def console() -> Console:
    from rich.console import Console

    # rich assumes that every dumb terminal has 80 columns.
    size = shutil.get_terminal_size()
    return Console(highlight=False, markup=False, emoji=False, width=size.columns, height=size.lines)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints columns at a terminal, the last one cut at the end of the line; tab-separated lines elsewhere."""
    shown = [[line("" if cell is None else str(cell)) for cell in row] for row in rows]
    if not at_terminal():
        for row in shown:
            print("\t".join(row))
    elif shown:
        _columns(headings, shown)


def _columns(headings: Sequence[str], rows: list[list[str]]) -> None:
    """Keeps the first columns whole while there is room for the last; else cuts them all."""
    from rich.cells import cell_len, set_cell_size

    out = console()
    table = [list(headings), *rows]
    widths = [max(cell_len(cell) for cell in column) for column in zip(*table, strict=True)]
    room = out.width - 2 * (len(widths) - 1)
    if sum(widths[:-1]) + LAST_COLUMN_WIDTH <= room:
        widths[-1] = min(widths[-1], room - sum(widths[:-1]))
    else:
        widths = [min(width, max(room // len(widths), 1)) for width in widths]
    for at, row in enumerate(table):
        cells = [
            cell if cell_len(cell) <= width else set_cell_size(cell, width - 1) + "…"
            for cell, width in zip(row, widths, strict=True)
        ]
        text = "  ".join(set_cell_size(cell, width) for cell, width in zip(cells, widths, strict=True))
        out.print(text.rstrip(), style=None if at else "dim", soft_wrap=True)


def brief(moment: str | None) -> str:
    """Returns a time to the second."""
    return "" if moment is None else moment[:19] + "Z"


def headed(head: str, text: str, foot: str = "") -> None:
    """Prints for a terminal: a dim line, the text indented and wrapped, a dim foot."""
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    out.print(Text(line(head), style="dim"), no_wrap=True, overflow="ellipsis")
    out.print(Padding(Text(lines(text)), (0, 0, 0, 2), expand=False))
    if foot:
        out.print(Padding(Text(line(foot), style="dim"), (0, 0, 0, 2), expand=False))


def findings(rows: Iterable[tuple[str, str, str, str]], colours: Mapping[str, str]) -> None:
    """Prints for a terminal: state, name and cause, wrapped to fit, and the remedy beneath."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for state, name, cause, remedy in rows:
        text = Text(line(cause))
        if remedy:
            text.append("\n" + line(remedy), style="bold")
        grid.add_row(Text(state, style=colours[state]), Text(name), text)
    console().print(grid)


ReportStep = Callable[[str, int, int | None], None]
"""Takes the step, the bytes done, and all its bytes if that is known."""


@contextmanager
def shown_progress() -> Iterator[ReportStep]:
    """Yields a callback that shows the progress of each step, as bars at a terminal and as lines elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with _bars(console) as bars:
            yield _on_bars(bars)
    else:
        yield _in_lines(console)


@contextmanager
def shown_count(what: str) -> Iterator[Callable[[int], None]]:
    """Yields a callback that shows a changing number at a terminal; elsewhere one line, after a second."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _count_in_one_line(what)
        return
    with console.status(what) as spinner:
        yield lambda count: spinner.update(f"{count:,} {what}")


def _count_in_one_line(what: str) -> Callable[[int], None]:
    began, printed = time.monotonic(), False

    def report(count: int) -> None:
        nonlocal printed
        if not printed and time.monotonic() > began + 1:
            printed = True
            print(f"{count:,} {what} ...", file=sys.stderr)

    return report


def _bars(console: Console) -> Progress:
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


def _on_bars(bars: Progress) -> ReportStep:
    tasks: dict[str, TaskID] = {}

    def report(step: str, done: int, total: int | None) -> None:
        if step not in tasks:
            tasks[step] = bars.add_task(step, total=total)
        bars.update(tasks[step], completed=done, total=total)

    return report


def _in_lines(console: Console) -> ReportStep:
    printed: set[str] = set()

    def report(step: str, _done: int, total: int | None) -> None:
        if step not in printed:
            printed.add(step)
            size = f" ({total / 1e6:.0f} MB)" if total else ""
            console.print(f"{step}{size} ...", markup=False, highlight=False, soft_wrap=True)

    return report


@contextmanager
def status(what: str) -> Iterator[None]:
    """Shows a spinner at a terminal after a second. Nothing else may be printed until it ends."""
    if not sys.stderr.isatty():
        yield
        return
    ended = Event()
    spinner = Thread(target=_spin_later, args=(what, ended), daemon=True)
    spinner.start()
    try:
        yield
    finally:
        ended.set()
        spinner.join()


def _spin_later(what: str, ended: Event) -> None:
    if ended.wait(1.0):
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        ended.wait()
