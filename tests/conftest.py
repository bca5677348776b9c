"""What holds for every test: words alone, unless a test asks for an embedder."""

import os

os.environ["HOLDFAST_EMBEDDER"] = "none"
"""Set before anything is collected, so that every fixture and every process that a test starts has it too. The real
model takes a second to load; the tests that want it say so."""
