"""Why a recall did not show an entry: the first stage that dropped it, in words a person can act on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from holdfast.domain.access import Op
from holdfast.domain.entry import Entry
from holdfast.domain.errors import AccessDenied, NotFound
from holdfast.domain.limits import check_limit
from holdfast.domain.principal import Caller
from holdfast.operations.ask import Ask
from holdfast.operations.engine import Engine
from holdfast.operations.recall import Searched, best, enter_all, rank
from holdfast.operations.resolve import Target, look_up, opened, seek

ALL_RANKED = 1_000_000
_UNSEEN = "There is no such entry, it has expired or lies in the trash, or you may not see it."


@dataclass(frozen=True, slots=True)
class WhyNot:
    stage: str
    """identity, grant, expiry, filter, word rank, vector rank, fusion, limit; or `shown`: it was not dropped."""
    reason: str
    word_rank: int | None = None
    vector_rank: int | None = None
    rank: int | None = None
    score: float | None = None


def why_not(engine: Engine, caller: Caller, ask: Ask, id: str | UUID) -> WhyNot:
    """What does not exist and what one may not see are told apart by nothing: both end at `identity`."""
    limit, now = check_limit(ask.limit, engine.limits.search_hits), engine.clock()
    try:
        sought = seek(engine, caller, Target(id=id, partitions=ask.partitions), Op.SEARCH, now)
        entry = opened(look_up(engine, sought))
    except (NotFound, AccessDenied):
        return WhyNot("identity", _UNSEEN)
    space = sought.entered.space.id
    plain = replace(ask, category=None, tags=(), since_us=None, until_us=None)
    serving = engine.index.serving()
    searched = enter_all(engine, caller, plain, serving, now)
    ranked, _ = rank(engine, searched, ask.query, serving, ALL_RANKED)
    here = next((each for each in ranked if each.view.space == space), None)
    if here is None:
        return WhyNot("grant", "Its space was not among those searched; name it in `spaces`.")
    place = here.view.position(entry.number)
    if place is None or not here.allowed[place]:
        return _held_back(entry)
    filtered = next(each for each in enter_all(engine, caller, ask, serving, now) if each.view.space == space)
    if not filtered.allowed[place]:
        return WhyNot("filter", "The category, tags or dates asked for leave it out.")
    return _by_rank(ranked, here, place, limit)


def _held_back(entry: Entry) -> WhyNot:
    if entry.encrypted:
        return WhyNot("filter", "It was encrypted by its client and cannot be searched.")
    if entry.quarantined:
        return WhyNot("filter", "It is quarantined until a person approves it.")
    return WhyNot("word rank", "It holds no word that could be found.")


def _by_rank(ranked: list[Searched], here: Searched, place: int, limit: int) -> WhyNot:
    assert here.ranking is not None
    ranks, score = here.ranking.ranks_of(place), float(here.ranking.scores[place])
    if ranks.final is None:
        stage = "word rank" if ranks.meaning is None else "vector rank"
        reason = (
            "No word of the question is in it, nor in the notes beside it."
            if ranks.meaning is None
            else f"No word of the question is in it, and {ranks.meaning - 1} entries are nearer in meaning."
        )
        return WhyNot(stage, reason, ranks.words, ranks.meaning, None, score)
    final = 1 + next(
        at for at, (each, where, _) in enumerate(best(ranked, ALL_RANKED)) if each is here and where == place
    )
    if final <= limit:
        return WhyNot("shown", "It is among the hits.", ranks.words, ranks.meaning, final, score)
    before = [rank for rank in (ranks.words, ranks.meaning) if rank is not None]
    if before and min(before) <= limit:
        reason = f"Words or meaning alone put it at {min(before)}, both together at {final} of {limit}."
        return WhyNot("fusion", reason, ranks.words, ranks.meaning, final, score)
    return WhyNot(
        "limit", f"It stands at {final}; the limit is {limit}.", ranks.words, ranks.meaning, final, score
    )
