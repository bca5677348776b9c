"""The partitions of a space, one for each vocabulary. Codes are stored: never renumber, only add."""

from __future__ import annotations

from enum import IntEnum


class Partition(IntEnum):
    NOTES = 1
    FACTS = 2
    STORES = 3
    FILES = 4
    ASSISTANT = 5
    HANDLER = 6
    INTERNAL = 7
    RUNS = 8
    CACHE = 9

    __hash__ = int.__hash__
    """Enum's own hash is written in Python, and partitions are hashed in every read."""

    def __init__(self, _: int) -> None:
        self.label = self.name.lower()


MODEL_VISIBLE = (Partition.NOTES, Partition.FACTS, Partition.STORES, Partition.FILES, Partition.ASSISTANT)
"""Partitions that a model may see, in the order that resolves a key found in several of them."""

OWNER_ONLY_IN_USER_SPACES = frozenset({Partition.FILES, Partition.ASSISTANT})
"""Rows only their owner sees, even in a user's space that an agent may enter."""
