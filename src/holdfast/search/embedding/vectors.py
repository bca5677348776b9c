"""What comes from outside made a vector of the contract: float32, unit length, finite, of the promised dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.contracts.embedder import EmbedderBroken

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def unit_vector(values: Any, dimensions: int | None, who: str) -> NDArray[np.float32]:
    """Raises EmbedderBroken, naming who gave it, for what is no vector, has other dimensions or no direction."""
    import numpy as np

    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbedderBroken(f"{who} gave something that is not a list of numbers.") from error
    if vector.ndim != 1 or vector.size == 0:
        raise EmbedderBroken(f"{who} gave an array of shape {vector.shape}, not one vector.")
    if dimensions is not None and vector.size != dimensions:
        raise EmbedderBroken(f"{who} gave {vector.size} dimensions, not {dimensions}.")
    with np.errstate(over="ignore"):  # a length that overflows is refused below
        length = float(np.linalg.norm(vector))
    if not np.isfinite(vector).all() or not 0.0 < length < float("inf"):
        raise EmbedderBroken(f"{who} gave a vector that is zero or not finite.")
    unit: NDArray[np.float32] = (vector / length).astype(np.float32)
    return unit
