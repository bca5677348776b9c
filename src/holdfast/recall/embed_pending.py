"""Embeds committed entries in the background, one text at a time, and stores the features that ranking needs. The work
resumes where it stopped, in whatever process, and lets a new model take over once its vectors are complete."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING
from uuid import UUID

from holdfast.contracts.host import Embedder, EmbedderBroken
from holdfast.contracts.rows import FEATURES_ONLY, FOLLOWING, DerivedRow, EntryRow, SpaceState
from holdfast.contracts.storage import Transaction
from holdfast.domain.entry import Entry
from holdfast.domain.errors import HoldfastError, Unavailable
from holdfast.recall.index import Index, IndexStatus, takes_others
from holdfast.recall.models import take_over
from holdfast.storage.features import seal_features
from holdfast.storage.keyring import StaleKeys
from holdfast.text.traits import embedding_text

if TYPE_CHECKING:
    from holdfast.recall.arrays import Floats
    from holdfast.recall.snapshot import SpaceSnapshot

BATCH = 32
FEATURES_BATCH = 256
SPACES = 64
POLL_SECONDS = 5.0
"""The longest time until writes of other processes are seen."""
QUIET_SECONDS = 0.25
"""The store is tidied after this time without a write of this process."""
STEP_SECONDS = 0.05
LONGEST_STEP_SECONDS = 0.5

log = logging.getLogger("holdfast")
Stopped = Callable[[], bool]


def wait_until_embedded(index: Index, timeout: float) -> IndexStatus:
    """Returns once every committed entry has its vector; at once when no embedder is configured."""
    deadline, pause = time.monotonic() + timeout, STEP_SECONDS
    while (embedder := index.embedder()) is not None:
        index.wake()
        row = index.named(embedder.model_id)
        if row is not None and row.state != FOLLOWING and not index.sealed.store.derived.behind(row.model, 1):
            return index.status()
        if time.monotonic() > deadline:
            pending = index.status().pending
            raise Unavailable(f"{pending} entries still wait for their vector; wait longer.")
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_STEP_SECONDS)
    if index.broken:
        raise Unavailable(f"The embedder cannot be used: {index.broken}")
    return index.status()


def embed_pending(index: Index, stopped: Stopped = lambda: False) -> int:
    """Embeds whatever is pending; returns the number of entries."""
    behind = index.sealed.store.derived.behind
    serving = index.serving()
    done = 0
    while index.features_due and serving is None:
        done += _embed_space(index, None, FEATURES_ONLY, index.features_due.pop(), stopped)
    if not behind(serving.model if serving else FEATURES_ONLY, 1) and not _others_pending(index):
        return done
    embedder = index.embedder()
    row = None if embedder is None else index.named(embedder.model_id)
    if embedder is None or row is None:
        return done
    while not stopped() and (spaces := behind(row.model, SPACES)):
        before = done
        for space in spaces:
            done += _embed_leased(index, embedder, row.model, space, stopped)
        if done == before:
            return done  # other workers hold the leases, or no entry can be opened
    if row.state == FOLLOWING and not stopped():
        take_over(index, row)
    return done


def _embed_leased(index: Index, embedder: Embedder, model: int, space: UUID, stopped: Stopped) -> int:
    with index.leases.hold(f"settle {model}", space) as renew:
        if renew is None:
            return 0
        return _embed_space(index, embedder, model, space, lambda: stopped() or not renew())


def _others_pending(index: Index) -> bool:
    """Says if a model still follows, or the configured one is new to the store."""
    rows = index.sealed.store.models.all()
    embedder = index.embedder() if rows else None
    return any(row.state == FOLLOWING for row in rows) or (
        embedder is not None and index.named(embedder.model_id) is None
    )


def _embed_space(index: Index, embedder: Embedder | None, model: int, space: UUID, stopped: Stopped) -> int:
    store, done = index.sealed.store, 0
    size = FEATURES_BATCH if embedder is None else BATCH
    while not stopped():
        state = store.spaces.state(space)
        if state is None:
            break
        rows = store.outlines.changed(space, store.derived.progress(model, space), size)
        derived = _derive(index, embedder, model, space, rows, stopped)
        if stopped():
            upto = 0  # some of them are not done
        elif len(rows) == size:
            upto = rows[-1].seq
        else:
            upto = max(state.seq, rows[-1].seq if rows else 0)
        store.write(partial(_put, model=model, space=space, derived=derived, since=state, upto=upto))
        done += len(derived)
        if len(rows) < size:
            break
    return done


def _derive(
    index: Index,
    embedder: Embedder | None,
    model: int,
    space: UUID,
    rows: Sequence[EntryRow],
    stopped: Stopped,
) -> list[DerivedRow]:
    """Features and vectors of these entries, but for those that do not open. Sealed with the key that writes use now,
    even for entries under an older one: a rotation that is nearly done must not find more rows of the old key."""
    sealed = index.sealed
    keys, known = (
        sealed.keyring.of(space),
        sealed.store.derived.of(space, model, [row.number for row in rows]),
    )
    revisions = {row.number: row.revision for row in known}
    snapshot: SpaceSnapshot | None = None
    derived = []
    for row in rows:
        if revisions.get(row.number) == row.revision:
            continue
        if stopped():
            break
        entry = sealed.open_row(keys, row).entry
        if entry is None or not entry.content.is_text:
            continue
        if snapshot is None and embedder is not None and entry.conversation:
            snapshot = index.snapshots.of(space, model, embedder.dimensions)
        vector = None if embedder is None else _vector(index, embedder, entry, snapshot)
        derived.append(seal_features(sealed, keys.current, row, model, entry, vector))
    return derived


def _vector(index: Index, embedder: Embedder, entry: Entry, snapshot: SpaceSnapshot | None) -> Floats | None:
    """None for a text that the embedder refuses while it takes others: words alone find that entry."""
    text = embedding_text(entry.text, entry.hint, _text_before(index, entry, snapshot))
    try:
        return embedder.embed(text)
    except EmbedderBroken as error:
        if not takes_others(embedder):
            raise
        log.warning(
            "the embedder refuses the text of entry %s, which words alone will find: %s", entry.id, error
        )
        return None


def _text_before(index: Index, entry: Entry, snapshot: SpaceSnapshot | None) -> str | None:
    """The previous note of the conversation, which tells what a short answer is about."""
    if snapshot is None or not entry.conversation:
        return None
    position = snapshot.position(entry.number)
    number = None if position is None else snapshot.before(position)
    if number is None:
        return None
    rows = index.sealed.store.entries.by_numbers(entry.space, [number])
    before = index.sealed.open_row(index.sealed.keyring.of(entry.space), rows[0]).entry if rows else None
    return before.text if before is not None and before.content.is_text else None


def _put(
    tx: Transaction, model: int, space: UUID, derived: Sequence[DerivedRow], since: SpaceState, upto: int
) -> None:
    """Stores what was derived, but for entries that changed or went meanwhile. Raises StaleKeys when writes use another
    key by now. The progress stays when an entry went or came back since: the next round finds out."""
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


class EmbeddingWorker:
    """A thread that embeds pending entries, and tidies the store when it is quiet."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._stop = Event()
        self._thread = Thread(target=self._serve, name="holdfast-embedder", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._index.work.set()
        if self._thread.is_alive():
            self._thread.join()

    def _serve(self) -> None:
        """Tidies once after opening too: the last writer may have closed before the store was quiet."""
        work, untidy = self._index.work, True
        while not self._stop.is_set():
            woken = work.wait(QUIET_SECONDS if untidy else POLL_SECONDS)
            if self._stop.wait(STEP_SECONDS):
                return
            work.clear()
            self._embed_quietly()
            untidy = woken or (untidy and self._tidy_quietly())

    def _tidy_quietly(self) -> bool:
        """Returns True when writes interrupted it."""
        try:
            while self._index.sealed.store.tidy():
                if self._stop.is_set() or self._index.work.is_set():
                    return True
        except HoldfastError as error:
            log.warning("the word index could not be tidied and stays slower until it is: %s", error.message)
        return False

    def _embed_quietly(self) -> None:
        try:
            embed_pending(self._index, self._stop.is_set)
        except StaleKeys as stale:
            for space in stale.args:
                self._index.sealed.keyring.drop(space)
        except EmbedderBroken as error:
            self._index.fail(error)
        except HoldfastError as error:
            log.warning("what recall needs could not be derived and will be tried again: %s", error.message)
