"""The host program's part: the clock, a directory of the objects a principal may see, and the embedder of recall."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol

from holdfast.domain.principal import Principal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Clock(Protocol):
    def __call__(self) -> int:
        """Now, in microseconds since the epoch."""
        ...


class Directory(Protocol):
    def list_accessible_object_ids(self, principal: Principal, level: str) -> Collection[str]:
        """Ids of the systems the principal may `read` or `manage`, and of the chats it takes part in (`chat`)."""
        ...


class EmbedderBroken(Exception):
    """Raised when the embedder cannot be used now; the message says why and what to do."""


class Embedder(Protocol):
    """Text in, unit vector out. Recall works without one: an embedder may be missing, or raise EmbedderBroken."""

    @property
    def model_id(self) -> str:
        """Names the model and its weights: equal ids give equal vectors for equal texts."""
        ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, text: str) -> NDArray[np.float32]:
        """A note's unit vector. Raises EmbedderBroken, also for a text it cannot take."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A question's unit vector, for models that tell questions from notes."""
        ...
