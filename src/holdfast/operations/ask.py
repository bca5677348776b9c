"""What a caller asks a recall for, checked. Apart from recall itself, which needs numpy: asking does not."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.domain.errors import InvalidField, MissingField
from holdfast.domain.partition import Partition
from holdfast.operations.authorize import SpaceRef

MAX_QUESTION = 8_192
"""Characters of a question that are read."""


@dataclass(frozen=True, slots=True)
class Ask:
    """All filters must hold. Times are microseconds, both included."""

    query: str
    partitions: tuple[Partition, ...]
    limit: int = 10
    spaces: tuple[SpaceRef, ...] | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    since_us: int | None = None
    until_us: int | None = None
    explain: bool = False
    namespace: str = ""
    """Empty: whichever."""

    @property
    def lists(self) -> bool:
        """A question without a letter or a digit asks for nothing in particular: who answers it, lists."""
        return not any(map(str.isalnum, self.query))


def check_question(query: object) -> str:
    """Any text is a question; of a very long one the beginning counts."""
    if query is None:
        raise MissingField("`query` is required.")
    if not isinstance(query, str):
        raise InvalidField("A query is text.")
    return query[:MAX_QUESTION]
