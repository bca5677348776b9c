"""Transaction and Store: all or nothing, one's own writes at once, other eyes after the commit, then for good."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Event
from typing import Any

import pytest

from holdfast.contracts.rows import GUEST, EntryRow, RuleRow, SpaceCounts
from holdfast.contracts.storage import Store, Transaction
from holdfast.domain.errors import Conflict, HoldfastError, Unavailable
from tests.conformance.backends import Backend
from tests.conformance.rows import (
    ALICE,
    BOB,
    CAROL,
    HERE,
    NOW,
    THERE,
    agent_row,
    audit_row,
    entry_row,
    grant_row,
    insert,
    key_row,
    label,
    make_spaces,
    member_row,
    numbers,
    proposal_row,
    receipt_row,
    seen,
    space_row,
    superseded,
    words,
    write,
)

RED = label("red")
CALLERS = 64


class Refusal(Exception):
    """What a job raises that changes its mind."""


ONE = entry_row(1, length=1, labels=RED)
TWO = entry_row(2)

READS: dict[str, Callable[[Store | Transaction], object]] = {
    "entries.by_key": lambda at: at.entries.by_key(seen(), [ONE.key]),
    "entries.by_number": lambda at: at.entries.by_number(seen(), 1),
    "entries.trashed_by_number": lambda at: at.entries.trashed_by_number(seen(), 2),
    "entries.page": lambda at: at.entries.page(seen(), None, None, 10),
    "entries.page, labelled": lambda at: at.entries.page(seen(), [RED], None, 10),
    "entries.moved": lambda at: at.entries.moved(seen(), None, 4, 5, 10),
    "entries.expiring": lambda at: at.entries.expiring(seen(), NOW + 10, 10),
    "entries.trash": lambda at: at.entries.trash(seen(), None, 10),
    "entries.trashed_by_key": lambda at: at.entries.trashed_by_key(seen(), [TWO.key]),
    "entries.history": lambda at: at.entries.history(seen(), 1, 10, 10),
    "entries.count": lambda at: at.entries.count(seen()),
    "entries.count_locked": lambda at: at.entries.count_locked(seen(), [1]),
    "entries.kept_elsewhere": lambda at: at.entries.kept_elsewhere(ALICE),
    "entries.expired": lambda at: at.entries.expired(NOW, 10),
    "entries.trashed_before": lambda at: at.entries.trashed_before(NOW + 1, 10),
    "entries.by_numbers": lambda at: at.entries.by_numbers(THERE, [3]),
    "entries.sealed_with": lambda at: at.entries.sealed_with(HERE, 1, 0, 10),
    "entries.revisions_sealed_with": lambda at: at.entries.revisions_sealed_with(HERE, 1, 10),
    "entries.revisions_of": lambda at: at.entries.revisions_of(HERE, 1),
    "spaces.by_id": lambda at: at.spaces.by_id(HERE),
    "spaces.by_name": lambda at: at.spaces.by_name(space_row(THERE).name),
    "spaces.owned_by": lambda at: at.spaces.owned_by(ALICE),
    "spaces.all_after": lambda at: at.spaces.all_after(None, 10),
    "spaces.counts": lambda at: at.spaces.counts(HERE),
    "names.get": lambda at: at.names.get(BOB),
    "keys.of": lambda at: at.keys.of(HERE),
    "keys.with_current": lambda at: at.keys.with_current(HERE),
    "keys.most_used": lambda at: at.keys.most_used(10),
    "keys.not_under": lambda at: at.keys.not_under(b"master 1", 10),
    "grants.of": lambda at: at.grants.of(HERE, CAROL),
    "grants.on": lambda at: at.grants.on(HERE),
    "grants.to": lambda at: at.grants.to(BOB),
    "members.levels": lambda at: at.members.levels(HERE, [ALICE, BOB]),
    "members.lists_with": lambda at: at.members.lists_with([BOB]),
    "rules.all": lambda at: at.rules.all(),
    "agents.get": lambda at: at.agents.get(BOB),
    "agents.all": lambda at: at.agents.all(),
    "receipts.get": lambda at: at.receipts.get(ALICE, receipt_row("request 1").key),
    "proposals.get": lambda at: at.proposals.get(proposal_row("old").id),
    "proposals.waiting": lambda at: at.proposals.waiting(ALICE, [], NOW, 10),
    "audit.head": lambda at: at.audit.head(),
    "audit.about": lambda at: at.audit.about(audit_row().object, ["new"], 10),
    "audit.after": lambda at: at.audit.after(0, 10),
}
"""Every read there is, asking for something that `change_everything` changes."""


def answers(at: Store | Transaction) -> dict[str, object]:
    return {name: read(at) for name, read in READS.items()}


def everything(backend: Backend, store: Store) -> dict[str, object]:
    terms = {term: backend.indexed(store, HERE, term) for term in ("old", "new")}
    return {**answers(store), **terms}


@pytest.fixture
def before(store: Store) -> None:
    def job(tx: Transaction) -> None:
        tx.spaces.insert(space_row(HERE))
        tx.entries.insert(HERE, ONE)
        tx.entries.insert(HERE, TWO)
        tx.terms.put(HERE, 1, words("old"), replaces=False)
        tx.names.put(ALICE, b"alice")
        tx.keys.insert(key_row(HERE, 1))
        tx.grants.put(grant_row(CAROL))
        tx.members.replace(HERE, [member_row(ALICE)])
        tx.rules.put(RuleRow("member", read=True, manage=True))
        tx.agents.put(agent_row())
        tx.receipts.put(receipt_row("request 1"))
        tx.proposals.insert(proposal_row("old"))
        tx.audit.append(audit_row("old"))

    write(store, job)


def change_everything(tx: Transaction) -> None:
    """One write of every kind, over the state that `before` made."""
    tx.spaces.insert(space_row(THERE))
    tx.spaces.advance(HERE, entries=2, indexed=1, length=1)
    tx.spaces.use_key(HERE, 2)
    tx.spaces.mark_listed(HERE)
    tx.entries.revise(HERE, ONE._replace(revision=2, seq=5, labels=b""), superseded(ONE))
    tx.entries.restate(HERE, TWO._replace(trashed_us=NOW))
    tx.entries.insert(HERE, entry_row(3, labels=RED, flags=GUEST, key_id=2))
    tx.entries.insert(HERE, entry_row(4, expires_us=NOW + 1))
    tx.entries.insert(THERE, entry_row(3, expires_us=NOW))
    tx.terms.put(HERE, 1, words("new"), replaces=True)
    tx.terms.put(HERE, 3, words("new"), replaces=False)
    tx.names.put(BOB, b"bob")
    tx.keys.insert(key_row(HERE, 2, master=b"master 2"))
    tx.grants.put(grant_row(BOB))
    tx.grants.delete(HERE, CAROL, ALICE)
    tx.members.replace(HERE, [member_row(BOB)])
    tx.rules.put(RuleRow("member", read=False, manage=False))
    tx.agents.put(agent_row(enabled=False))
    tx.receipts.delete_entry(HERE, 1)
    tx.proposals.answer(proposal_row("old").id, 1)
    tx.audit.append(audit_row("new"))


@contextmanager
def queued(store: Store) -> Iterator[None]:
    """Holds the writer, so that everything submitted inside waits and is committed together where a backend does so."""
    begun, go = Event(), Event()

    def gate(tx: Transaction) -> None:
        begun.set()
        assert go.wait(60)

    held = store.submit(gate)
    assert begun.wait(60)
    try:
        yield
    finally:
        go.set()
        held.result(timeout=60)


def raising(*jobs: Callable[[Transaction], Any]) -> Callable[[Transaction], None]:
    def job(tx: Transaction) -> None:
        for each in jobs:
            each(tx)
        raise Refusal

    return job


class TestAtomicity:
    def test_a_job_that_raises_undoes_itself_wholly(
        self, backend: Backend, store: Store, before: None
    ) -> None:
        kept = everything(backend, store)
        with pytest.raises(Refusal):
            write(store, raising(change_everything))
        assert everything(backend, store) == kept

    def test_the_same_job_changes_every_answer_when_it_does_not_raise(
        self, backend: Backend, store: Store, before: None
    ) -> None:
        kept = everything(backend, store)
        write(store, change_everything)
        changed = everything(backend, store)
        assert [name for name in kept if changed[name] == kept[name]] == []

    def test_a_job_that_raises_takes_nothing_from_those_committed_with_it(
        self, backend: Backend, store: Store, before: None
    ) -> None:
        with queued(store):
            good = [store.submit(_numbered(number)) for number in (11, 12)]
            bad = store.submit(raising(_numbered(99), change_everything))
            good.append(store.submit(_numbered(13)))
        assert [future.result(timeout=60) for future in good] == [11, 12, 13]
        with pytest.raises(Refusal):
            bad.result(timeout=60)
        assert numbers(store.entries.page(seen(), None, None, 10)) == [13, 12, 11, 2, 1]
        assert backend.indexed(store, HERE, "old") == [1]
        assert backend.indexed(store, HERE, "new") == [11, 12, 13]
        counts = store.spaces.counts(HERE)
        assert counts == SpaceCounts(seq=3, entries=3, indexed=3, length=3, key_id=1)

    def test_the_audit_chain_leaves_out_lines_of_a_job_that_raised(self, store: Store, before: None) -> None:
        with queued(store):
            futures = [store.submit(_linked("1"))]
            store.submit(raising(_linked("never")))
            futures.append(store.submit(_linked("2")))
        for future in futures:
            future.result(timeout=60)
        assert [row.link for row in store.audit.after(0, 10)] == [b"old", b"old>1", b"old>1>2"]

    def test_words_that_a_raising_job_took_away_stay(
        self, backend: Backend, store: Store, before: None
    ) -> None:
        with queued(store):
            replaced = store.submit(lambda tx: tx.terms.put(HERE, 1, words("new"), replaces=True))
            dropped = store.submit(raising(lambda tx: tx.terms.drop(HERE, [1])))
            emptied = store.submit(raising(lambda tx: tx.terms.drop_space(HERE)))
        replaced.result(timeout=60)
        assert isinstance(dropped.exception(timeout=60), Refusal)
        assert isinstance(emptied.exception(timeout=60), Refusal)
        assert [backend.indexed(store, HERE, term) for term in ("old", "new")] == [[], [1]]

    def test_words_of_one_entry_follow_the_order_of_the_jobs(
        self, backend: Backend, store: Store, before: None
    ) -> None:
        with queued(store):
            last = [
                store.submit(lambda tx: tx.terms.drop(HERE, [1])),
                store.submit(lambda tx: tx.terms.put(HERE, 1, words("new"), replaces=False)),
                store.submit(lambda tx: tx.terms.put(HERE, 1, words("newer"), replaces=True)),
            ]
        for future in last:
            future.result(timeout=60)
        assert [backend.indexed(store, HERE, term) for term in ("old", "new", "newer")] == [[], [], [1]]

    def test_a_space_made_by_a_job_that_raised_can_be_made_again(self, store: Store) -> None:
        def make(tx: Transaction) -> None:
            tx.spaces.insert(space_row(HERE))
            tx.entries.insert(HERE, entry_row(1))
            assert tx.entries.count(seen()) == 1

        with pytest.raises(Refusal):
            write(store, raising(make))
        assert store.entries.count(seen()) == 0
        make_spaces(store, THERE)
        write(store, make)
        assert (store.entries.count(seen()), store.entries.count(seen(THERE))) == (1, 0)

    @pytest.mark.parametrize(
        "refused",
        [
            lambda tx: tx.spaces.insert(space_row(HERE)),
            lambda tx: tx.keys.insert(key_row(HERE, 1)),
            lambda tx: tx.entries.insert(HERE, entry_row(9, key=entry_row(1).key)),
        ],
        ids=["space", "key", "entry"],
    )
    def test_a_job_the_database_refuses_takes_nothing_from_those_committed_with_it(
        self, store: Store, before: None, refused: Callable[[Transaction], Any]
    ) -> None:
        with queued(store):
            futures: list[Future[Any]] = [
                store.submit(_numbered(11)),
                store.submit(refused),
                store.submit(_numbered(12)),
            ]
        assert isinstance(futures[1].exception(timeout=60), Conflict)
        assert [futures[0].result(timeout=60), futures[2].result(timeout=60)] == [11, 12]
        assert numbers(store.entries.page(seen(), None, None, 10)) == [12, 11, 2, 1]

    @pytest.mark.parametrize(
        "refused",
        [lambda tx: tx.spaces.insert(space_row(HERE)), lambda tx: tx.keys.insert(key_row(HERE, 1))],
        ids=["space", "key"],
    )
    def test_errors_of_the_driver_arrive_translated_inside_the_transaction_too(
        self, store: Store, before: None, refused: Callable[[Transaction], Any]
    ) -> None:
        def job(tx: Transaction) -> str:
            try:
                refused(tx)
            except HoldfastError as error:
                return error.code
            return "accepted"

        assert write(store, job) == "conflict"


class TestIsolation:
    def test_a_transaction_reads_what_the_store_reads(self, store: Store, before: None) -> None:
        assert write(store, answers) == answers(store)

    def test_a_transaction_sees_its_own_writes(self, store: Store, before: None) -> None:
        def job(tx: Transaction) -> dict[str, object]:
            change_everything(tx)
            return answers(tx)

        assert write(store, job) == answers(store)

    def test_readers_never_see_half_a_job(self, store: Store) -> None:
        make_spaces(store)
        done = Event()

        def pairs() -> None:
            for first in range(1, 201, 2):
                pair = entry_row(first), entry_row(first + 1)
                insert(store, *pair)
                with pytest.raises(Refusal):
                    write(store, raising(lambda tx: tx.entries.insert(HERE, entry_row(999))))

        def counts() -> set[int]:
            found = set()
            while not done.is_set():
                found.add(store.entries.count(seen()))
            return found

        with ThreadPoolExecutor(3) as threads:
            readers = [threads.submit(counts) for _ in range(2)]
            try:
                threads.submit(pairs).result(timeout=100)
            finally:
                done.set()
            odd = [count for reader in readers for count in reader.result(timeout=60) if count % 2]
        assert odd == []
        assert store.entries.count(seen()) == 200


class TestResults:
    def test_a_job_gives_its_result_and_its_own_error(self, store: Store) -> None:
        assert store.submit(lambda tx: "result").result(timeout=60) == "result"
        assert store.write(lambda tx: "result") == "result"
        assert isinstance(store.submit(raising()).exception(timeout=60), Refusal)
        with pytest.raises(Refusal):
            store.write(raising())

    def test_a_refused_job_that_is_waited_for_undoes_itself_too(self, store: Store, before: None) -> None:
        kept = answers(store)
        with pytest.raises(Refusal):
            store.write(raising(change_everything))
        assert answers(store) == kept
        with pytest.raises(Conflict):
            store.write(lambda tx: tx.keys.insert(key_row(HERE, 1)))
        store.write(change_everything)
        assert answers(store) != kept

    def test_jobs_of_one_caller_run_in_the_order_given(self, store: Store) -> None:
        make_spaces(store)
        futures = [store.submit(_numbered(number)) for number in range(1, 301)]
        assert [future.result(timeout=60) for future in futures] == list(range(1, 301))
        newest = store.entries.page(seen(), None, None, 1_000)
        assert numbers(newest) == list(range(300, 0, -1))

    def test_many_callers_at_once_each_get_their_own_result(self, store: Store) -> None:
        make_spaces(store)
        together = Barrier(CALLERS)

        def caller(me: int) -> list[int]:
            together.wait(60)
            mine = [me * 10 + turn for turn in range(5)]
            assert [store.write(_numbered(number)) for number in mine[:3]] == mine[:3]
            assert [write(store, _numbered(number)) for number in mine[3:]] == mine[3:]
            with pytest.raises(Refusal, match=f"^caller {me}$"):
                write(store, _refusing(f"caller {me}"))
            return numbers([row for number in mine if (row := store.entries.by_number(seen(), number))])

        with ThreadPoolExecutor(CALLERS) as threads:
            results = list(threads.map(caller, range(1, CALLERS + 1)))
        assert results == [[me * 10 + turn for turn in range(5)] for me in range(1, CALLERS + 1)]
        assert store.entries.count(seen()) == CALLERS * 5
        assert store.spaces.counts(HERE) == SpaceCounts(CALLERS * 5, CALLERS * 5, CALLERS * 5, CALLERS * 5, 1)

    def test_a_caller_who_gives_up_waiting_does_not_stop_the_store(self, store: Store) -> None:
        make_spaces(store)
        with queued(store):
            given_up = store.submit(_numbered(1))
            given_up.cancel()
            others = [store.submit(_numbered(2))]
        others.append(store.submit(_numbered(3)))
        assert [future.result(timeout=10) for future in others] == [2, 3]
        assert set(numbers(store.entries.page(seen(), None, None, 10))) >= {2, 3}


class TestClosing:
    def test_what_was_acknowledged_is_there_after_reopening(
        self, backend: Backend, store: Store, before: None, reopen: Callable[[], Store]
    ) -> None:
        write(store, change_everything)
        kept = everything(backend, store)
        assert everything(backend, reopen()) == kept

    def test_a_reopened_store_goes_on_where_it_stood(
        self, store: Store, before: None, reopen: Callable[[], Store]
    ) -> None:
        again = reopen()
        write(again, _linked("1"))
        assert [row.link for row in again.audit.after(0, 10)] == [b"old", b"old>1"]
        with pytest.raises(Conflict):
            insert(again, entry_row(7, key=entry_row(1).key))

    def test_closing_finishes_what_was_submitted(self, store: Store) -> None:
        make_spaces(store)
        futures = [store.submit(_numbered(number)) for number in range(1, 51)]
        store.close()
        assert [future.result(timeout=0) for future in futures] == list(range(1, 51))

    def test_a_closed_store_answers_unavailable(self, store: Store, before: None) -> None:
        store.entries.count(seen())
        store.close()
        for read in READS.values():
            with pytest.raises(Unavailable):
                read(store)
        with pytest.raises(Unavailable):
            write(store, lambda tx: None)
        with pytest.raises(Unavailable):
            store.write(lambda tx: None)

    def test_closing_twice_does_nothing(self, store: Store) -> None:
        store.close()
        store.close()


class TestErasing:
    def test_what_is_erased_is_in_no_byte_once_acknowledged(self, backend: Backend, store: Store) -> None:
        make_spaces(store, HERE, THERE)
        secret = entry_row(1, length=1, labels=b"!labels!", sealed=b"<sealed now>")
        old = superseded(secret, sealed=b"<sealed before>")
        receipt = receipt_row(request=b"<request>")

        def keep(tx: Transaction) -> None:
            tx.entries.insert(HERE, secret)
            tx.entries.add_revision(HERE, old)
            tx.terms.put(HERE, 1, words("zzblindterm"), replaces=False)
            tx.receipts.put(receipt)
            tx.entries.insert(HERE, entry_row(2, length=1, sealed=b"<sealed other>"))
            tx.terms.put(HERE, 2, words("yyotherterm"), replaces=False)

        def purge(tx: Transaction) -> int:
            tx.terms.drop(HERE, [1])
            tx.receipts.delete_entry(HERE, 1)
            tx.erase()
            return tx.entries.delete(HERE, [1])

        write(store, keep)
        traces = [
            secret.key,
            secret.labels,
            secret.sealed,
            old.sealed,
            receipt.request,
            b"zzblindterm",
        ]
        assert [trace for trace in traces if trace not in backend.every_byte(store)] == []
        assert write(store, purge) == 1
        assert [trace for trace in traces if trace in backend.every_byte(store)] == []
        kept = [b"<sealed other>", b"yyotherterm"]
        assert [trace for trace in kept if trace not in backend.every_byte(store)] == []

    def test_what_was_left_to_erase_later_goes_with_the_next_erasing(
        self, backend: Backend, store: Store
    ) -> None:
        make_spaces(store)
        insert(store, entry_row(1, sealed=b"<sealed now>"))
        assert b"<sealed now>" in backend.every_byte(store)

        def purge(tx: Transaction) -> int:
            tx.erase(wait=False)
            return tx.entries.delete(HERE, [1])

        assert write(store, purge) == 1
        write(store, lambda tx: tx.erase())
        assert b"<sealed now>" not in backend.every_byte(store)

    def test_a_job_that_raises_after_asking_to_erase_keeps_everything(
        self, backend: Backend, store: Store, before: None
    ) -> None:
        kept = everything(backend, store)

        def purge(tx: Transaction) -> None:
            tx.erase()
            tx.terms.drop(HERE, [1])
            tx.entries.delete(HERE, [1])

        with pytest.raises(Refusal):
            write(store, raising(purge))
        assert everything(backend, store) == kept

    def test_erasing_among_other_writes_answers_every_one_of_them(
        self, store: Store, before: None, reopen: Callable[[], Store]
    ) -> None:
        def purge(tx: Transaction) -> int:
            tx.erase()
            tx.terms.drop(HERE, [1])
            return tx.entries.delete(HERE, [1])

        with queued(store):
            writes = [store.submit(_numbered(number)) for number in (11, 12)]
            erasing = store.submit(purge)
            writes.append(store.submit(_numbered(13)))
        assert [future.result(timeout=60) for future in writes] == [11, 12, 13]
        assert erasing.result(timeout=60) == 1
        assert numbers(reopen().entries.page(seen(now=NOW), None, None, 10)) == [13, 12, 11, 2]


def _numbered(number: int) -> Callable[[Transaction], int]:
    """Adds an entry with a word, as remembering does, and answers its number."""

    def job(tx: Transaction) -> int:
        counts = tx.spaces.advance(HERE, entries=1, indexed=1, length=1)
        assert counts is not None
        row: EntryRow = entry_row(number, seq=100 + counts.seq, labels=RED, length=1)
        assert tx.entries.insert(HERE, row)
        tx.terms.put(HERE, number, words("new"), replaces=False)
        return number

    return job


def _linked(name: str) -> Callable[[Transaction], None]:
    """Adds a line to the audit log whose link goes on from the last one."""

    def job(tx: Transaction) -> None:
        head = tx.audit.head()
        before = head.link + b">" if head.position else b""
        tx.audit.append(audit_row(name, link=before + name.encode()))

    return job


def _refusing(message: str) -> Callable[[Transaction], None]:
    def job(tx: Transaction) -> None:
        raise Refusal(message)

    return job
