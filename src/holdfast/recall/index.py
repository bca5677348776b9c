"""The index behind recall: snapshots of spaces, the embedder, and the model whose vectors serve. Heavy parts (numpy,
the weights) are loaded at first use, so that a program that only keeps and reads stays light."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Lock
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from holdfast.contracts.host import Clock, Embedder, EmbedderBroken
from holdfast.contracts.rows import FOLLOWING, FORMER, HELD, SERVING, ModelRow
from holdfast.contracts.storage import Leases, Transaction
from holdfast.domain.partition import MODEL_VISIBLE
from holdfast.domain.principal import Principal
from holdfast.domain.times import SECOND
from holdfast.safety.scrub import Scrubbed
from holdfast.storage.sealed_store import SealedStore

if TYPE_CHECKING:
    from holdfast.recall.arrays import Floats
    from holdfast.recall.snapshot_cache import SnapshotCache

LEASE_US = 60 * SECOND

log = logging.getLogger("holdfast")

Renew = Callable[[], bool]
"""Renews a lease; returns False once another worker has it."""


class BackgroundLeases:
    """The leases of one process. Without a store that keeps leases, every one is granted."""

    def __init__(self, leases: Leases | None, clock: Clock) -> None:
        self._leases = leases
        self._clock = clock
        self._holder = uuid4().hex

    @contextmanager
    def hold(self, work: str, space: UUID) -> Iterator[Renew | None]:
        """Gives None while another worker holds the lease. Gives the lease back at the end."""
        leases = self._leases
        if leases is None:
            yield lambda: True
            return

        def renew() -> bool:
            now = self._clock()
            return leases.take(space, work, self._holder, now, now + LEASE_US)

        if not renew():
            yield None
            return
        try:
            yield renew
        finally:
            leases.give_back(space, work, self._holder)


RETRY_SECONDS = 30.0
"""Time until a broken embedder is tried again."""
READY_SECONDS = 1.0
PROBE = "Is anybody there?"

_NOT_READ: tuple[float, ModelRow | None] = (float("-inf"), None)


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The model that serves, and the number of entries that wait for their vector."""

    pending: int
    """Entries without their vector yet."""
    embedder: str | None
    """The model whose vectors serve recall; None while words alone do."""
    following: str | None = None
    """The model that takes over once all its vectors are made."""
    held: str | None = None
    """A model that agrees too little with the serving one; `use_model` lets it serve."""
    overlap: float | None = None
    """Share of the nearest ten notes that the last change of model kept, on a sample."""
    note: str | None = None


class Index:
    def __init__(
        self,
        sealed: SealedStore,
        clock: Clock,
        scrub: Callable[[str], Scrubbed],
        open_embedder: Callable[[], Embedder] | None,
        ceiling: int,
    ) -> None:
        self.sealed = sealed
        self.scrub = scrub
        self.leases = BackgroundLeases(sealed.store.leases, clock)
        self._clock = clock
        self._open = open_embedder
        self._ceiling = ceiling
        self._lock = Lock()
        self._snapshots: SnapshotCache | None = None
        self._embedder: Embedder | None = None
        self._opened = False
        self._retry_at = 0.0
        self._ready = _NOT_READ
        self.broken: str | None = None
        """The reason why the embedder cannot be used right now."""
        self.work = Event()
        """Set when there may be something to derive."""
        self.features_due: set[UUID] = set()
        """Searched spaces whose features are worth storing."""

    @property
    def embeds(self) -> bool:
        """True when an embedder is configured, usable or not."""
        return self._open is not None

    @property
    def snapshots(self) -> SnapshotCache:
        if self._snapshots is None:
            from holdfast.recall.snapshot_cache import SnapshotCache

            with self._lock:
                self._snapshots = self._snapshots or SnapshotCache(self.sealed, self._ceiling)
        return self._snapshots

    def embedder(self) -> Embedder | None:
        """The configured embedder, loaded at the first call; None when there is none or it is broken."""
        if self._open is None:
            return None
        if self._decided():
            return None if self.broken else self._embedder
        with self._lock:
            if self._decided():
                return None if self.broken else self._embedder
            try:
                self._embedder = self._embedder or self._open()
                self.broken = None
                self._enrol(self._embedder)
            except EmbedderBroken as error:
                self._fail(error)
            self._opened = True
            return None if self.broken else self._embedder

    def _decided(self) -> bool:
        return self._opened and (self.broken is None or time.monotonic() < self._retry_at)

    def fail(self, error: EmbedderBroken) -> None:
        """The embedder did not answer: words alone until it is tried again."""
        with self._lock:
            self._fail(error)

    def _fail(self, error: EmbedderBroken) -> None:
        if self.broken is None:
            log.warning("recall goes on with words alone: %s", error)
        self.broken = str(error)
        self._retry_at = time.monotonic() + RETRY_SECONDS

    def _enrol(self, embedder: Embedder) -> None:
        """Registers the configured model. The first one serves at once, another one follows until it has caught up.
        A model that followed before and is no longer configured becomes a former one; its vectors stay."""
        states = {row.name: row.state for row in self.sealed.store.models.all()}
        known = states.pop(embedder.model_id, FORMER)
        if known != FORMER and not {FOLLOWING, HELD}.intersection(states.values()):
            return
        now = self._clock()

        def write(tx: Transaction) -> None:
            rows = tx.models.all()
            own = next((row for row in rows if row.name == embedder.model_id), None)
            for row in rows:
                if row is not own and row.state in (FOLLOWING, HELD):
                    tx.models.set_state(row.model, FORMER, row.overlap)
            if own is None:
                state = FOLLOWING if any(row.state == SERVING for row in rows) else SERVING
                tx.models.insert(embedder.model_id, embedder.dimensions, state, now)
            elif own.state == FORMER:
                tx.models.set_state(own.model, FOLLOWING, own.overlap)

        self.sealed.store.write(write)
        self.forget_ready()

    def serving(self) -> ModelRow | None:
        """The model whose vectors answer; never one whose row is damaged."""
        rows = self.sealed.store.models.all()
        return next((row for row in rows if row.state == SERVING and row.dimensions > 0), None)

    def ready(self) -> ModelRow | None:
        """The serving model, after registering the configured embedder. Changes of other processes are seen within a
        second: the vectors of the model that served before are kept."""
        self.embedder()
        read_at, serving = self._ready
        if time.monotonic() - read_at > READY_SECONDS:
            serving = self.serving()
            self._ready = time.monotonic(), serving
        return serving

    def forget_ready(self) -> None:
        """Drops the cached answer of `ready`, after the serving model changed."""
        self._ready = _NOT_READ

    def named(self, model: str) -> ModelRow | None:
        """The row of a model whose vectors are kept."""
        return next((row for row in self.sealed.store.models.all() if row.name == model), None)

    def query_vector(self, text: str, serving: ModelRow | None) -> tuple[Floats | None, str | None]:
        """The question as a vector of the serving model, or the reason why there is none."""
        embedder = self.embedder()
        if embedder is None:
            return None, self.broken
        if serving is None or embedder.model_id != serving.name:
            return None, "The vectors are being made anew for another embedder; until then words decide."
        try:
            return embedder.embed_query(text), None
        except EmbedderBroken as error:
            if not takes_others(embedder):
                self.fail(error)
            return None, str(error)

    def wake(self) -> None:
        """Tells the worker that there may be something to derive."""
        if not self.work.is_set():
            self.work.set()

    def status(self, of: Principal | None = None) -> IndexStatus:
        """Counts what waits in the whole store, or in this principal's own space."""
        rows = self.sealed.store.models.all()
        serving = next((row for row in rows if row.state == SERVING), None)
        behind = next((row for row in rows if row.state == FOLLOWING), None)
        model = behind or serving or _NO_MODEL
        pending = 0 if self._open is None else self._behind(model, of)
        note = "Words alone decide: no embedder is configured." if self._open is None else self.broken
        return IndexStatus(
            pending,
            serving.name if serving else None,
            following=behind.name if behind else None,
            held=next((row.name for row in rows if row.state == HELD), None),
            overlap=model.overlap,
            note=note,
        )

    def _behind(self, model: ModelRow, of: Principal | None) -> int:
        derived = self.sealed.store.derived
        if of is None:
            return derived.count_behind(model.model)
        own = self.sealed.own_space(of)
        if own is None:
            return 0
        return derived.count_behind(model.model, self.sealed.visible(own, of, MODEL_VISIBLE, self._clock()))


def takes_others(embedder: Embedder) -> bool:
    """Says if an embedder that refused one text accepts another."""
    try:
        embedder.embed(PROBE)
    except EmbedderBroken:
        return False
    return True


_NO_MODEL = ModelRow(-1, "", 0, "", None, 0)
