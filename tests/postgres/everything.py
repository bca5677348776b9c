"""Calls every contract of a store once, so that every statement is run with values that mean something."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from holdfast.contracts.rows import RuleRow
from holdfast.contracts.storage import Transaction
from holdfast.domain.errors import Conflict
from holdfast.storage.postgres.store import PostgresStore
from tests.conformance.rows import (
    ALICE,
    BOB,
    HERE,
    NOW,
    THERE,
    agent_row,
    audit_row,
    derived_row,
    entry_row,
    grant_row,
    key_row,
    label,
    member_row,
    proposal_row,
    receipt_row,
    seen,
    space_row,
    superseded,
    words,
)

RED = label("red")
VECTOR = np.array([1.0] + [0.0] * 383, dtype="<f2").tobytes()
ONE = entry_row(1, length=1, labels=RED)


def write_everything(tx: Transaction) -> None:
    tx.spaces.insert(space_row(HERE))
    for refused in (space_row(HERE), space_row(THERE, name=space_row(HERE).name)):
        with suppress(Conflict):
            tx.spaces.insert(refused)
    tx.spaces.insert(space_row(THERE))
    tx.spaces.advance(HERE, entries=1, indexed=1, length=1)
    tx.spaces.recount(HERE, entries=0, indexed=0, length=0)
    tx.spaces.use_key(HERE, 1)
    tx.spaces.mark_listed(HERE)
    tx.spaces.count_settled(HERE)
    tx.entries.insert(HERE, ONE)
    tx.entries.insert(HERE, ONE)
    tx.entries.insert(HERE, entry_row(2, length=1, labels=RED, expires_us=NOW + 5))
    tx.entries.revise(HERE, ONE._replace(revision=2, seq=5), superseded(ONE))
    tx.entries.prune(HERE, 1, below=1)
    tx.terms.put(HERE, 1, words("t1 t2"), replaces=False)
    tx.derived.put(HERE, derived_row(1, 1, revision=2, vector=VECTOR))
    tx.derived.advance(1, HERE, 1)
    tx.derived.fall_back(HERE, 1)
    tx.models.delete(tx.models.insert("gone", 384, "former", NOW))
    tx.models.set_state(tx.models.insert("model", 384, "serving", NOW), "serving", 0.5)
    tx.names.put(ALICE, b"alice")
    tx.keys.insert(key_row(HERE, 1))
    tx.keys.rewrap(key_row(HERE, 1, master=b"master 2"))
    tx.keys.add_uses(HERE, 1, 5)
    tx.grants.put(grant_row())
    tx.members.replace(HERE, [member_row()])
    tx.rules.put(RuleRow("member", read=True, manage=True))
    tx.agents.put(agent_row())
    tx.receipts.put(receipt_row())
    tx.proposals.insert(proposal_row())
    tx.proposals.answer(proposal_row().id, 1)
    tx.audit.append(audit_row())
    tx.audit.head()
    tx.audit.after(0, 1)
    tx.audit.about(b"x", ["get"], 1)
    tx.audit.append(audit_row())


def read_everything(store: PostgresStore) -> None:
    entries = store.entries
    entries.by_key(seen(), [ONE.key])
    entries.by_number(seen(), 1)
    entries.trashed_by_number(seen(), 1)
    for labels in (None, [RED]):
        entries.page(seen(), labels, None, 10)
        entries.moved(seen(), labels, 4, 10, 10)
    entries.shown(seen(), [1, 2])
    entries.flagged(seen(), 10)
    entries.quarantined(seen(), 10)
    entries.expiring(seen(), NOW + 10, 10)
    entries.trash(seen(), None, 10)
    entries.trashed_by_key(seen(), [ONE.key])
    entries.history(seen(), 1, 10, 10)
    entries.count(seen())
    entries.count_locked(seen(), [1])
    entries.kept_elsewhere(ALICE)
    entries.expired(NOW, 10)
    entries.trashed_before(NOW, 10)
    entries.by_numbers(HERE, [1])
    entries.sealed_with(HERE, 1, 0, 10)
    entries.revisions_sealed_with(HERE, 1, 10)
    entries.revisions_of(HERE, 1)
    store.outlines.of(HERE, 0)
    store.outlines.changed(HERE, 0, 10)
    store.outlines.labelled(HERE, [RED])
    store.terms.places(HERE, ["t1"])
    store.terms.places_in([(HERE, ["t1"])])
    store.word_table.of(HERE)
    store.word_table.of(HERE, [1])
    store.derived.of(HERE, 1)
    store.derived.of(HERE, 1, [1])
    store.derived.progress(1, HERE)
    store.derived.behind(1, 10)
    store.derived.count_behind(1)
    store.derived.count_behind(1, seen())
    store.derived.sealed_with(HERE, 1, 10)
    store.vectors.cosines(HERE, 1, 1, VECTOR, None)
    store.vectors.cosines(HERE, 1, 1, VECTOR, 5)
    store.models.all()
    store.spaces.by_id(HERE)
    store.spaces.by_name(space_row(HERE).name)
    store.spaces.owned_by(ALICE)
    store.spaces.all_after(None, 10)
    store.spaces.counts(HERE)
    store.spaces.state(HERE)
    store.spaces.states([HERE])
    store.spaces.totals()
    store.names.get(ALICE)
    store.keys.of(HERE)
    store.keys.with_current(HERE)
    store.keys.not_under(b"master 1", 10)
    store.keys.most_used(10)
    store.grants.of(HERE, BOB)
    store.grants.on(HERE)
    store.grants.to(BOB)
    store.members.levels(HERE, [BOB])
    store.members.lists_with([BOB])
    store.rules.all()
    store.agents.get(BOB)
    store.agents.all()
    store.receipts.get(ALICE, receipt_row().key)
    store.proposals.get(proposal_row().id)
    store.proposals.waiting(ALICE, [HERE], NOW, 10)
    store.audit.head()
    store.audit.after(0, 10)
    store.audit.about(b"x", ["get"], 10)


def remove_everything(tx: Transaction) -> None:
    tx.terms.drop(HERE, [1])
    tx.terms.drop_space(HERE)
    tx.derived.drop(HERE, [1])
    tx.derived.drop_space(HERE)
    tx.derived.drop_model(1, 10)
    tx.entries.delete(HERE, [1])
    tx.entries.delete_space(HERE)
    tx.spaces.empty(HERE)
    tx.keys.delete(HERE)
    tx.grants.delete(HERE, BOB, ALICE)
    tx.grants.delete_expired(NOW, 10)
    tx.receipts.delete_before(NOW, 10)
    tx.receipts.move(ALICE, HERE, 1, THERE, 2)
    tx.receipts.delete_entry(HERE, 1)
    tx.receipts.delete_space(HERE)
    tx.proposals.delete_before(NOW, 10)
    tx.proposals.delete_of(ALICE)
    tx.proposals.delete_entry(HERE, 1)
    tx.proposals.delete_space(HERE)


def copy_everything(store: PostgresStore) -> None:
    """Reads the store as one that is moved, and puts what was read where it lies."""
    (space, *_), models, keys = store.copies.spaces(None, 10), store.models.all(), store.keys.of(HERE)
    entries = store.copies.entries(HERE, 0, 10)
    store.copies.revisions(HERE, (0, 0), 10)
    store.copies.names(b"", 10)
    store.copies.members(HERE)
    store.copies.receipts((b"", b""), 10)

    def put(tx: Transaction) -> None:
        tx.copies.put_space(space)
        tx.copies.put_key(keys[0])
        tx.copies.put_entry(HERE, entries[0])
        tx.copies.put_model(models[0])

    store.write(put)


def call_everything(store: PostgresStore) -> None:
    store.write(write_everything)
    read_everything(store)
    copy_everything(store)
    store.leases.take(HERE, "settle", "worker 1", NOW, NOW + 1)
    store.leases.give_back(HERE, "settle", "worker 1")
    store.write(remove_everything)
