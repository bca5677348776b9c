"""Claiming background work: where many nodes share it, each space is one worker's at a time, whatever the work is. What
is claimed is a row with an end, not a lock: embedding takes longer than a transaction should."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from holdfast.domain.times import SECOND
from holdfast.operations.engine import Engine

LEASE_US = 60 * SECOND

Ours = Callable[[], bool]
"""Prolongs a claim; False once another worker has it."""


@contextmanager
def claimed(engine: Engine, work: str, space: UUID) -> Iterator[Ours | None]:
    """None while another worker is at it; given back at the end."""
    leases = engine.sealed.store.leases
    if leases is None:
        yield _always
        return

    def ours() -> bool:
        now = engine.clock()
        return leases.take(space, work, engine.index.holder, now, now + LEASE_US)

    if not ours():
        yield None
        return
    try:
        yield ours
    finally:
        leases.give_back(space, work, engine.index.holder)


def _always() -> bool:
    return True
