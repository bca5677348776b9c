"""The word index: blind terms as numbers in one array for each entry, under a GIN index. Rows are collected while a
job runs and sent with the commit; nothing in a transaction reads them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from uuid import UUID

from holdfast.contracts.rows import IndexText, WordTableRow
from holdfast.storage.postgres.connections import BigintArray, OnConnection, Reads
from holdfast.storage.postgres.statements import Bound, Values, of_space


class TermReads(Reads):
    def places(self, space: UUID, terms: Sequence[str]) -> list[str]:
        numbers = list(map(term_number, terms))
        if not numbers:
            return []
        values = {"space": space, "asked": BigintArray.of(list(dict.fromkeys(numbers)))}
        found: dict[int, str] = dict(self._reader.rows(_PLACES, values))
        return [found.get(number, "") for number in numbers]

    def places_in(self, requests: Sequence[tuple[UUID, Sequence[str]]]) -> list[list[str]]:
        """Reads one space after the other, because a statement reads one space."""
        return [self.places(space, terms) for space, terms in requests]


_PLACES = of_space(
    "terms.places",
    """
    SELECT places.term, places.places
      FROM (SELECT %(space)s::uuid AS id) AS asked
     CROSS JOIN holdfast.places(%(asked)s::bigint[]) AS places
     WHERE asked.id = holdfast.entered()
    """,
)
"""The function reads the entered space, whatever is named here: see migrations/0001_schema.sql."""


class WordTableReads(Reads):
    def of(self, space: UUID, numbers: Sequence[int] | None = None) -> list[WordTableRow]:
        if numbers is None:
            rows = self._reader.rows(_WORD_TABLE, {"space": space})
        else:
            rows = self._reader.rows(_WORD_TABLE_NUMBERS, {"space": space, "numbers": list(numbers)})
        return list(map(WordTableRow._make, rows))

    def number(self, term: str) -> int:
        return term_number(term)


_WORD_TABLE = of_space(
    "word_table.of",
    """
    SELECT number, tags_from, key_from, body_from, terms
      FROM holdfast.terms
     WHERE space_id = %(space)s
    """,
)
_WORD_TABLE_NUMBERS = of_space(
    "word_table.of, numbers",
    """
    SELECT number, tags_from, key_from, body_from, terms
      FROM holdfast.terms
     WHERE space_id = %(space)s
       AND number = ANY (%(numbers)s::bigint[])
    """,
)


class TermWrites:
    def __init__(self, tx: OnConnection) -> None:
        self._tx = tx
        self._put: dict[UUID, dict[int, WordTableRow]] = {}

    def put(self, space: UUID, number: int, text: IndexText, *, replaces: bool) -> None:  # noqa: ARG002
        hint, tags, key, body = (list(map(term_number, field.split())) for field in text)
        tags_from, key_from = len(hint), len(hint) + len(tags)
        row = WordTableRow(number, tags_from, key_from, key_from + len(key), hint + tags + key + body)
        self._put.setdefault(space, {})[number] = row

    def drop(self, space: UUID, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._put.get(space, {}).pop(number, None)
        self._tx.run(_DROP, {"space": space, "numbers": list(numbers)})

    def drop_space(self, space: UUID) -> None:
        self._put.pop(space, None)
        self._tx.run(_DROP_SPACE, {"space": space})

    def left(self) -> list[Bound]:
        """Hands over the deferred rows, the rows of a space in one statement with their terms concatenated."""
        return [(_PUT, _together(space, list(rows.values()))) for space, rows in self._put.items() if rows]


def _together(space: UUID, rows: list[WordTableRow]) -> Values:
    ends = list(accumulate(len(row.terms) for row in rows))
    return {
        "space": space,
        "numbers": [row.number for row in rows],
        "tags_from": [row.tags_from for row in rows],
        "key_from": [row.key_from for row in rows],
        "body_from": [row.body_from for row in rows],
        "ends": ends,
        "terms": BigintArray.of([term for row in rows for term in row.terms]),
    }


_PUT = of_space(
    "terms.put",
    """
    INSERT INTO holdfast.terms (space_id, number, tags_from, key_from, body_from, terms)
    SELECT %(space)s, row.number, row.tags_from, row.key_from, row.body_from,
           (%(terms)s::bigint[])[coalesce(lag(row.upto) OVER (ORDER BY row.nth), 0) + 1 : row.upto]
      FROM unnest(%(numbers)s::bigint[], %(tags_from)s::integer[], %(key_from)s::integer[],
                  %(body_from)s::integer[], %(ends)s::integer[])
           WITH ORDINALITY AS row (number, tags_from, key_from, body_from, upto, nth)
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
    """A blind term (at most 12 letters and digits) as a number; the leading 1 keeps leading zeros."""
    return int("1" + term, 36)
