"""The embedder that recall uses: text in, unit vector out. Recall works without one: an embedder may be missing, or
raise EmbedderBroken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class EmbedderBroken(Exception):
    """Raised when the embedder cannot be used now; the message says why and what to do."""


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
        """A question's unit vector, for models that tell questions from notes."""
        ...
