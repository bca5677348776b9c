"""Marks on everything that is stored: where one turns up, it is known whose it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tests.isolation.model import Row, State

LETTERS = "bcdfghjklmnprtvw"
"""Sixteen, none of which an English stemmer would take off."""
MARK = re.compile(rb"zq[bcdfghjklmnprtvw]{5}x")
IDS = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def in_bytes(text: bytes) -> set[bytes]:
    """In whatever case it was shown."""
    return set(MARK.findall(text.lower()))


def in_state(state: State) -> Iterator[bytes]:
    for part in (state.key, state.text, state.hint, state.category, state.speaker or "", *state.tags):
        if "zq" in part:
            yield from MARK.findall(part.encode())


class Marks:
    def __init__(self) -> None:
        self._made = 0
        self._rows: dict[bytes, list[Row]] = {}

    def new(self) -> str:
        self._made += 1
        digits = (LETTERS[(self._made >> shift) & 15] for shift in (16, 12, 8, 4, 0))
        return f"zq{''.join(digits)}x"

    def was_made(self, mark: bytes) -> bool:
        """Sealed cursors and tokens look like one now and then: in a million calls, once."""
        number = 0
        for letter in mark.decode()[2:-1]:
            number = number << 4 | LETTERS.index(letter)
        return 0 < number <= self._made

    def lie_in(self, row: Row, states: Iterable[State]) -> None:
        for state in states:
            for mark in in_state(state):
                lies = self._rows.setdefault(mark, [])
                if row not in lies:
                    lies.append(row)

    def where(self, mark: bytes) -> list[Row]:
        """Where a mark lies, or lay: in one entry, or in more when a write was said again. One that no entry took is
        nobody's."""
        return self._rows.get(mark, [])
