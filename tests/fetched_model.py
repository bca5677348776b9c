"""The real weights for tests that need them. `make test` fetches them first; a test without them fails and says so."""

from pathlib import Path

from holdfast.recall.embedding.models import GTE_SMALL
from holdfast.settings import load


def model_folder() -> Path:
    """Where gte-small is, or would be, among the models of this user."""
    return load().model_dir / GTE_SMALL.name


def fetched_model() -> Path:
    folder = model_folder()
    assert (folder / "manifest.json").is_file(), (
        f"{GTE_SMALL.name} is not in {folder.parent}: run `make model`, which needs a network or HOLDFAST_MODEL_SOURCE"
    )
    return folder
