"""Reads arguments that several vocabularies share into the values operations take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from holdfast.domain.errors import HoldfastError, InvalidField, MissingValue
from holdfast.domain.limits import check_flag, check_list, check_lookup_key, check_words
from holdfast.domain.partition import MODEL_VISIBLE
from holdfast.domain.profile import CORE, INTERNAL, Profile
from holdfast.domain.times import check_moment
from holdfast.operations.notes import NoteInput
from holdfast.operations.read import Ask, check_question
from holdfast.operations.remember import MANY, Row, not_kept, remember_many
from holdfast.operations.results import Outcome
from holdfast.operations.session import Session
from holdfast.storage.sealed_store import Filter

SpaceId = UUID | str | None
"""The name of a space: its id, its reference, `kind:reference`, or None for the caller's own."""


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


RowInput = Mapping[str, Any] | HoldfastError
"""The arguments of remember(), or why they could not be read."""
_ARGUMENTS = frozenset(NoteInput._fields) | {"space", "in_context"}


def remember_rows(session: Session, rows: Sequence[RowInput]) -> list[Outcome]:
    """Remembers in batches, so that other writers get their turn. What was committed is answered, whatever becomes of
    the rest: an error after the first batch is the outcome of every row from there on."""
    outcomes: list[Outcome] = []
    for start in range(0, len(rows), MANY):
        batch = [_row(row) for row in rows[start : start + MANY]]
        try:
            done: list[Outcome] = session.engine.commit(partial(remember_many, session, batch))
        except HoldfastError as failure:
            if not outcomes:
                raise
            return outcomes + [Outcome(error=failure)] * (len(rows) - start)
        outcomes += done
    return outcomes


def not_kept_row(session: Session, row_input: RowInput) -> Outcome:
    """The outcome of a row while memory is off."""
    row = _row(row_input)
    if isinstance(row, HoldfastError):
        return Outcome(error=row)
    try:
        return Outcome(not_kept(session, row.profile, row.arguments))
    except HoldfastError as refusal:
        return Outcome(error=refusal)


def row_arguments(row: Any) -> dict[str, Any]:
    """The row as keyword arguments of remember()."""
    try:
        arguments = dict(row)
    except (TypeError, ValueError):
        raise InvalidField("A row is a mapping of remember()'s arguments.") from None
    if not arguments.keys() <= _ARGUMENTS:
        unknown = next(name for name in arguments if name not in _ARGUMENTS)
        raise InvalidField(f"remember() has no argument `{unknown}`.")
    return arguments


def profile_of(in_context: object) -> Profile:
    return CORE if check_flag("in_context", in_context) else INTERNAL


def _row(row: RowInput) -> Row | HoldfastError:
    if isinstance(row, HoldfastError):
        return row
    try:
        arguments = row_arguments(row)
        space, profile = space_id(arguments.pop("space", None)), profile_of(arguments.pop("in_context", True))
        if "text" not in arguments:
            raise MissingValue
        return Row(profile, space, NoteInput(**arguments | {"tags": tag_list(arguments.get("tags"))}))
    except HoldfastError as refusal:
        return refusal
