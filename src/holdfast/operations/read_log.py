"""Records in the background who was shown which entries, in the audit log."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from threading import Lock
from uuid import UUID

from holdfast.background import BackgroundWorker
from holdfast.contracts.storage import Transaction
from holdfast.crypto.blind import fingerprint
from holdfast.domain.entry import Entry
from holdfast.domain.errors import HoldfastError
from holdfast.domain.ids import entry_id
from holdfast.domain.principal import Principal
from holdfast.storage.audit_chain import add_reads
from holdfast.storage.sealed_store import SealedStore
from holdfast.storage.sealed_transaction import SealedTransaction

READS = ("get", "list", "recall", "history", "context", "similar", "export")
"""Operations that show an entry's text, by their names in the log."""
GET, LIST, RECALL, HISTORY, CONTEXT, SIMILAR, EXPORT = READS
COLLECT_SECONDS = 0.5
"""Time for which reads are collected before they are written together."""
A_LINE = 15
"""Entries that one line names: their codes must fit the length that a line's link is made with."""
KEPT = 100_000
"""Reads kept while they cannot be written down; beyond that the oldest are lost, and the log of the program says so."""
NOT_WRITTEN = "reads could not be written to the audit log yet"

log = logging.getLogger("holdfast")

Noted = tuple[str, Principal, int, Sequence[Entry]]
"""Without an entry: somebody looked at the store as a whole."""
_Group = tuple[str, Principal, UUID]


class ReadLog:
    def __init__(self, sealed: SealedStore, *, on: bool = True) -> None:
        self._sealed = sealed
        self._on = on
        self._noted: deque[Noted] = deque(maxlen=KEPT)
        self._turn = Lock()
        self._named: set[Principal] = set()
        self._worker = BackgroundWorker(
            "holdfast-reads", self.write_down, failure=NOT_WRITTEN, delay=COLLECT_SECONDS
        )

    def note(self, operation: str, reader: Principal, now: int, entries: Sequence[Entry]) -> None:
        if self._on and entries:
            self._noted.append((operation, reader, now, entries))
            self._worker.wake()

    def note_look(self, operation: str, administrator: Principal, now: int) -> None:
        """Counts and the log itself name nobody's text, and yet who looked is written down."""
        if self._on:
            self._noted.append((operation, administrator, now, ()))
            self._worker.wake()

    def start(self) -> None:
        self._worker.start()

    def stop(self) -> None:
        self._worker.stop()
        try:
            self.write_down()
        except HoldfastError as error:
            log.warning("%s: %s", NOT_WRITTEN, error.message)

    def write_down(self) -> None:
        """Everything noted so far, as the log's next lines."""
        with self._turn:
            noted = [self._noted.popleft() for _ in range(len(self._noted))]
            if not noted:
                return
            try:
                self._sealed.store.write(lambda tx: self._append(tx, noted))
            except BaseException:
                self._noted.extendleft(reversed(noted))
                raise

    def _append(self, tx: Transaction, noted: Sequence[Noted]) -> None:
        """One line for what a reader was shown of a space in one way, as long as a line may be."""
        groups: dict[_Group, tuple[int, dict[int, None]]] = {}
        for operation, reader, now, entries in noted:
            if not entries:
                SealedTransaction(self._sealed, tx, now).audit(operation, reader)
            for entry in entries:
                _, numbers = groups.setdefault((operation, reader, entry.space), (now, {}))
                numbers[entry.number] = None
        key = self._sealed.store_key
        for (operation, reader, space), (at_us, numbers) in groups.items():
            if reader not in self._named:
                SealedTransaction(self._sealed, tx, at_us).name(reader)
            codes = [fingerprint(key, entry_id(space, number).bytes) for number in numbers]
            for first in range(0, len(codes), A_LINE):
                some = b"".join(codes[first : first + A_LINE])
                add_reads(self._sealed, tx.audit, at_us, operation, reader, space, some)
        self._named = {reader for _, reader, _ in groups} | (
            self._named if len(self._named) < KEPT else set()
        )
