"""Moving a store from one backend to another, from Python."""

from __future__ import annotations

import os
from collections.abc import Callable

from holdfast.domain.errors import Unavailable
from holdfast.entrypoints.python.running import place_of
from holdfast.settings import load
from holdfast.storage.migrate_store import Moved, move
from holdfast.wiring import open_engine, open_store_for_moving, system_clock


def move_store(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    key: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Moved:
    """Moves a store to an empty one (a folder, a database file or a URL each), and compares every row. Run again after
    an interruption it goes on. Nobody may write to the source meanwhile; both use the same master key."""
    opened = open_engine(
        load(memory_key=key, embedder="none", **place_of(source)), system_clock, None, required=True
    )
    if opened.engine is None:
        raise Unavailable(opened.reason)
    try:
        store = open_store_for_moving(load(memory_key=key, **place_of(target)), opened)
        try:
            return move(opened.engine.sealed, store, progress)
        finally:
            store.close()
    finally:
        opened.engine.sealed.close()
