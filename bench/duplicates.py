"""Pairs of texts that are taken for the same: by words and guards, and by vectors after they settled. Uses public
paraphrase sets, and our own pairs that must never, or always, be merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.datasets import PAIRS, Pair, own_pairs, shared_pairs
from bench.embedder import CachedEmbedder, cached
from bench.measure import Line, Options
from holdfast.contracts.host import EmbedderBroken
from holdfast.text.duplicates import Verdict, compare, is_cosine_duplicate

PLAIN_COSINE = 0.97
PRECISION = 0.75
REPEATED = 0.9
"""A repetition that is kept twice does little harm; a pair that is merged wrongly loses a memory."""


@dataclass(frozen=True, slots=True)
class Score:
    precision: float
    recall: float
    taken: int
    contradictions: int

    def __str__(self) -> str:
        return f"{self.taken} taken, precision {self.precision:.3f}, recall {self.recall:.3f}"


def run(_options: Options) -> list[Line]:
    try:
        embedder = cached()
    except EmbedderBroken as broken:
        print(f"  duplicates by vectors left out: {broken}")
        embedder = None
    lines = _own(own_pairs(), embedder)
    for name in PAIRS:
        if pairs := shared_pairs(name):
            lines += _public(name, pairs, embedder)
        else:
            print(f"  {name} left out: it is not in the shared data")
    return lines


def _own(pairs: Sequence[Pair], embedder: CachedEmbedder | None) -> list[Line]:
    never, always = [pair for pair in pairs if not pair.same], [pair for pair in pairs if pair.same]
    wrong = [pair for pair in never if _merges(pair)]
    kept = [pair for pair in always if not _merges(pair)]
    for pair in (*wrong, *kept):
        print(f"  {'kept apart' if pair.same else 'MERGED'} ({pair.kind}): {pair.a} | {pair.b}")
    lines = [
        Line(
            f"own, merged of {len(never)} that never may",
            len(wrong),
            "pairs",
            at_most=0,
            beside=_kinds(wrong),
        ),
        Line(f"own, merged of {len(always)} repetitions", 1 - len(kept) / len(always), "", at_least=REPEATED),
    ]
    if embedder is not None:
        shown = [pair for pair in never if is_cosine_duplicate(pair.a, pair.b, _cosine(pair, embedder))]
        lines.append(
            Line(f"own, shown as alike by vectors of {len(never)}", len(shown), "pairs", beside=_kinds(shown))
        )
    return lines


def _public(name: str, pairs: Sequence[Pair], embedder: CachedEmbedder | None) -> list[Line]:
    merged = _score(pairs, [_merges(pair) for pair in pairs])
    contradictions = f", {merged.contradictions} contradictions" if name == "sick" else ""
    lines = [
        Line(
            f"{name}, words and guards, precision",
            merged.precision,
            "",
            at_least=PRECISION,
            beside=f"{merged}{contradictions}",
        )
    ]
    if embedder is None:
        return lines
    cosines = [_cosine(pair, embedder) for pair in pairs]
    plain = _score(pairs, [cosine >= PLAIN_COSINE for cosine in cosines])
    guarded = _score(
        pairs,
        [is_cosine_duplicate(pair.a, pair.b, cosine) for pair, cosine in zip(pairs, cosines, strict=True)],
    )
    beside = f"{guarded}; plain cosine >= {PLAIN_COSINE}: {plain}"
    return [
        *lines,
        Line(
            f"{name}, vectors and guards, precision", guarded.precision, "", at_least=PRECISION, beside=beside
        ),
        Line(
            f"{name}, recall against plain cosine",
            guarded.recall / plain.recall,
            at_least=1,
            beside=f"contradictions {guarded.contradictions}, plain {plain.contradictions}",
        ),
    ]


def _merges(pair: Pair) -> bool:
    return compare(pair.b, pair.a).verdict in (Verdict.SAME, Verdict.MERGE)


def _cosine(pair: Pair, embedder: CachedEmbedder) -> float:
    return float(embedder.embed(pair.a) @ embedder.embed(pair.b))


def _score(pairs: Sequence[Pair], taken: Sequence[bool]) -> Score:
    chosen = [pair for pair, is_taken in zip(pairs, taken, strict=True) if is_taken]
    right = sum(pair.same for pair in chosen)
    return Score(
        precision=right / max(len(chosen), 1),
        recall=right / max(sum(pair.same for pair in pairs), 1),
        taken=len(chosen),
        contradictions=sum(pair.contradiction for pair in chosen),
    )


def _kinds(pairs: Sequence[Pair]) -> str:
    return ", ".join(sorted({pair.kind for pair in pairs}))
