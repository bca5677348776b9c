"""The opened word index: where each term stands, and what is left of that after changes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from uuid import UUID

import numpy as np
import pytest

from holdfast.contracts.rows import PLACE_FIELD_SHIFT, PLACE_NUMBER_SHIFT, WordTableRow
from holdfast.recall import word_table
from holdfast.recall.word_table import Longs, Places, WordTable, open_word_table, versions_of

SPACE = UUID(int=1)


def place(number: int, field: str, before: int) -> int:
    return number << PLACE_NUMBER_SHIFT | ord(field) << PLACE_FIELD_SHIFT | before


class Index:
    """A word index as a backend lends it; says which entries were asked for."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[int, list[int]]] = {}
        self.asked: list[list[int] | None] = []

    def put(self, number: int, *terms: int) -> None:
        revision = self.rows[number][0] + 1 if number in self.rows else 1
        self.rows[number] = revision, list(terms)

    def of(self, space: UUID, numbers: Sequence[int] | None = None) -> list[WordTableRow]:
        self.asked.append(None if numbers is None else sorted(numbers))
        wanted = self.rows if numbers is None else numbers
        return [WordTableRow(n, 0, 0, 0, self.rows[n][1]) for n in wanted if n in self.rows]

    def number(self, term: str) -> int:
        return int(term)

    def versions(self) -> Longs:
        numbers = np.array(list(self.rows), dtype=np.int64)
        return versions_of(
            numbers, np.array([revision for revision, _ in self.rows.values()], dtype=np.int32)
        )

    def opened(self, former: WordTable | None = None, key_id: int = 1) -> WordTable:
        return open_word_table(self, SPACE, key_id, self.versions(), former)

    def places(self, term: int) -> list[int]:
        return sorted(
            place(number, "b", before)
            for number, (_, terms) in self.rows.items()
            for before, one in enumerate(terms)
            if one == term
        )


def found(opened: WordTable, term: int) -> list[int]:
    return sorted(opened.find(term).tolist())


def test_a_place_tells_the_entry_the_field_and_the_terms_before_it() -> None:
    rows = [WordTableRow(7, 1, 2, 4, [10, 20, 30, 10, 10, 40]), WordTableRow(9, 0, 0, 0, [10])]
    places = Places.of(rows)
    assert sorted(places.find(10).tolist()) == [
        place(7, "b", 0),
        place(7, "h", 0),
        place(7, "k", 1),
        place(9, "b", 0),
    ]
    assert places.find(20).tolist() == [place(7, "t", 0)]
    assert places.find(40).tolist() == [place(7, "b", 1)]
    assert places.find(50).tolist() == []


def test_only_what_came_or_changed_is_read_again() -> None:
    index = Index()
    for number in (1, 2, 3):
        index.put(number, 10, number)
    first = index.opened()
    index.put(2, 20)
    index.put(4, 10)
    del index.rows[3]
    second = index.opened(first)
    assert index.asked == [None, [2, 4]]
    assert found(second, 10) == index.places(10)
    assert found(second, 3) == []
    assert found(first, 3) != [], "who still looks at the former one sees it as it was"


def test_nothing_is_read_when_nothing_changed() -> None:
    index = Index()
    index.put(1, 10)
    first = index.opened()
    assert index.opened(first) is first
    assert index.asked == [None]


def test_an_entry_that_was_away_while_words_were_read_is_read_once_it_is_back() -> None:
    index = Index()
    index.put(1, 10)
    index.put(2, 10)
    seen, away = index.versions(), index.rows.pop(2)
    first = open_word_table(index, SPACE, 1, seen, None)
    index.rows[2] = away
    second = index.opened(first)
    assert found(second, 10) == index.places(10)
    assert index.asked == [None, [2]]


def test_another_key_gives_every_word_another_number_so_all_is_read() -> None:
    index = Index()
    index.put(1, 10)
    index.opened(index.opened(key_id=1), key_id=2)
    assert index.asked == [None, None]


@pytest.mark.parametrize("most", [0, 5, 1_000])
def test_after_any_changes_every_term_stands_where_the_index_has_it(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_table, "LEAST_MERGED", most)
    monkeypatch.setattr(word_table, "MOST_CHANGED", most)
    random_ = random.Random(most)
    index, opened = Index(), None
    for _ in range(200):
        for _ in range(random_.randrange(3)):
            index.put(random_.randrange(30), *(random_.randrange(8) for _ in range(random_.randrange(6))))
        if index.rows and random_.random() < 0.3:
            del index.rows[random_.choice(list(index.rows))]
        opened = index.opened(opened)
        assert all(found(opened, term) == index.places(term) for term in range(8))
