"""The arrays of one space that a ranking reads, and where a term stands in it. Pure values: storage fills them.
Entries are numbered 0..n-1, newest last, so that ties in a ranking go to the newer entry."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]

NOBODY = -1
NO_DAY = -(2**31)
NO_ENTRIES: Ints = np.zeros(0, dtype=np.int32)


class Field(IntEnum):
    """Values of `Occurrences.fields`."""

    HINT = 0
    TAGS = 1
    KEY = 2
    BODY = 3


@dataclass(frozen=True, slots=True)
class Space:
    """A unit is a chunk of an entry. `unit_entry` ascends: the chunks of one entry lie together, and each has one."""

    unit_entry: Ints
    unit_length: Floats  # terms of the chunk; the first chunk's also counts hint, tags and key
    body_start: Ints  # place of the chunk's first term within its entry's body
    conversation: Ints  # number of the conversation, NOBODY without one
    previous: Ints  # the note before in the same conversation, NOBODY at its start
    following: Ints
    speaker: Ints  # number into `names`, NOBODY without one
    names: tuple[str, ...]
    role: Bytes
    traits: Bytes
    characters: Ints
    pinned: Bools
    day: Ints  # days since 1970-01-01 UTC of `at`, NO_DAY where unset

    @property
    def size(self) -> int:
        return len(self.role)


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Every place of some terms in a space: which of the terms, the entry, the field, and the offset among the field's
    terms. In any order."""

    terms: Ints
    entries: Ints
    fields: Bytes
    offsets: Ints

    def counted_as(self, others: Sequence[int]) -> "Occurrences":
        """The same places under other numbers of the terms: the corrections of a mistyped word count as that word."""
        return replace(self, terms=np.array(others, dtype=np.int32)[self.terms])


def neighbours(conversation: Ints, order: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Previous and following note of every entry, by `order` in its conversation; of a tie the newer is last."""
    size = len(conversation)
    previous = np.full(size, NOBODY, dtype=np.int32)
    following = np.full(size, NOBODY, dtype=np.int32)
    by_place = np.lexsort((order, conversation)).astype(np.int32)
    left, right = by_place[:-1], by_place[1:]
    together = (conversation[left] == conversation[right]) & (conversation[left] != NOBODY)
    previous[right[together]] = left[together]
    following[left[together]] = right[together]
    return previous, following
