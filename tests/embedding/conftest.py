"""The real model, loaded once."""

import pytest

from holdfast.recall.embedding.onnx_embedder import OnnxEmbedder
from tests.fetched_model import fetched_model


@pytest.fixture(scope="session")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder(fetched_model())
