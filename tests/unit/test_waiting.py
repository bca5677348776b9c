"""How a loop hears of writes that the store's thread has done."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

import holdfast
from holdfast.entrypoints.python import local
from tests.security.raw import DATABASE

CALLERS = 16
SETTLED_SECONDS = 0.1


def test_a_loop_is_woken_once_all_writes_of_a_commit_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Woken at the first, it would take the interpreter from the thread that still has the others to answer."""

    async def write() -> list[int]:
        async with await holdfast.aopen(tmp_path, embedder="none", sweep_seconds=0) as memory:
            await memory.user("ada").remember("first", key="first")
            lock = apsw.Connection(str(tmp_path / DATABASE))
            lock.execute("BEGIN IMMEDIATE").fetchall()
            writing = [
                asyncio.ensure_future(memory.user("ada").remember(f"{n}", key=f"{n}")) for n in range(CALLERS)
            ]
            await asyncio.sleep(SETTLED_SECONDS)
            landing, loop, done = local._landing(), asyncio.get_running_loop(), []
            wake = loop.call_soon_threadsafe

            def noting(*said: Any, **more: Any) -> Any:
                done.append(len(landing.done))
                return wake(*said, **more)

            monkeypatch.setattr(loop, "call_soon_threadsafe", noting)
            lock.execute("ROLLBACK").fetchall()
            lock.close()
            assert all(kept.created for kept in await asyncio.gather(*writing))
            monkeypatch.undo()
            return done

    assert asyncio.run(write()) == [CALLERS]


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
