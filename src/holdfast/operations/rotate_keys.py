"""Key rotation. A new master wraps the data keys again; a new data key seals and blinds every row of a space again
while the store goes on serving."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from holdfast.contracts.rows import STORE
from holdfast.contracts.storage import Job, Transaction
from holdfast.crypto.keys import DataKey
from holdfast.domain.errors import Conflict
from holdfast.operations.engine import Engine
from holdfast.recall.index import Renew
from holdfast.storage.audit_chain import add_line
from holdfast.storage.keyring import FRESH_SECONDS
from holdfast.storage.reseal import reseal_derived, reseal_entries, reseal_revisions
from holdfast.storage.sealed_transaction import SealedTransaction

WORK = "rotate"
BATCH = 200
WAIT_SECONDS = 0.25
WORN = 1 << 28
"""Messages after which a key is changed. With random nonces AES-GCM allows 2^32 under one key: a sixteenth of it leaves
a margin for what crashed processes did not count."""
WATCHED = 1_000
GRACE_SECONDS = 1.5 * FRESH_SECONDS
"""Longer than any process keeps keys without looking again."""


@dataclass(frozen=True, slots=True)
class KeyStatus:
    master: str
    """Id of the current master key (not the key)."""
    wrapped_by_others: int
    """Data keys still wrapped by an earlier master, which `keys rotate` wraps again."""
    locked: int
    """Those of them that no configured master opens."""
    most_used: int = 0
    """Messages sealed under the key that sealed most."""
    worn: int = 0
    """Keys that should be changed: `keys rotate --data` does it, and the sweep by itself."""


@dataclass(frozen=True, slots=True)
class Rotated:
    keys: int
    locked: int = 0
    entries: int = 0
    revisions: int = 0


def key_status(engine: Engine) -> KeyStatus:
    keyring = engine.sealed.keyring
    rows = engine.sealed.store.keys.not_under(keyring.master.id, 1_000_000)
    count_uses(engine)
    used = engine.sealed.store.keys.most_used(WATCHED)
    return KeyStatus(
        keyring.master.id.hex(),
        len(rows),
        sum(keyring.rewrapped(row) is None for row in rows),
        used[0].uses if used else 0,
        sum(key.uses >= WORN for key in used),
    )


def count_uses(engine: Engine) -> None:
    """Tells the store how much this process sealed under which key."""
    counted = engine.sealed.keyring.uncounted()

    def write(tx: Transaction) -> None:
        for (space, key_id), uses in counted.items():
            tx.keys.add_uses(space, key_id, uses)

    if counted:
        engine.run_job(write)


def rotate_worn(engine: Engine) -> int:
    """New data keys for spaces whose key has sealed enough; says for how many. The store's own key has no successor:
    its status is for a person to see."""
    count_uses(engine)
    worn = [key for key in engine.sealed.store.keys.most_used(WATCHED) if key.uses >= WORN]
    done = [_rotate(engine, key.space, unless_changed_from=key.key_id) for key in worn if key.space != STORE]
    return sum(rotated.keys for rotated in done if rotated is not None)


def rotate_master(engine: Engine) -> Rotated:
    """Wraps every data key under the current master, in one transaction: after it the old master opens nothing."""

    def write(tx: Transaction) -> Rotated:
        keyring = engine.sealed.keyring
        rows = tx.keys.not_under(keyring.master.id, 1_000_000)
        wrapped = [(row, keyring.rewrapped(row)) for row in rows]
        for _, new in wrapped:
            if new is not None:
                tx.keys.rewrap(new)
        tx.erase()
        add_line(engine.sealed, tx.audit, engine.clock(), "rotate master key", b"", b"", b"", 0)
        return Rotated(sum(new is not None for _, new in wrapped), sum(new is None for _, new in wrapped))

    return engine.run_job(write)


def rotate_data(
    engine: Engine, spaces: Sequence[UUID], progress: Callable[[int], None] | None = None
) -> Rotated:
    """A new data key for each of these spaces. Workers that do it together share them: what another one has done since
    is left, what another one is at is waited for. It can be stopped and run again at any point."""
    before = {space: engine.sealed.store.keys.with_current(space)[1] for space in spaces}
    done: list[Rotated] = []
    left = list(spaces)
    while left:
        busy = []
        for space in left:
            rotated = _rotate(engine, space, progress, unless_changed_from=before[space])
            busy += [space] if rotated is None else []
            done += [] if rotated is None else [rotated]
        left = busy
        if left:
            time.sleep(WAIT_SECONDS)
    return Rotated(
        sum(one.keys for one in done),
        0,
        sum(one.entries for one in done),
        sum(one.revisions for one in done),
    )


def _rotate(
    engine: Engine,
    space: UUID,
    progress: Callable[[int], None] | None = None,
    unless_changed_from: int | None = None,
) -> Rotated | None:
    """Publishes a new data key, waits until every process asks for both, writes with it, re-seals all rows in batches,
    and destroys the old key. None while another worker is at it."""
    with engine.index.leases.hold(WORK, space) as renew:
        if renew is None:
            return None
        keys, current = engine.sealed.store.keys.with_current(space)
        if unless_changed_from is not None and current != unless_changed_from and len(keys) == 1:
            return Rotated(0)
        old, new = _publish(engine, space)
        derived = partial(reseal_derived, compared_there=engine.sealed.store.vectors is not None)
        entries = revisions = 0
        for key in old:
            entries += _all_batches(engine, space, key, new, reseal_entries, renew, progress)
            revisions += _all_batches(engine, space, key, new, reseal_revisions, renew, progress)
            _all_batches(engine, space, key, new, derived, renew, progress)
            engine.run_job(_destroy(engine, space, key).run)
        engine.sealed.keyring.drop(space)
    return Rotated(1, 0, entries, revisions)


def _destroy(engine: Engine, space: UUID, key: DataKey) -> Job[int]:
    now, sealed = engine.clock(), engine.sealed

    def write(tx: Transaction) -> int:
        tx.erase()
        add_line(sealed, tx.audit, now, "rotate data key", b"", sealed.space_code(space), b"", key.key_id)
        return tx.keys.delete(space, key.key_id)

    return Job(write)


def _publish(engine: Engine, space: UUID) -> tuple[list[DataKey], DataKey]:
    keyring = engine.sealed.keyring
    keys = keyring.look_again(space)
    if len(keys.readable) < len(keys.known):
        raise Conflict(
            "Some keys of this space are not configured; set HOLDFAST_MEMORY_OLD_KEYS, then rotate."
        )
    unfinished = max(keys.known) > keys.writes
    if not unfinished:
        _, row = keyring.mint(space, max(keys.known) + 1, engine.clock())
        now = engine.clock()
        with suppress(Conflict):  # another node publishes one at this moment: both use that
            engine.run_job(lambda tx: SealedTransaction(engine.sealed, tx, now).insert_key(row))
    time.sleep(GRACE_SECONDS)  # for an unfinished one too: another node may have published it just now
    fresh = keyring.look_again(space)
    newest = max(fresh.known)
    engine.run_job(lambda tx: tx.spaces.use_key(space, newest))
    keyring.drop(space)
    return [key for key_id, key in fresh.readable.items() if key_id != newest], fresh.readable[newest]


def _all_batches(
    engine: Engine,
    space: UUID,
    old: DataKey,
    new: DataKey,
    reseal: Callable[[Transaction, UUID, DataKey, DataKey, int], int],
    renew: Renew,
    progress: Callable[[int], None] | None,
) -> int:
    total = 0
    while done := engine.run_job(lambda tx: reseal(tx, space, old, new, BATCH)):
        total += done
        renew()  # one that paused for too long meets another here: they share the rows, batch by batch
        if progress is not None:
            progress(total)
    return total
