"""Many memories at once: rows are read one by one, so that one that cannot be used takes nothing from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from holdfast.domain.errors import HoldfastError, InvalidField, MissingValue
from holdfast.domain.limits import check_flag
from holdfast.domain.profile import CORE, INTERNAL, Profile
from holdfast.operations import remember
from holdfast.operations.notes import Asked, NoteInput
from holdfast.operations.remember import MANY
from holdfast.operations.results import Outcome
from holdfast.operations.work import Write
from holdfast.vocabularies.session import Session, space_of, tags_of

Row = Mapping[str, Any] | HoldfastError
"""The arguments of remember(), or why a door could not read them."""
_ARGUMENTS = frozenset(NoteInput._fields) - {"namespace"} | {"space", "in_context"}


def remember_many(session: Session, rows: Sequence[Row]) -> list[Outcome]:
    """In batches, so that other writers get their turn. What was committed is answered, whatever becomes of the rest:
    an error after the first batch is the outcome of every row from there on."""
    outcomes: list[Outcome] = []
    for start in range(0, len(rows), MANY):
        asked = [_asked(row) for row in rows[start : start + MANY]]
        try:
            outcomes += session.engine.write(
                Write(partial(remember.remember_many, session.engine, session.caller, asked))
            )
        except HoldfastError as failure:
            if not outcomes:
                raise
            return outcomes + [Outcome(error=failure)] * (len(rows) - start)
    return outcomes


def not_kept(session: Session, row: Row) -> Outcome:
    """What a row comes to while memory is off."""
    asked = _asked(row)
    if isinstance(asked, HoldfastError):
        return Outcome(error=asked)
    try:
        return Outcome(
            remember.not_kept(session.limits, session.caller, asked, session.reason, session.clock())
        )
    except HoldfastError as refusal:
        return Outcome(error=refusal)


def named(row: Any) -> dict[str, Any]:
    """What a row says, by the names of remember()'s arguments."""
    try:
        said = dict(row)
    except (TypeError, ValueError):
        raise InvalidField("A row is a mapping of remember()'s arguments.") from None
    if not said.keys() <= _ARGUMENTS:
        unknown = next(name for name in said if name not in _ARGUMENTS)
        raise InvalidField(f"remember() has no argument `{unknown}`.")
    return said


def profile_of(in_context: object) -> Profile:
    return CORE if check_flag("in_context", in_context) else INTERNAL


def _asked(row: Row) -> Asked | HoldfastError:
    if isinstance(row, HoldfastError):
        return row
    try:
        said = named(row)
        space, profile = space_of(said.pop("space", None)), profile_of(said.pop("in_context", True))
        if "text" not in said:
            raise MissingValue
        return Asked(profile, space, NoteInput(**said | {"tags": tags_of(said.get("tags"))}))
    except HoldfastError as refusal:
        return refusal
