"""Quality of recall through the public interface, by words alone and in full, beside two baselines on the same data in
the same process. An unseen part of the shared sets decides: nothing may be tuned to names."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

import holdfast
from bench.datasets import RETRIEVAL, Collection, Document, Question, own_collection, shared_collections
from bench.embedder import CACHED, CachedEmbedder, cached
from bench.floors import Vectors, Words, by_ranks
from bench.measure import CACHE, RESULTS, Line, Options
from bench.precision import precision_lines
from bench.scores import DEEPEST, Measures, measure
from holdfast.contracts.host import EmbedderBroken
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory

WORDS_FLOOR, RANKS_FLOOR = "FTS5 porter", "FTS5 + vectors, RRF 60"
WORDS, FULL = "holdfast, words only", "holdfast, full"
ALL = "all"


class EntryName(NamedTuple):
    set: str
    system: str
    kind: str
    figure: str
    at_least: float
    aim: float | None = None


TARGETS = (
    EntryName("locomo", FULL, ALL, "recall_10", 0.80, 0.84),
    EntryName("locomo", FULL, ALL, "ndcg_10", 0.61, 0.65),
    EntryName("locomo", WORDS, ALL, "recall_10", 0.74, 0.77),
    EntryName("locomo", WORDS, ALL, "ndcg_10", 0.57, 0.60),
    EntryName("locomo", FULL, "multi-hop", "recall_10", 0.50, 0.58),
    EntryName("beam100k", FULL, ALL, "recall_10", 0.58),
    EntryName("beam100k", FULL, ALL, "ndcg_10", 0.48),
)
ABOVE_FLOORS = 1.2
"""For beam500k: above both floors by a fifth."""

Scores = dict[str, dict[str, list[Measures]]]
"""By system, then by kind of question."""
Means = dict[str, dict[str, Measures]]


def run(options: Options) -> list[Line]:
    CACHE.mkdir(exist_ok=True)
    embedder = _embedder()
    tables: dict[str, Means] = {}
    own = _measure("own", [own_collection()], embedder, tables)
    lines = [*_floor_lines("own", tables["own"]), Line("own, superseded returned", own, "hits", at_most=0)]
    for name in RETRIEVAL:
        collections = shared_collections(name)[: 1 if options.small else None]
        if not collections:
            print(f"  {name} left out: it is not in the shared data")
            continue
        _measure(name, collections, embedder, tables)
        found = _target_lines(name, tables[name])
        # One chat says little: a quick look has no targets.
        lines += [replace(line, at_least=None) for line in found] if options.small else found
    lines += precision_lines({"words only": "none"} | ({"full": CACHED} if embedder else {}))
    _keep_tables(tables)
    return lines


def _embedder() -> CachedEmbedder | None:
    try:
        return cached()
    except EmbedderBroken as broken:
        print(f"  words only: {broken}")
        return None


def _measure(
    name: str, collections: Sequence[Collection], embedder: CachedEmbedder | None, tables: dict[str, Means]
) -> int:
    """Fills in the set's table and prints it; says how many hits there were that must not be."""
    scores: Scores = defaultdict(lambda: defaultdict(list))
    for collection in collections:
        _run_floors(collection, embedder, scores)
    forbidden = _run_ours(collections, "none", WORDS, scores)
    if embedder is not None:
        forbidden += _run_ours(collections, CACHED, FULL, scores)
    tables[name] = {
        system: {kind: Measures(*map(fmean, zip(*rows, strict=True))) for kind, rows in kinds.items()}
        for system, kinds in scores.items()
    }
    _print_table(name, tables[name], {kind: len(rows) for kind, rows in scores[WORDS].items()})
    return forbidden


def _run_floors(collection: Collection, embedder: CachedEmbedder | None, scores: Scores) -> None:
    texts = [document.plain for document in collection.live]
    ids = [document.id for document in collection.live]
    words = Words(texts)
    vectors = Vectors(texts, embedder) if embedder else None
    for question in collection.questions:
        ranking = words.search(question.text)
        _note(scores[WORDS_FLOOR], question, [ids[place] for place in ranking])
        if vectors:
            fused = by_ranks(ranking, vectors.search(question.text))
            _note(scores[RANKS_FLOOR], question, [ids[place] for place in fused])


def _run_ours(collections: Sequence[Collection], embedder: str, system: str, scores: Scores) -> int:
    forbidden = 0
    with _opened(embedder) as memory:
        names = {collection.id: _keep(memory.user(collection.id), collection) for collection in collections}
        memory.settle(timeout=3_600)
        for collection in collections:
            door = memory.user(collection.id)
            for question in collection.questions:
                found = [names[collection.id][id] for id in _ask(door, question.text, embedder)]
                _note(scores[system], question, found)
                forbidden += len(question.must_not.intersection(found))
    return forbidden


@contextmanager
def _opened(embedder: str) -> Iterator[Memory]:
    with (
        tempfile.TemporaryDirectory(prefix="recall-", dir=CACHE) as folder,
        holdfast.open(folder, embedder=embedder, durability="relaxed", sweep_seconds=0) as memory,
    ):
        yield memory


def _keep(door: Own, collection: Collection) -> dict[str, str]:
    """Writes a collection; gives the set's id for each of ours."""
    first = [document for document in collection.documents if document.supersedes is None]
    names = dict(zip(remember_all(door, first), (document.id for document in first), strict=True))
    ours = {name: id for id, name in names.items()}
    for document in collection.documents:
        if document.supersedes is not None:
            ours[document.id] = _correct(door, document, ours[document.supersedes])
    return {id: name for name, id in ours.items()}


def remember_all(door: Own, documents: Sequence[Document]) -> list[str]:
    outcomes = door.remember_many([document.arguments for document in documents])
    if failed := [outcome.error for outcome in outcomes if outcome.error is not None]:
        raise RuntimeError(f"{len(failed)} memories were refused, the first with: {failed[0]}")
    return [str(outcome.remembered.id) for outcome in outcomes if outcome.remembered is not None]


def _correct(door: Own, document: Document, old: str) -> str:
    new = door.remember(**document.arguments)
    door.trash(id=old)
    return str(new.id)


def _ask(door: Own, question: str, embedder: str) -> list[str]:
    hits = door.recall(question, limit=DEEPEST)
    if hits.degraded and embedder != "none":
        raise RuntimeError(f"recall went by words alone: {hits.degraded}")
    return [str(hit.id) for hit in hits]


def _note(kinds: dict[str, list[Measures]], question: Question, ranking: Sequence[str]) -> None:
    measured = measure(ranking, question.gold)
    kinds[question.kind].append(measured)
    kinds[ALL].append(measured)


def _print_table(name: str, table: Means, counts: dict[str, int]) -> None:
    head = f"{name}, per cent"
    print(f"\n  {head:54}questions    @1    @5   @10   @20   MRR NDCG@10")
    for kind in sorted(counts, key=lambda kind: (kind != ALL, kind)):
        for system in table:
            values = " ".join(f"{value * 100:5.1f}" for value in table[system][kind])
            print(f"    {kind:26} {system:24} {counts[kind]:7} {values}")


def _floor_lines(name: str, table: Means) -> list[Line]:
    return [
        Line(
            f"{name}, {system.removeprefix('holdfast, ')}, {_in_words(figure)}",
            getattr(table[system][ALL], figure),
            "",
            beside=_beside(table, ALL, figure),
        )
        for system in (WORDS, FULL)
        if system in table
        for figure in ("recall_10", "ndcg_10")
    ]


def _target_lines(name: str, table: Means) -> list[Line]:
    if name == "beam500k":
        return [_above_floors(name, table, figure) for figure in ("recall_10", "ndcg_10") if FULL in table]
    return [
        _target_line(target, table) for target in TARGETS if target.set == name and target.system in table
    ]


def _target_line(target: EntryName, table: Means) -> Line:
    kind = "" if target.kind == ALL else f", {target.kind}"
    aim = f"aim {target.aim:.2f}; " if target.aim else ""
    return Line(
        f"{target.set}{kind}, {target.system.removeprefix('holdfast, ')}, {_in_words(target.figure)}",
        getattr(table[target.system][target.kind], target.figure),
        "",
        at_least=target.at_least,
        beside=aim + _beside(table, target.kind, target.figure),
    )


def _above_floors(name: str, table: Means, figure: str) -> Line:
    ours = getattr(table[FULL][ALL], figure)
    best = max(getattr(table[floor][ALL], figure) for floor in (WORDS_FLOOR, RANKS_FLOOR))
    return Line(
        f"{name}, full, {_in_words(figure)} against the better floor",
        ours / best,
        at_least=ABOVE_FLOORS,
        beside=f"{ours:.3f}; {_beside(table, ALL, figure)}",
    )


def _in_words(figure: str) -> str:
    return {"recall_10": "recall@10", "ndcg_10": "NDCG@10"}[figure]


def _beside(table: Means, kind: str, figure: str) -> str:
    floors = [floor for floor in (WORDS_FLOOR, RANKS_FLOOR) if floor in table]
    return ", ".join(f"{floor} {getattr(table[floor][kind], figure):.3f}" for floor in floors)


def _keep_tables(tables: dict[str, Means]) -> None:
    told = {
        name: {
            system: {kind: row._asdict() for kind, row in kinds.items()} for system, kinds in table.items()
        }
        for name, table in tables.items()
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "recall-tables.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
