"""Many rows asked of a server: one that cannot be sent has its outcome here, and takes nothing from the others."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from holdfast.domain.errors import Backend, HoldfastError
from holdfast.domain.limits import check_list
from holdfast.entrypoints.http.asking import refuse_nothing, sending_work, sending_work_later
from holdfast.operations.answers import Outcome
from holdfast.operations.work import Work
from holdfast.surfaces.core import CoreCalls
from holdfast.surfaces.many import named
from holdfast.surfaces.wire.core_calls import ROW_FIELDS
from holdfast.surfaces.wire.fields import Told, said_by

Entries = Iterable[Mapping[str, Any]]
RowsCall = Callable[[CoreCalls, Entries], Work[list[Outcome]]]

_ARGUMENTS = inspect.signature(CoreCalls.remember)


class Rows:
    def __init__(self, entries: Entries) -> None:
        self._written = [_written(row) for row in check_list("entries", entries)]

    @property
    def sent(self) -> Told:
        return Told(row for row in self._written if not isinstance(row, HoldfastError))

    def outcomes(self, answered: list[Outcome]) -> list[Outcome]:
        """One a row, in order."""
        if len(answered) != len(self.sent):
            raise Backend("The server did not answer every row.")
        rest = iter(answered)
        return [Outcome(error=row) if isinstance(row, HoldfastError) else next(rest) for row in self._written]


def _written(row: object) -> dict[str, Any] | HoldfastError:
    try:
        said = named(row)
        refuse_nothing(ROW_FIELDS, _ARGUMENTS, said)
        return said_by(ROW_FIELDS, said)
    except HoldfastError as refusal:
        return refusal


def sending_rows(call: RowsCall) -> Callable[[Any, Entries], list[Outcome]]:
    send = sending_work(call)

    @wraps(call)
    def method(door: Any, /, entries: Entries) -> list[Outcome]:
        rows = Rows(entries)
        return rows.outcomes(send(door, rows.sent))

    return method


def sending_rows_later(call: RowsCall) -> Callable[[Any, Entries], Awaitable[list[Outcome]]]:
    send = sending_work_later(call)

    @wraps(call)
    async def method(door: Any, /, entries: Entries) -> list[Outcome]:
        rows = Rows(entries)
        return rows.outcomes(await send(door, rows.sent))

    return method
