"""The real model, loaded once."""

import pytest

from holdfast.search.embedding.gte import OnnxEmbedder
from tests.fetched_model import fetched_model


@pytest.fixture(scope="session")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder(fetched_model())
