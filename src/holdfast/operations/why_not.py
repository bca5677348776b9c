"""Explains why a recall did not show an entry: the first stage that dropped it, in words a person can act on."""

from __future__ import annotations

from uuid import UUID

from holdfast.domain.access import Op, sees
from holdfast.domain.entry import Entry
from holdfast.domain.errors import AccessDenied, NotFound
from holdfast.domain.grant import Level
from holdfast.domain.limits import check_limit
from holdfast.operations.ask import Ask
from holdfast.operations.authorize import EntryName, find_ref, look_up, opened
from holdfast.operations.recall import authorize_all, open_all
from holdfast.operations.results import WhyNot
from holdfast.operations.session import Session
from holdfast.recall.placement import Placement, placement, rank_among
from holdfast.recall.ranker import newest_candidates, rank

ALL_RANKED = 1_000_000
_UNSEEN = "There is no such entry, it lies in the trash or was removed, or you may not see it."
_EXPIRED = "Its time to live is over; the next sweep removes it."
_BEFORE_ALL_TIME = -1


def why_not(session: Session, ask: Ask, id: str | UUID) -> WhyNot:
    """The first stage that dropped the entry. A missing entry and one the caller may not see both end at `identity`."""
    limit, now = check_limit(ask.limit, session.limits.search_hits), session.clock()
    try:
        ref = find_ref(session, EntryName(id=id, partitions=ask.partitions), Op.SEARCH, now)
        entry = opened(look_up(ref))
    except (NotFound, AccessDenied):
        return (
            WhyNot("expiry", _EXPIRED) if _has_expired(session, ask, id, now) else WhyNot("identity", _UNSEEN)
        )
    serving = session.engine.index.ready()
    searched = open_all(session.engine, authorize_all(session, ask, now), ask, serving)
    here = next((each for each in searched if each.snapshot.space == entry.space), None)
    if here is None:
        return WhyNot("grant", "Its space was not among those searched; name it in `spaces`.")
    position = here.snapshot.position(entry.number)
    if position is None:
        return _held_back(entry)
    if here.mask is not None and not here.mask[position]:
        return WhyNot("filter", "The category, tags or dates asked for leave it out.")
    if ask.query.strip():
        ranked, _ = rank(session.engine.index, searched, ask.query, serving, ALL_RANKED)
        answer = _by_rank(placement(ranked, here, position, ALL_RANKED), limit)
    else:
        answer = _by_age(rank_among(newest_candidates(searched, ALL_RANKED), here, position), limit)
    if ref.access.level is Level.SEARCH and answer.stage != "shown":
        # Ranks count other entries, and a caller who may only search learns no counts.
        return WhyNot(answer.stage, "Others answer the question better.")
    return answer


def _has_expired(session: Session, ask: Ask, id: str | UUID, now: int) -> bool:
    """Says if the caller could see the entry until it expired."""
    try:
        ref = find_ref(session, EntryName(id=id, partitions=ask.partitions), Op.SEARCH, now)
    except (NotFound, AccessDenied):
        return False
    if ref.number is None or not ref.access.space.stored:
        return False
    head = session.sealed.by_number(ref.visible._replace(now=_BEFORE_ALL_TIME), ref.number)
    entry = None if head is None else head.entry
    return (
        entry is not None
        and entry.expires_us is not None
        and entry.expires_us <= now
        and sees(session.caller, ref.access.space, entry, _BEFORE_ALL_TIME)
    )


def _held_back(entry: Entry) -> WhyNot:
    if entry.encrypted:
        return WhyNot("filter", "It was encrypted by its client and cannot be searched.")
    if entry.quarantined:
        return WhyNot("filter", "It is quarantined until a person approves it.")
    return WhyNot("word rank", "It holds no word that could be found.")


def _by_age(rank: int, limit: int) -> WhyNot:
    if rank <= limit:
        return WhyNot("shown", "It is among the newest.", rank=rank)
    return WhyNot("limit", f"{rank - 1} entries changed after it; the limit is {limit}.", rank=rank)


def _by_rank(place: Placement, limit: int) -> WhyNot:
    words, near, final = place.word_rank, place.vector_rank, place.rank
    if final is None:
        stage, reason = "word rank", "No word of the question is in it, nor in the notes beside it."
        if near is not None:
            stage = "vector rank"
            reason = f"No word of the question is in it, and {near - 1} entries are nearer in meaning."
    elif final <= limit:
        stage, reason = "shown", "It is among the hits."
    elif (alone := min(rank for rank in (words, near, ALL_RANKED) if rank is not None)) <= limit:
        stage = "fusion"
        reason = f"Words or meaning alone put it at {alone}, both together at {final}; the limit is {limit}."
    else:
        stage, reason = "limit", f"It stands at {final}; the limit is {limit}."
    return WhyNot(stage, reason, words, near, final, place.score)
