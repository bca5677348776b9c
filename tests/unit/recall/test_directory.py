"""Where in a snapshot the entry with a number stands, whatever numbers there are."""

import numpy as np
import pytest

from holdfast.recall.snapshot import NumberLookup

LARGEST = (1 << 32) - 1
RANDOM = np.random.default_rng(5)


@pytest.mark.parametrize(
    "numbers",
    [[], [7], [LARGEST, 1], list(range(3_000, 0, -1)), RANDOM.permutation(1 << 20)[:5_000].tolist(),
     RANDOM.integers(1, LARGEST, 5_000).tolist()],
    ids=["none", "one", "the ends", "a row", "small ones", "random"],
)  # fmt: skip
def test_every_number_is_found_and_no_other(numbers: list[int]) -> None:
    known = np.array(list(dict.fromkeys(numbers)), dtype=np.int64)
    asked = np.concatenate((known, RANDOM.integers(0, LARGEST, 1_000), [0, 1, LARGEST]))
    at, found = NumberLookup.of(known).find(asked)
    assert found.tolist() == np.isin(asked, known).tolist()
    assert known[at[found]].tolist() == asked[found].tolist()
