"""Settle: derive what recall needs from entries that were committed, one text at a time, in the background. It goes on
where it stopped, in whatever process, and lets another model take over once its vectors are all there."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING
from uuid import UUID

from holdfast.contracts.embedder import Embedder, EmbedderBroken
from holdfast.contracts.rows import (
    FEATURES_ONLY,
    FOLLOWING,
    DerivedRow,
    EntryRow,
    SpaceState,
)
from holdfast.contracts.storage import Transaction
from holdfast.domain.entry import Entry
from holdfast.domain.errors import HoldfastError, Unavailable
from holdfast.operations.change_model import take_over
from holdfast.operations.claim import claimed
from holdfast.operations.engine import Engine
from holdfast.recall.index import IndexStatus, takes_others
from holdfast.storage.features import seal_features
from holdfast.storage.keyring import StaleKeys
from holdfast.text.traits import embedding_text

if TYPE_CHECKING:
    from holdfast.recall.arrays import Floats
    from holdfast.recall.snapshot import SpaceSnapshot

BATCH = 32
SIGNALS_BATCH = 256
SPACES = 64
POLL_SECONDS = 5.0
"""How soon the writes of other processes are seen."""
QUIET_SECONDS = 0.25
"""Without a write of this process for so long, the store is tidied."""
STEP_SECONDS = 0.05
LONGEST_STEP_SECONDS = 0.5

log = logging.getLogger("holdfast")
Stopped = Callable[[], bool]


def settle(engine: Engine, timeout: float) -> IndexStatus:
    """Returns once every committed entry has its vector; at once when no embedder is configured."""
    deadline, pause = time.monotonic() + timeout, STEP_SECONDS
    while (embedder := engine.index.embedder()) is not None:
        engine.index.wake()
        if _has_settled(engine, embedder):
            return engine.index.status()
        if time.monotonic() > deadline:
            pending = engine.index.status().pending
            raise Unavailable(f"{pending} entries still wait for their vector; wait longer.")
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_STEP_SECONDS)
    if engine.index.broken:
        raise Unavailable(f"The embedder cannot be used: {engine.index.broken}")
    return engine.index.status()


def _has_settled(engine: Engine, embedder: Embedder) -> bool:
    row = engine.index.named(embedder.model_id)
    return row is not None and row.state != FOLLOWING and not engine.sealed.store.derived.behind(row.model, 1)


def settle_all(engine: Engine, stopped: Stopped = lambda: False) -> int:
    """Derives whatever waits; says for how many entries."""
    index = engine.index
    waiting = engine.sealed.store.derived.behind
    serving = index.serving()
    done = 0
    while index.asked and serving is None:
        done += _settle_space(engine, None, FEATURES_ONLY, index.asked.pop(), stopped)
    if not waiting(serving.model if serving else FEATURES_ONLY, 1) and not _others_wait(engine):
        return done
    embedder = index.embedder()
    row = None if embedder is None else index.named(embedder.model_id)
    if embedder is None or row is None:
        return done
    while not stopped() and (spaces := waiting(row.model, SPACES)):
        before = done
        for space in spaces:
            done += _settle_alone(engine, embedder, row.model, space, stopped)
        if done == before:
            return done  # others are at work there, or nothing of it can be opened
    if row.state == FOLLOWING and not stopped():
        take_over(engine, row)
    return done


def _settle_alone(engine: Engine, embedder: Embedder, model: int, space: UUID, stopped: Stopped) -> int:
    """Where many nodes share the work, only while no other one is at it."""
    with claimed(engine, f"settle {model}", space) as ours:
        if ours is None:
            return 0
        return _settle_space(engine, embedder, model, space, lambda: stopped() or not ours())


def _others_wait(engine: Engine) -> bool:
    """Whether a model still follows; the configured one may also be new to the store."""
    rows = engine.sealed.store.models.all()
    embedder = engine.index.embedder() if rows else None
    return any(row.state == FOLLOWING for row in rows) or (
        embedder is not None and engine.index.named(embedder.model_id) is None
    )


def _settle_space(
    engine: Engine, embedder: Embedder | None, model: int, space: UUID, stopped: Stopped
) -> int:
    store, done = engine.sealed.store, 0
    size = SIGNALS_BATCH if embedder is None else BATCH
    while not stopped():
        state = store.spaces.state(space)
        if state is None:
            break
        rows = store.outlines.changed(space, store.derived.progress(model, space), size)
        derived = _derive(engine, embedder, model, space, rows, stopped)
        if stopped():
            upto = 0  # some of them are not done
        elif len(rows) == size:
            upto = rows[-1].seq
        else:
            upto = max(state.seq, rows[-1].seq if rows else 0)
        engine.run_job(partial(_put, model=model, space=space, derived=derived, since=state, upto=upto))
        done += len(derived)
        if len(rows) < size:
            break
    return done


def _derive(
    engine: Engine,
    embedder: Embedder | None,
    model: int,
    space: UUID,
    rows: Sequence[EntryRow],
    stopped: Stopped,
) -> list[DerivedRow]:
    """What does not open is skipped: without its key nothing can be said about it. Sealed with the key that writes use
    now, whichever the entry still has: a rotation that is nearly done must not find more under the old one."""
    store, keys = engine.sealed.store, engine.sealed.keyring.of(space)
    there = {row.number: row.revision for row in store.derived.of(space, model, [row.number for row in rows])}
    due = [row for row in rows if there.get(row.number) != row.revision]
    view: SpaceSnapshot | None = None
    derived = []
    for row in due:
        if stopped():
            break
        entry = engine.sealed.head(keys, row).entry
        if entry is None or not entry.content.is_text:
            continue
        if view is None and embedder is not None and entry.conversation:
            view = engine.index.views.of(space, model, embedder.dimensions)
        vector = None if embedder is None else _vector(engine, embedder, entry, view)
        derived.append(seal_features(engine.sealed, keys.current, row, model, entry, vector))
    return derived


def _vector(engine: Engine, embedder: Embedder, entry: Entry, view: SpaceSnapshot | None) -> Floats | None:
    """None for a text that the embedder refuses while it takes others: that entry is found by its words."""
    text = embedding_text(entry.text, entry.hint, _text_before(engine, entry, view))
    try:
        return embedder.embed(text)
    except EmbedderBroken as error:
        if not takes_others(embedder):
            raise
        log.warning(
            "the embedder refuses the text of entry %s, which words alone will find: %s", entry.id, error
        )
        return None


def _text_before(engine: Engine, entry: Entry, view: SpaceSnapshot | None) -> str | None:
    """The note before this one in its conversation, which says what a short answer is about."""
    if view is None or not entry.conversation:
        return None
    position = view.position(entry.number)
    number = None if position is None else view.before(position)
    if number is None:
        return None
    rows = engine.sealed.store.entries.by_numbers(entry.space, [number])
    before = engine.sealed.head(engine.sealed.keyring.of(entry.space), rows[0]).entry if rows else None
    return before.text if before is not None and before.content.is_text else None


def _put(
    tx: Transaction, model: int, space: UUID, derived: Sequence[DerivedRow], since: SpaceState, upto: int
) -> None:
    """An entry that changed or went meanwhile is left alone, and nothing is kept under a key that writes do not use any
    more. When something went or came back since, how far this has come is left open: the next round finds it out."""
    counts = tx.spaces.counts(space)
    if counts is None or any(row.key_id != counts.key_id for row in derived):
        raise StaleKeys(space)
    for row in derived:
        tx.derived.put(space, row)
    now = tx.spaces.state(space)
    if upto and now is not None and now.removed == since.removed:
        tx.derived.advance(model, space, upto)
    if derived:
        tx.spaces.count_settled(space)


class Settler:
    """Settles in the background until told to stop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stop = Event()
        self._thread = Thread(target=self._serve, name="holdfast-settler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._engine.index.work.set()
        if self._thread.is_alive():
            self._thread.join()

    def _serve(self) -> None:
        """The store is tidied once after opening too: who wrote last may have closed before it was quiet."""
        work, untidy = self._engine.index.work, True
        while not self._stop.is_set():
            woken = work.wait(QUIET_SECONDS if untidy else POLL_SECONDS)
            if self._stop.wait(STEP_SECONDS):
                return
            work.clear()
            self._settle_quietly()
            untidy = woken or (untidy and self._tidy_quietly())

    def _tidy_quietly(self) -> bool:
        """Whether something is left to do, because others came to write."""
        try:
            while self._engine.sealed.store.tidy():
                if self._stop.is_set() or self._engine.index.work.is_set():
                    return True
        except HoldfastError as error:
            log.warning("the word index could not be tidied and stays slower until it is: %s", error.message)
        return False

    def _settle_quietly(self) -> None:
        try:
            settle_all(self._engine, self._stop.is_set)
        except StaleKeys as stale:
            self._engine.refresh(stale)
        except EmbedderBroken as error:
            self._engine.index.fail(error)
        except HoldfastError as error:
            log.warning("what recall needs could not be derived and will be tried again: %s", error.message)
