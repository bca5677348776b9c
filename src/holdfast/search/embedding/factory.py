"""An embedder of the host's own, named `module:factory`: calling the factory without arguments gives an object with
`model_id`, `dimensions`, `embed(text)` -> any sequence of numbers, and perhaps `embed_query(text)`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.contracts.embedder import EmbedderBroken
from holdfast.search.embedding.vectors import unit_vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class HostEmbedder:
    """Somebody else's object behind our contract; whatever it raises becomes EmbedderBroken."""

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
