"""What holds for every test: words alone, unless a test asks for an embedder, and equal random numbers in every run."""

import os
import random

import pytest
from hypothesis import settings

os.environ["HOLDFAST_EMBEDDER"] = "none"
"""Set before anything is collected, so that every fixture and every process that a test starts has it too. The real
model takes a second to load; the tests that want it say so."""

settings.register_profile("fixed", derandomize=True)
settings.register_profile("long")
settings.load_profile("long" if os.environ.get("HOLDFAST_FAULTS") == "long" else "fixed")


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """The order of tests is random, what they draw is not."""
    random.seed(2026)
