"""Why a recall did not show an entry: the first stage that dropped it, in words a person can act on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from holdfast.domain.access import Op, sees
from holdfast.domain.entry import Entry
from holdfast.domain.errors import AccessDenied, NotFound
from holdfast.domain.grant import Level
from holdfast.domain.limits import check_limit
from holdfast.domain.principal import Caller
from holdfast.operations.ask import Ask
from holdfast.operations.authorize import EntryName, look_up, opened, seek
from holdfast.operations.engine import Engine
from holdfast.operations.rank import Candidate, RankedGroup, SearchedSpace, best, rank
from holdfast.operations.recall import enter_all, newest, open_all
from holdfast.recall.arrays import Floats

ALL_RANKED = 1_000_000
_UNSEEN = "There is no such entry, it lies in the trash or was removed, or you may not see it."
_EXPIRED = "Its time to live is over; the next sweep removes it."
_BEFORE_ALL_TIME = -1


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
        sought = seek(engine, caller, EntryName(id=id, partitions=ask.partitions), Op.SEARCH, now)
        entry = opened(look_up(engine, sought))
    except (NotFound, AccessDenied):
        return (
            WhyNot("expiry", _EXPIRED)
            if _has_expired(engine, caller, ask, id, now)
            else WhyNot("identity", _UNSEEN)
        )
    serving = engine.index.ready()
    searched = open_all(engine, enter_all(engine, caller, ask, now), ask, serving)
    at = next((at for at, each in enumerate(searched) if each.view.space == entry.space), None)
    if at is None:
        return WhyNot("grant", "Its space was not among those searched; name it in `spaces`.")
    place = searched[at].view.position(entry.number)
    if place is None:
        return _held_back(entry)
    wanted = searched[at].wanted
    if wanted is not None and not wanted[place]:
        return WhyNot("filter", "The category, tags or dates asked for leave it out.")
    if ask.query.strip():
        ranked, _ = rank(engine, searched, ask.query, serving, ALL_RANKED)
        told = _by_rank(ranked, searched[at], place, limit)
    else:
        told = _by_age(newest(searched, ALL_RANKED), searched[at], place, limit)
    return _uncounted(told) if sought.entered.level is Level.SEARCH else told


def _uncounted(told: WhyNot) -> WhyNot:
    """A place far down says how many others there are, and who may only search is not told counts."""
    return told if told.stage == "shown" else WhyNot(told.stage, "Others answer the question better.")


def _has_expired(engine: Engine, caller: Caller, ask: Ask, id: str | UUID, now: int) -> bool:
    """Whether the caller could see the entry until its time was over."""
    try:
        sought = seek(engine, caller, EntryName(id=id, partitions=ask.partitions), Op.SEARCH, now)
    except (NotFound, AccessDenied):
        return False
    if sought.number is None or not sought.entered.space.stored:
        return False
    head = engine.sealed.by_number(sought.visible._replace(now=_BEFORE_ALL_TIME), sought.number)
    entry = None if head is None else head.entry
    return (
        entry is not None
        and entry.expires_us is not None
        and entry.expires_us <= now
        and sees(caller, sought.entered.space, entry, _BEFORE_ALL_TIME)
    )


def _held_back(entry: Entry) -> WhyNot:
    if entry.encrypted:
        return WhyNot("filter", "It was encrypted by its client and cannot be searched.")
    if entry.quarantined:
        return WhyNot("filter", "It is quarantined until a person approves it.")
    return WhyNot("word rank", "It holds no word that could be found.")


def _by_age(order: Sequence[Candidate], here: SearchedSpace, place: int, limit: int) -> WhyNot:
    final = _place_in(order, here, place)
    if final <= limit:
        return WhyNot("shown", "It is among the newest.", rank=final)
    return WhyNot("limit", f"{final - 1} entries changed after it; the limit is {limit}.", rank=final)


def _by_rank(ranked: Sequence[RankedGroup], here: SearchedSpace, place: int, limit: int) -> WhyNot:
    own, at = next(
        (each.ranking, at) for each in ranked if (at := each.group.place_of(here, place)) is not None
    )
    score = float(own.scores[at])
    words = _rank_in([each.ranking.words for each in ranked], own.words[at])
    near = _rank_in([each.ranking.meaning for each in ranked], own.meaning[at])
    if not own.hits[at]:
        if near is None:
            reason = "No word of the question is in it, nor in the notes beside it."
            return WhyNot("word rank", reason, words, near, None, score)
        reason = f"No word of the question is in it, and {near - 1} entries are nearer in meaning."
        return WhyNot("vector rank", reason, words, near, None, score)
    final = _place_in(best(ranked, ALL_RANKED), here, place)
    if final <= limit:
        return WhyNot("shown", "It is among the hits.", words, near, final, score)
    alone = min(rank for rank in (words, near, ALL_RANKED) if rank is not None)
    if alone <= limit:
        reason = f"Words or meaning alone put it at {alone}, both together at {final}; the limit is {limit}."
        return WhyNot("fusion", reason, words, near, final, score)
    return WhyNot("limit", f"It stands at {final}; the limit is {limit}.", words, near, final, score)


def _rank_in(scores: Sequence[Floats], own: float) -> int | None:
    """The place of a score among those of all searched spaces; None for one of nothing."""
    if own <= 0.0:
        return None
    return 1 + sum(int(np.count_nonzero(each > own)) for each in scores)


def _place_in(order: Sequence[Candidate], here: SearchedSpace, place: int) -> int:
    return 1 + next(
        at for at, chosen in enumerate(order) if chosen.searched is here and chosen.place == place
    )
