"""Reads arguments that several vocabularies share into the values operations take."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from holdfast.domain.errors import InvalidField
from holdfast.domain.limits import check_flag, check_list, check_lookup_key, check_words
from holdfast.domain.partition import MODEL_VISIBLE
from holdfast.domain.times import check_moment
from holdfast.operations.ask import Ask, check_question
from holdfast.storage.sealed_store import Filter

SpaceId = UUID | str | None
"""How a caller names a space: its id, its reference, `kind:reference`, or None for their own."""


def lookup_key(key: object) -> str | None:
    """The key to look up; a missing one is for the operation to refuse."""
    return None if key is None else check_lookup_key(key)


def required_key(key: object) -> str | None:
    """The key to look up, where a blank one counts as missing."""
    found = lookup_key(key)
    return None if found is None or not found.strip() else found


def page_filter(prefix: object, category: object = None, tag: object = None, namespace: str = "") -> Filter:
    return Filter(
        namespace,
        check_words("prefix", prefix),
        None if category is None else check_words("category", category),
        None if tag is None else check_words("tag", tag),
    )


def space_id(space: object) -> SpaceId:
    """Only an id or a reference is accepted: a space described in full could be described falsely."""
    if space is None or isinstance(space, UUID | str):
        return space
    raise InvalidField("Name a space by its id, its reference, or kind:reference.")


def tag_list(tags: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if tags is None else check_list("tags", tags)


def recall_request(
    query: str,
    limit: int,
    spaces: Iterable[SpaceId] | None,
    category: str | None,
    tags: Iterable[str] | None,
    since: datetime | str | None,
    until: datetime | str | None,
    explain: bool = False,
    namespace: str = "",
) -> Ask:
    return Ask(
        check_question(query),
        MODEL_VISIBLE,
        limit,
        None if spaces is None else tuple(space_id(space) for space in check_list("spaces", spaces)),
        None if category is None else check_words("category", category),
        tuple(check_words("tag", tag) for tag in tag_list(tags) or ()),
        None if since is None else check_moment("since", since),
        None if until is None else check_moment("until", until),
        check_flag("explain", explain),
        namespace,
    )
