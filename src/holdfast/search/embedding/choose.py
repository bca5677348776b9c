"""Which embedder the settings ask for. Every kind is imported only when it is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from holdfast.contracts.embedder import Embedder, EmbedderBroken
from holdfast.domain.errors import InvalidField
from holdfast.search.embedding.models import Manifest, installed
from holdfast.settings import Settings

NOT_FETCHED = "The embedder's model is not here; until `holdfast model fetch`: words only."
SWITCHED_OFF = "HOLDFAST_EMBEDDER=none: words only."


@dataclass(frozen=True, slots=True)
class Choice:
    """An embedder, or the reason why recall goes by words alone."""

    embedder: Embedder | None
    reason: str | None = None


def choose_embedder(settings: Settings) -> Choice:
    """An embedder that is missing or broken is a reason, not an error; a word nobody knows is InvalidField."""
    try:
        return _chosen(settings)
    except EmbedderBroken as broken:
        return Choice(None, str(broken))


def open_embedder(settings: Settings) -> Embedder | None:
    """The embedder alone; None where recall goes by words."""
    return choose_embedder(settings).embedder


def local_models(folder: Path) -> list[Manifest]:
    """The models fetched into this folder, the one that `default` takes first."""
    return [manifest for _, manifest in installed(folder)]


def _chosen(settings: Settings) -> Choice:
    match settings.embedder:
        case "none":
            return Choice(None, SWITCHED_OFF)
        case "default":
            return _default(settings.model_dir)
        case "openai":
            from holdfast.search.embedding.endpoint import EndpointEmbedder

            return Choice(
                EndpointEmbedder(settings.embedder_url, settings.embedder_model, settings.embedder_key)
            )
        case name if all(name.partition(":")):
            from holdfast.search.embedding.factory import open_factory

            return Choice(open_factory(name))
        case _:
            raise InvalidField("HOLDFAST_EMBEDDER is `default`, `none`, `openai` or `module:factory`.")


def _default(model_dir: Path) -> Choice:
    for folder, _ in installed(model_dir):
        from holdfast.search.embedding.gte import OnnxEmbedder

        return Choice(OnnxEmbedder(folder))
    return Choice(None, NOT_FETCHED)
