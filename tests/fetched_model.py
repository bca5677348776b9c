"""The real weights for tests that need them. `make test` fetches them first; a test without them fails and says so."""

from pathlib import Path

from holdfast.search.embedding.models import GTE_SMALL
from holdfast.settings import load


def fetched_model() -> Path:
    """The folder of gte-small in the model directory of this user."""
    folder = load().model_dir / GTE_SMALL.name
    assert (folder / "manifest.json").is_file(), (
        f"{GTE_SMALL.name} is not in {folder.parent}: run `make model`, which needs a network or HOLDFAST_MODEL_SOURCE"
    )
    return folder
