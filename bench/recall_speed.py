"""Cost of recall on one core. Against embedding the question alone, against plain FTS5 on the same data, in large
spaces and large files; and the memory it takes. Every part is a process of its own with one thread on one core."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from random import Random
from statistics import median

import holdfast
from bench.embedder import BY_WORDS, CACHED, CACHED_NOTES, cached
from bench.floors import LIMIT, PlainIndex
from bench.growth import LARGE, QUICK, SMALL
from bench.kept import OWNER, kept_notes, kept_spaces
from bench.measure import CACHE, Cost, Line, Options, Turns, micros, take_turns
from bench.notes import notes
from bench.population import MEASURED, SPACE, populated
from bench.texts import questions, wordy_notes
from bench.watching import recording
from holdfast.contracts.host import EmbedderBroken
from holdfast.entrypoints.facade import Own
from holdfast.text.analyser import analyse

ENTRIES = 10_000
MANY_ENTRIES = 100_000
QUESTIONS = 200
TURNS = 5
OTHER_QUESTIONS = 8_000
"""Among which there are enough that share no word with those that are measured."""

SPACES = 1_000
SMALL_SPACE = 100
EARLY_SPACES = 100

EMBEDDING_RATIO = 2
WITHOUT_EMBEDDING_MS = 5
WORDS_RATIO = 1.5
LARGE_SPACE_RATIO = 4
LARGE_FILE_RATIO = 1.5
RESIDENT_MB = 450
CEILING_MB = 16
"""Given to the store with many spaces: far less than what it would keep without a ceiling."""
SLACK_MB = 24

_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TOKENIZERS_PARALLELISM"), "1"
)

Ask = Callable[[str], object]


def run(options: Options) -> list[Line]:
    CACHE.mkdir(exist_ok=True)
    _build_stores(options)
    return [line for part in PARTS for line in _measured_apart(part, options)]


def _build_stores(options: Options) -> None:
    """Here and not in the parts, whose memory and core are measured."""
    kept_notes("words", ENTRIES, BY_WORDS)
    kept_spaces(SPACES, SMALL_SPACE)
    populated(SMALL)
    populated(QUICK if options.small else LARGE)
    if not options.small:
        kept_notes("words", MANY_ENTRIES, BY_WORDS)
    if _has_model():
        kept_notes("vectors", ENTRIES, CACHED)
    else:
        print("  figures with the default model left out: run `holdfast model fetch`")


def _has_model() -> bool:
    try:
        cached()
    except EmbedderBroken:
        return False
    return True


def _measured_apart(part: str, options: Options) -> list[Line]:
    with tempfile.NamedTemporaryFile("r", suffix=".json", dir=CACHE) as answer:
        arguments = [part, answer.name, *(["--small"] if options.small else [])]
        subprocess.run(
            [sys.executable, "-m", "bench.recall_speed", *arguments],
            check=True,
            env=os.environ | _ONE_THREAD,
        )
        return [Line(**line) for line in json.load(answer)]


def _main(part: str, answer: str, *flags: str) -> None:
    logging.getLogger("holdfast").setLevel(logging.ERROR)
    lines = PARTS[part](Options(small="--small" in flags))
    Path(answer).write_text(json.dumps([asdict(line) for line in lines]), encoding="utf-8")


def _in_one_space(_options: Options) -> list[Line]:
    """10,000 notes with the vectors of the default model."""
    if not _has_model():
        return _words_against_fts(kept_notes("words", ENTRIES, BY_WORDS))
    embedder = cached()
    store = kept_notes("vectors", ENTRIES, CACHED)
    asked = questions(OWNER, ENTRIES, QUESTIONS)
    for question in asked:
        embedder.embed_query(question)
    with _on_one_core(), _serving(store, CACHED_NOTES) as whole, _serving(store, CACHED) as prepared:
        lines = [
            _ratio(
                f"recall in {ENTRIES:,}, against embedding the question alone",
                (whole, embedder.embed_now),
                asked,
                EMBEDDING_RATIO,
                "embedding",
            ),
            _absolute(f"recall in {ENTRIES:,} without the question's embedding", prepared, asked),
        ]
    return [*lines, *_words_against_fts(store)]


def _words_against_fts(store: Path) -> list[Line]:
    asked = questions(OWNER, ENTRIES, QUESTIONS)
    texts = [note["text"] for note in wordy_notes(OWNER, ENTRIES)]
    with _on_one_core(), _serving(store, "none") as words, tempfile.TemporaryDirectory(dir=CACHE) as folder:
        plain = PlainIndex(Path(folder) / "plain.db", _settings(store))
        plain.fill((text, OWNER) for text in texts)
        what, sides = f"words only in {ENTRIES:,}, against plain FTS5", (words, plain.search)
        return [
            _ratio(f"{what}, asked before", sides, asked, WORDS_RATIO, "FTS5"),
            _first_time(f"{what}, every question once", store, plain, asked),
        ]


def _first_time(what: str, store: Path, plain: PlainIndex, asked: Sequence[str]) -> Line:
    """Every question once since the store was opened, so that most of its words are new; both sides are warm from
    questions without any of these words."""
    warming = _sharing_no_word(questions(f"{OWNER} warming", ENTRIES, OTHER_QUESTIONS), asked)
    turns = Turns([], [])
    for turn in range(TURNS):
        with _serving(store, "none") as words:
            sides = [(words, turns.ours), (plain.search, turns.bare)]
            for ask, costs in sides if turn % 2 else reversed(sides):
                _p50(ask, warming)
                costs.append(_p50(ask, asked))
    return _against(what, turns, WORDS_RATIO, "FTS5")


def _sharing_no_word(asked: Sequence[str], others: Sequence[str]) -> list[str]:
    known = {term for other in others for term in analyse(other)}
    return [question for question in asked if known.isdisjoint(analyse(question))]


def _in_a_large_space(options: Options) -> list[Line]:
    if options.small:
        return []
    asked = questions(OWNER, ENTRIES, QUESTIONS)
    small, large = kept_notes("words", ENTRIES, BY_WORDS), kept_notes("words", MANY_ENTRIES, BY_WORDS)
    lines = []
    for what, embedder in (("recall without embedding", BY_WORDS), ("words only", "none")):
        with _on_one_core(), _serving(large, embedder) as much, _serving(small, embedder) as little:
            lines.append(
                _ratio(
                    f"{what}, {MANY_ENTRIES:,} against {ENTRIES:,}",
                    (much, little),
                    asked,
                    LARGE_SPACE_RATIO,
                    f"in {ENTRIES:,}",
                )
            )
    return lines


def _in_a_large_file(options: Options) -> list[Line]:
    """A space of 1,000 in a file of many such; they all use the few words of bench.notes, which is the worst case."""
    large = QUICK if options.small else LARGE
    stores = populated(large), populated(SMALL)
    much_plain, little_plain = (
        _populated_index(entries, _settings(store))
        for entries, store in zip((large, SMALL), stores, strict=True)
    )
    asked = _population_questions()
    with (
        _on_one_core(),
        _serving(stores[0], "none", MEASURED) as much,
        _serving(stores[1], "none", MEASURED) as little,
    ):
        what = f"{large:,} against {SMALL:,} entries in the file"
        return [
            _ratio(
                f"words only, space of {SPACE:,}, {what}", (much, little), asked, LARGE_FILE_RATIO, "small"
            ),
            _ratio(
                "  plain FTS5 with a filter",
                (partial(much_plain.search_in, MEASURED), partial(little_plain.search_in, MEASURED)),
                asked,
                None,
                "small",
            ),
        ]


def _resident(_options: Options) -> list[Line]:
    """This process: a space of 10,000 in use, the default model loaded."""
    if not _has_model():
        return []
    store = kept_notes("vectors", ENTRIES, CACHED)
    with _serving(store, "default") as ask:
        for question in questions(OWNER, ENTRIES, QUESTIONS):
            ask(question)
        return [
            Line(
                f"resident memory, {ENTRIES:,} entries and the model",
                _status_mb("VmRSS"),
                "MB",
                at_most=RESIDENT_MB,
                beside=f"at the most {_status_mb('VmHWM'):.0f} MB",
            )
        ]


def _under_a_ceiling(_options: Options) -> list[Line]:
    """1,000 spaces asked one after the other: what is kept of them must stay under the ceiling."""
    store = kept_spaces(SPACES, SMALL_SPACE)
    asked = questions("space-0", SMALL_SPACE, SPACES)
    os.environ["HOLDFAST_RECALL_CACHE_MB"] = str(CEILING_MB)
    with holdfast.open(store, embedder=BY_WORDS, sweep_seconds=0) as memory:
        for number in range(EARLY_SPACES):
            memory.user(f"space-{number}").recall(asked[number], limit=LIMIT)
        early = _status_mb("VmRSS")
        for number in range(EARLY_SPACES, SPACES):
            memory.user(f"space-{number}").recall(asked[number], limit=LIMIT)
        grown = _status_mb("VmRSS") - early
    vectors = (SPACES - EARLY_SPACES) * SMALL_SPACE * 384 * 4 / 2**20
    return [
        Line(
            f"resident memory grown from {EARLY_SPACES} to {SPACES:,} spaces",
            grown,
            "MB",
            at_most=CEILING_MB + SLACK_MB,
            beside=f"ceiling {CEILING_MB} MB; their vectors alone are {vectors:.0f} MB",
        )
    ]


PARTS: dict[str, Callable[[Options], list[Line]]] = {
    "one-space": _in_one_space,
    "large-space": _in_a_large_space,
    "large-file": _in_a_large_file,
    "resident": _resident,
    "ceiling": _under_a_ceiling,
}


def _ratio(
    what: str, sides: tuple[Ask, Ask], asked: Sequence[str], at_most: float | None, other: str
) -> Line:
    ours, bare = sides
    for warm in sides:
        _p50(warm, asked)
    turns = take_turns(TURNS, lambda: _p50(ours, asked), lambda: _p50(bare, asked))
    return _against(what, turns, at_most, other)


def _against(what: str, turns: Turns, at_most: float | None, other: str) -> Line:
    cpu, bare_cpu = turns.cpu()
    wall, bare_wall = turns.wall()
    beside = (
        f"p50 CPU {micros(cpu)}, {other} {micros(bare_cpu)}; wall {micros(wall)}, {other} {micros(bare_wall)}"
    )
    return Line(what, turns.cpu_ratio(), at_most=at_most, beside=beside)


def _absolute(what: str, ask: Ask, asked: Sequence[str]) -> Line:
    _p50(ask, asked)
    turns = [_p50(ask, asked) for _ in range(TURNS)]
    cpu, wall = median(turn.cpu for turn in turns), median(turn.wall for turn in turns)
    return Line(what, cpu * 1e3, "ms", at_most=WITHOUT_EMBEDDING_MS, beside=f"p50 CPU; wall {micros(wall)}")


def _p50(ask: Ask, asked: Sequence[str]) -> Cost:
    costs = []
    for question in asked:
        cpu, wall = time.process_time(), time.perf_counter()
        ask(question)
        costs.append(Cost(time.process_time() - cpu, time.perf_counter() - wall))
    return Cost(median(cost.cpu for cost in costs), median(cost.wall for cost in costs))


@contextmanager
def _serving(store: Path, embedder: str, owner: str = OWNER) -> Iterator[Ask]:
    with holdfast.open(store, embedder=embedder, sweep_seconds=0) as memory:
        memory.settle(timeout=600)
        door = memory.user(owner)
        yield lambda question: _checked(door, question, embedder)


def _checked(door: Own, question: str, embedder: str) -> object:
    hits = door.recall(question, limit=LIMIT)
    if embedder != "none" and hits.degraded:
        raise RuntimeError(f"recall went by words alone: {hits.degraded}")
    return hits


@contextmanager
def _on_one_core() -> Iterator[None]:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _settings(store: Path) -> list[str]:
    """The pragmas of the product's own connections, for a fair comparison."""
    with recording() as watched, holdfast.open(store, embedder="none", sweep_seconds=0):
        return watched.settings()


def _populated_index(entries: int, settings: Sequence[str]) -> PlainIndex:
    """Notes of the populated store, each with the name of its space."""
    file = CACHE / f"fts-{entries}.db"
    if not file.exists():
        print(f"  building a plain index of {entries:,} entries ...", flush=True)
        draft = file.with_suffix(".unfinished")
        draft.unlink(missing_ok=True)
        names = (MEASURED, *(f"user-{number}" for number in range(entries // SPACE - 1)))
        index = PlainIndex(draft, ())
        index.fill((note["text"], name) for name in names for note in notes(name, SPACE))
        index.close()
        draft.rename(file)
    return PlainIndex(file, settings)


def _population_questions() -> list[str]:
    random = Random(1)
    texts = [note["text"].rstrip(".").lower().split() for note in notes(MEASURED, SPACE)]
    return [" ".join(random.sample(random.choice(texts), k=random.randint(2, 6))) for _ in range(QUESTIONS)]


def _status_mb(field: str) -> float:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1_024
    raise RuntimeError(f"the kernel does not tell {field}")


if __name__ == "__main__":
    _main(*sys.argv[1:])
