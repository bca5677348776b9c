"""Time the Markdown mirror takes to synchronise a thousand files and their memories, each way, and to look when nothing
has changed."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import holdfast
from bench.measure import CACHE, Cost, Line, Options, cost_of, micros
from bench.notes import notes
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.mirror.folder import RACY_NS
from holdfast.entrypoints.mirror.mirror import Mirror

FILES = 1_000
LOOKS = 20
MOST_SECONDS = 10.0
USER = "alice"


def run(_options: Options) -> list[Line]:
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mirror-", dir=CACHE) as name:
        folder = Path(name)
        with holdfast.open(folder / "store", sweep_seconds=0) as memory:
            mirror = Mirror(memory.running, folder / "files", settle=0)
            try:
                return _measured(memory.user(USER), mirror, folder / "files" / "users" / USER / "memory")
            finally:
                mirror.stop()


def _measured(alice: Own, mirror: Mirror, place: Path) -> list[Line]:
    texts = [note["text"] for note in notes(USER, FILES)]
    place.mkdir(parents=True)
    _write(place, texts)
    added = cost_of(1, mirror.sync)
    _check(alice, texts[-1])
    edited = [f"{text} Edited." for text in texts]
    _write(place, edited)
    changed = cost_of(1, mirror.sync)
    _check(alice, edited[-1])
    for number, text in enumerate(texts):
        alice.files.update_user_memory(
            "upsert", f"n{number:04}", type="user", description=f"Note {number}", body=text
        )
    written = cost_of(1, mirror.sync)
    assert texts[-1] in (place / f"n{FILES - 1:04}.md").read_text()
    time.sleep(RACY_NS / 1e9)
    mirror.sync()
    idle = cost_of(LOOKS, lambda: [mirror.sync() for _ in range(LOOKS)])
    return [
        _line(f"{FILES:,} added files become memories", added),
        _line(f"{FILES:,} changed files are applied", changed, at_most=MOST_SECONDS),
        _line(f"{FILES:,} changed memories become files", written),
        Line("a look at them when nothing changed", idle.wall * 1e3, "ms", beside=f"CPU {micros(idle.cpu)}"),
    ]


def _write(place: Path, texts: list[str]) -> None:
    for number, text in enumerate(texts):
        (place / f"n{number:04}.md").write_text(
            f"---\ndescription: Note {number}\ntype: user\n---\n\n{text}\n", encoding="utf-8"
        )


def _check(alice: Own, last: str) -> None:
    assert alice.files.read_user_memory(f"n{FILES - 1:04}").body == last


def _line(what: str, cost: Cost, at_most: float | None = None) -> Line:
    return Line(what, cost.wall, "s", at_most=at_most, beside=f"CPU {cost.cpu:.2f} s")
