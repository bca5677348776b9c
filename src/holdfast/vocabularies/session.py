"""Where a vocabulary is spoken, how its words are read, and the work they come to: shared by all vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple
from uuid import UUID

from holdfast.contracts.host import Clock
from holdfast.contracts.storage import Job
from holdfast.domain.errors import InvalidField, Unavailable
from holdfast.domain.limits import Limits, check_list, check_lookup_key, check_words
from holdfast.domain.principal import Caller
from holdfast.operations import remember
from holdfast.operations.engine import Engine
from holdfast.operations.notes import Asked
from holdfast.operations.results import Remembered, Similar
from holdfast.operations.work import Write
from holdfast.storage.sealed_store import Filter

BRIEF_CHARACTERS = 4_096

SpaceId = UUID | str | None
"""How a caller names a space: its id, its reference, `kind:reference`, or nothing for the own one."""


class Session(NamedTuple):
    """Where a vocabulary is spoken: an engine (None when memory is off, with the reason) and a caller. Limits and the
    clock are the engine's; they stand here because words are checked while memory is off too. A named tuple, because
    one is made for every request."""

    engine_or_none: Engine | None
    caller: Caller
    limits: Limits
    clock: Clock
    reason: str = ""

    @property
    def is_off(self) -> bool:
        return self.engine_or_none is None

    @property
    def is_remote(self) -> bool:
        return self.engine_or_none is not None and self.engine_or_none.sealed.store.remote

    @property
    def engine(self) -> Engine:
        if self.engine_or_none is None:
            raise Unavailable(self.reason or None)
        return self.engine_or_none


def remembering(
    session: Session, asked: Asked, similar: Callable[[UUID], list[Similar]] | None = None
) -> Write[Remembered]:
    off = None
    if session.engine_or_none is None:
        off = partial(
            remember.not_kept, session.limits, session.caller, asked, session.reason, session.clock()
        )
    return Write(partial(_remember, session, asked, similar), off, _is_brief(asked))


def _is_brief(asked: Asked) -> bool:
    """A short note of the caller's own. To enter other spaces the host may be asked, who must be free to write."""
    draft = asked.draft
    return (
        asked.space is None
        and draft.supersedes is None
        and draft.derived_from is None
        and isinstance(draft.text, str)
        and len(draft.text) <= BRIEF_CHARACTERS
    )


def _remember(
    session: Session, asked: Asked, similar: Callable[[UUID], list[Similar]] | None
) -> Job[Remembered]:
    return remember.remember(session.engine, session.caller, asked, similar)


def key_of(key: object) -> str | None:
    """What an absent key means is for the operation to say."""
    return None if key is None else check_lookup_key(key)


def name_of(key: object) -> str | None:
    """A key where nothing is found without one: a blank one says as little as none."""
    found = key_of(key)
    return None if found is None or not found.strip() else found


def filter_of(prefix: object, category: object = None, tag: object = None) -> Filter:
    return Filter(
        "",
        check_words("prefix", prefix),
        None if category is None else check_words("category", category),
        None if tag is None else check_words("tag", tag),
    )


def space_of(space: object) -> SpaceId:
    """Only an id or a reference may be said: a space that is described whole could be described falsely."""
    if space is None or isinstance(space, UUID | str):
        return space
    raise InvalidField("Name a space by its id, its reference, or kind:reference.")


def tags_of(tags: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if tags is None else check_list("tags", tags)
