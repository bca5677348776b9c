"""Embedders of a host's own, good and bad, as `module:factory` would name them."""

from __future__ import annotations

from typing import Any


class Good:
    model_id = "host-1"
    dimensions = 2

    def embed(self, text: str) -> Any:
        return [3, 4]


class Asks(Good):
    def embed_query(self, text: str) -> Any:
        return (0.0, 2.0)


class Fixed(Good):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def embed(self, text: str) -> Any:
        return self.answer


class Raising(Good):
    def embed(self, text: str) -> Any:
        raise RuntimeError(f"cannot take {text}")


class Nameless(Good):
    model_id = ""


class Boundless(Good):
    dimensions = 0


class Mute:
    model_id = "mute"
    dimensions = 2


class Shop:
    good = Good


def failing() -> Good:
    raise OSError("no disk")
