"""Many memories at once. Rows are read one by one, so that an unusable one takes nothing from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from holdfast.domain.errors import HoldfastError, InvalidField, MissingValue
from holdfast.domain.limits import check_flag
from holdfast.domain.profile import CORE, INTERNAL, Profile
from holdfast.operations.notes import NoteInput
from holdfast.operations.remember import MANY, Row, not_kept, remember_many
from holdfast.operations.results import Outcome
from holdfast.operations.session import Session
from holdfast.vocabularies.inputs import space_id, tag_list

GivenRow = Mapping[str, Any] | HoldfastError
"""The arguments of remember(), or why they could not be read."""
_ARGUMENTS = frozenset(NoteInput._fields) | {"space", "in_context"}


def remember_rows(session: Session, rows: Sequence[GivenRow]) -> list[Outcome]:
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


def not_kept_row(session: Session, given: GivenRow) -> Outcome:
    """The outcome of a row while memory is off."""
    row = _row(given)
    if isinstance(row, HoldfastError):
        return Outcome(error=row)
    try:
        return Outcome(not_kept(session, row.profile, row.given))
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


def _row(row: GivenRow) -> Row | HoldfastError:
    if isinstance(row, HoldfastError):
        return row
    try:
        given = row_arguments(row)
        space, profile = space_id(given.pop("space", None)), profile_of(given.pop("in_context", True))
        if "text" not in given:
            raise MissingValue
        return Row(profile, space, NoteInput(**given | {"tags": tag_list(given.get("tags"))}))
    except HoldfastError as refusal:
        return refusal
