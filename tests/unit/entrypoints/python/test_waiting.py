"""Writes that an event loop awaits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import holdfast


def test_a_refused_write_among_others_is_told_with_them(tmp_path: Path) -> None:
    async def write() -> Sequence[Any]:
        async with await holdfast.aopen(tmp_path, embedder="none", sweep_seconds=0) as memory:
            ada = memory.user("ada")
            await ada.remember("first", key="first")
            return await asyncio.gather(
                ada.remember("one", key="one"),
                ada.remember("stale", key="first", expected_revision=7),
                ada.remember("two", key="two"),
                return_exceptions=True,
            )

    one, stale, two = asyncio.run(write())
    assert (one.created, two.created) == (True, True)
    with pytest.raises(holdfast.errors.PreconditionFailed):
        raise stale
