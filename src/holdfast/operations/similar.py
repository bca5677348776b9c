"""Which entries say nearly the same as one: found by words, and by meaning once vectors are there; judged by the
guards of search/duplicates alone. Nothing is merged here: the caller decides."""

from __future__ import annotations

import numpy as np

from holdfast.domain.access import Op
from holdfast.domain.entry import Entry
from holdfast.domain.limits import check_limit
from holdfast.domain.principal import Caller
from holdfast.operations.authorize import EntryName, look_up, opened, seek
from holdfast.operations.engine import Engine
from holdfast.operations.rank import SearchedSpace, open_shown
from holdfast.operations.read_log import SIMILAR
from holdfast.operations.results import Similar
from holdfast.recall.arrays import Bools, Floats, Ints
from holdfast.recall.bm25 import read_postings, score_words
from holdfast.recall.snapshot import SpaceSnapshot
from holdfast.text.duplicates import HINT_COSINE, Verdict, compare
from holdfast.text.question import read_question

CANDIDATES = 20
"""Entries looked at, by words and by meaning each."""
SHOWN = 5
LEAST_WORDS = 1e-9
"""Any score of words at all."""


def similar(engine: Engine, caller: Caller, target: EntryName, limit: int = SHOWN) -> list[Similar]:
    """Nearest first, in the entry's own room of its space; itself left out."""
    limit = check_limit(limit, engine.limits.search_hits)
    sought = seek(engine, caller, target, Op.READ, engine.clock())
    entry = opened(look_up(engine, sought))
    if entry.encrypted or not entry.content.is_text:
        return []
    visible = sought.visible._replace(partitions=(entry.partition,))
    view = engine.index.shown(visible, engine.index.serving())
    here = view.position(entry.number)
    if here is None:
        return []
    others = np.arange(len(view)) != here
    searched = SearchedSpace(sought.entered, visible, view, others)
    cosines = engine.index.views.cosines_to(view, here) * others
    near = np.union1d(_by_words(engine, view, entry, others), _best(cosines, HINT_COSINE))
    found = []
    for other in open_shown(engine, searched, view.columns.numbers[near].tolist()):
        if not other.content.is_text:
            continue  # since a moment ago
        place = view.position(other.number)
        cosine = 0.0 if place is None else float(cosines[place])
        likeness = compare(entry.text, other.text, cosine)
        if likeness.verdict is not Verdict.DIFFERENT:
            found.append(Similar(other, likeness.verdict.value, likeness.jaccard, likeness.guard))
    found.sort(key=lambda one: (-one.jaccard, -one.entry.updated_us))
    engine.reads.note(SIMILAR, caller.principal, visible.now, [one.entry for one in found[:limit]])
    return found[:limit]


def _by_words(engine: Engine, view: SpaceSnapshot, entry: Entry, others: Bools) -> Ints:
    """Places of the entries that share most of its words."""
    question = read_question(f"{entry.hint} {entry.text}")
    found = engine.index.views.occurrences(view, question.terms)
    scores = score_words(view.prepared, read_postings(view.prepared, question, found)).score * others
    return _best(scores, LEAST_WORDS)


def _best(scores: Floats, least: float) -> Ints:
    """Places of the highest, of equal ones the newer; in no stated order."""
    best = np.argsort(scores, kind="stable")[-CANDIDATES:]
    return best[scores[best] >= least].astype(np.int32)
