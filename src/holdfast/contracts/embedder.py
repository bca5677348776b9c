"""What recall needs from an embedder: one text in, one unit vector out. Words alone must always be enough, so an
embedder may be missing or break; it then says so with EmbedderBroken and recall goes on without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class EmbedderBroken(Exception):
    """The embedder cannot be used now; the message says why and what to do."""


class Embedder(Protocol):
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
        """A question's unit vector: the same as `embed`, but for models that tell the two apart."""
        ...
