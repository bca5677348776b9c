"""Opens the configured embedder: the default model, a model folder, an OpenAI-compatible endpoint, or a factory of
the host."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.contracts.host import Embedder, EmbedderBroken
from holdfast.domain.errors import InvalidField
from holdfast.recall.embedding.models import installed
from holdfast.settings import Settings, refuse_telemetry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NOT_FETCHED = "The embedder's model is not here; until `holdfast model fetch`: words only."
SWITCHED_OFF = "HOLDFAST_EMBEDDER=none: words only."


@dataclass(frozen=True, slots=True)
class Choice:
    """An embedder, or the reason why recall goes by words alone."""

    embedder: Embedder | None
    reason: str | None = None


def choose_embedder(settings: Settings) -> Choice:
    """Opens the configured embedder. A missing or broken one gives a reason; an unknown word raises InvalidField."""
    try:
        match settings.embedder:
            case "none":
                return Choice(None, SWITCHED_OFF)
            case "default":
                for folder, _ in installed(settings.model_dir):
                    from holdfast.recall.embedding.onnx_embedder import OnnxEmbedder

                    return Choice(OnnxEmbedder(folder))
                return Choice(None, NOT_FETCHED)
            case "openai":
                from holdfast.recall.embedding.openai_endpoint import EndpointEmbedder

                return Choice(
                    EndpointEmbedder(settings.embedder_url, settings.embedder_model, settings.embedder_key)
                )
            case name if all(name.partition(":")):
                return Choice(open_factory(name))
            case _:
                raise InvalidField("HOLDFAST_EMBEDDER is `default`, `none`, `openai` or `module:factory`.")
    except EmbedderBroken as broken:
        return Choice(None, str(broken))


class HostEmbedder:
    """Wraps the host's object in our contract: whatever it raises becomes EmbedderBroken."""

    def __init__(self, given: Any, name: str) -> None:
        self._given = given
        self._name = name
        self._model_id = _text(given, "model_id", name)
        self._dimensions = _count(given, "dimensions", name)
        if not callable(getattr(given, "embed", None)):
            raise EmbedderBroken(f"{name}: its object has no `embed(text)`.")

    @property
    def model_id(self) -> str:
        return self._model_id

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def embed(self, text: str) -> NDArray[np.float32]:
        return self._vector(self._given.embed, text)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._vector(getattr(self._given, "embed_query", None) or self._given.embed, text)

    def _vector(self, embed: Any, text: str) -> NDArray[np.float32]:
        try:
            values = embed(text)
        except Exception as error:  # a host's code may raise anything; the text must not be in our message
            raise EmbedderBroken(f"{self._name} raised {type(error).__name__}.") from error
        return unit_vector(values, self._dimensions, self._name)


def open_factory(name: str) -> HostEmbedder:
    """Imports the module and calls the factory. Raises EmbedderBroken, which names what is wrong."""
    module_name, _, attribute = name.partition(":")
    try:
        factory: Any = import_module(module_name)
        for part in attribute.split("."):
            factory = getattr(factory, part)
        given = factory()
    except ImportError as error:
        raise EmbedderBroken(f"HOLDFAST_EMBEDDER={name}: {error}; it must be importable here.") from error
    except AttributeError as error:
        raise EmbedderBroken(f"HOLDFAST_EMBEDDER={name}: {error}.") from error
    except Exception as error:  # a host's code may raise anything
        raise EmbedderBroken(
            f"HOLDFAST_EMBEDDER={name}: the factory raised {type(error).__name__}: {error}."
        ) from error
    return HostEmbedder(given, name)


def _text(given: Any, attribute: str, name: str) -> str:
    value = getattr(given, attribute, None)
    if not isinstance(value, str) or not value:
        raise EmbedderBroken(f"{name}: its object needs `{attribute}`, a text that names model and weights.")
    return value


def _count(given: Any, attribute: str, name: str) -> int:
    value = getattr(given, attribute, None)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise EmbedderBroken(f"{name}: its object needs `{attribute}`, a number from 1 up.")
    return value


def onnxruntime() -> Any:
    """The module. Raises ImportError where the extra `embedder` is not installed."""
    refuse_telemetry()
    import onnxruntime as module

    module.disable_telemetry_events()
    return module


def unit_vector(values: Any, dimensions: int | None, who: str) -> NDArray[np.float32]:
    """Scales to unit length. Raises EmbedderBroken for a value that is no vector, has other dimensions or no
    direction."""
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
