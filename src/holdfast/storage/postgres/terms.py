"""The word index: blind terms as numbers in one array an entry, under a GIN index. Rows are collected while a job runs
and sent with the commit; nothing in a transaction reads them."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from holdfast.contracts.rows import IndexText
from holdfast.storage.postgres.connections import BigintArray, OnConnection, Reader
from holdfast.storage.postgres.statements import Statement, Values, of_space


class TermReads:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def places(self, space: UUID, terms: Sequence[str]) -> list[str]:
        asked = list(map(term_number, terms))
        if not asked:
            return []
        values = {"space": space, "asked": BigintArray.of(list(dict.fromkeys(asked)))}
        found: dict[int, str] = dict(self._reader.rows(_PLACES, values))
        return [found.get(number, "") for number in asked]


_PLACES = of_space(
    "terms.places",
    """
    SELECT places.term, places.places
      FROM (SELECT %(space)s::uuid AS id) AS asked
     CROSS JOIN holdfast.places(%(asked)s::bigint[]) AS places
     WHERE asked.id = holdfast.entered()
    """,
)
"""The function reads the entered space, whichever is named here: see migrations/0001_engine.sql."""


class TermWrites:
    def __init__(self, tx: OnConnection) -> None:
        self._tx = tx
        self._put: dict[tuple[UUID, int], Values] = {}

    def put(self, space: UUID, number: int, text: IndexText, *, replaces: bool) -> None:  # noqa: ARG002
        hint, tags, key, body = (list(map(term_number, field.split())) for field in text)
        self._put[space, number] = {
            "space": space,
            "number": number,
            "tags_from": len(hint),
            "key_from": len(hint) + len(tags),
            "body_from": len(hint) + len(tags) + len(key),
            "terms": BigintArray.of(hint + tags + key + body),
        }

    def drop(self, space: UUID, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._put.pop((space, number), None)
        self._tx.run(_DROP, {"space": space, "numbers": list(numbers)})

    def drop_space(self, space: UUID) -> None:
        self._put = {place: values for place, values in self._put.items() if place[0] != space}
        self._tx.run(_DROP_SPACE, {"space": space})

    def left(self) -> list[tuple[Statement, list[Values]]]:
        """What is still to be written before the commit, a batch a space."""
        spaces: dict[UUID, list[Values]] = {}
        for (space, _), values in sorted(self._put.items()):
            spaces.setdefault(space, []).append(values)
        return [(_PUT, batch) for batch in spaces.values()]


_PUT = of_space(
    "terms.put",
    """
    INSERT INTO holdfast.terms (space_id, number, tags_from, key_from, body_from, terms)
    VALUES (%(space)s, %(number)s, %(tags_from)s, %(key_from)s, %(body_from)s, %(terms)s::bigint[])
    ON CONFLICT (space_id, number)
    DO UPDATE SET tags_from = excluded.tags_from,
                  key_from = excluded.key_from,
                  body_from = excluded.body_from,
                  terms = excluded.terms
    """,
)
_DROP = of_space(
    "terms.drop",
    "DELETE FROM holdfast.terms WHERE space_id = %(space)s AND number = ANY (%(numbers)s::bigint[])",
)
_DROP_SPACE = of_space("terms.drop_space", "DELETE FROM holdfast.terms WHERE space_id = %(space)s")


def term_number(term: str) -> int:
    """A blind term (12 letters and digits at most) as a number of its own; the leading 1 keeps leading zeros."""
    return int("1" + term, 36)
