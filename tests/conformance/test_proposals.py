"""ProposalReads and ProposalWrites: what waits for a person."""

from uuid import UUID

import pytest

from holdfast.contracts.rows import APPROVED, REFUSED
from holdfast.contracts.storage import Store, Transaction
from tests.conformance.rows import ALICE, BOB, CAROL, HERE, NOW, THERE, proposal_row, write

ONE = proposal_row("one", created_us=NOW)
TWO = proposal_row("two", number=2, created_us=NOW + 1)
OF_CAROL = proposal_row("carol", person=CAROL, space=THERE, created_us=NOW + 2)
OF_NOBODY = proposal_row("nobody", person=b"", space=THERE, number=0, created_us=NOW + 3, expires_us=NOW + 5)
EVERY = (ONE, TWO, OF_CAROL, OF_NOBODY)


@pytest.fixture(autouse=True)
def kept(store: Store) -> None:
    def job(tx: Transaction) -> None:
        for row in EVERY:
            tx.proposals.insert(row)

    write(store, job)


def left(store: Store) -> list[UUID]:
    return [row.id for row in EVERY if store.proposals.get(row.id) is not None]


def test_a_proposal_is_found_by_its_id_as_it_was_given(store: Store) -> None:
    assert [store.proposals.get(row.id) for row in EVERY] == list(EVERY)
    assert store.proposals.get(proposal_row("other").id) is None


def test_what_waits_for_a_person_or_about_a_space_comes_newest_first(store: Store) -> None:
    assert store.proposals.waiting(ALICE, [], NOW, 10) == [TWO, ONE]
    assert store.proposals.waiting(ALICE, [], NOW, 1) == [TWO]
    assert store.proposals.waiting(CAROL, [HERE], NOW, 10) == [OF_CAROL, TWO, ONE]
    assert store.proposals.waiting(BOB, [HERE, THERE], NOW, 10) == [OF_NOBODY, OF_CAROL, TWO, ONE]
    assert store.proposals.waiting(BOB, [], NOW, 10) == []


def test_what_has_expired_waits_no_more(store: Store) -> None:
    assert store.proposals.waiting(BOB, [THERE], NOW + 4, 10) == [OF_NOBODY, OF_CAROL]
    assert store.proposals.waiting(BOB, [THERE], NOW + 5, 10) == [OF_CAROL]


def test_an_answer_is_given_once_and_removes_what_was_sealed(store: Store) -> None:
    assert write(store, lambda tx: tx.proposals.answer(ONE.id, APPROVED))
    assert not write(store, lambda tx: tx.proposals.answer(ONE.id, REFUSED))
    assert store.proposals.get(ONE.id) == ONE._replace(answer=APPROVED, sealed=b"")
    assert store.proposals.waiting(ALICE, [], NOW, 10) == [TWO]


def test_nothing_that_is_not_there_can_be_answered(store: Store) -> None:
    assert not write(store, lambda tx: tx.proposals.answer(proposal_row("other").id, APPROVED))


def test_old_proposals_go_at_most_so_many_at_once(store: Store) -> None:
    assert write(store, lambda tx: tx.proposals.delete_before(NOW + 5, 10)) == 0
    assert write(store, lambda tx: tx.proposals.delete_before(NOW + 6, 10)) == 1
    assert write(store, lambda tx: tx.proposals.delete_before(NOW + 601, 2)) == 2
    assert len(left(store)) == 1


def test_proposals_go_with_whom_they_ask_and_with_who_asked(store: Store) -> None:
    assert write(store, lambda tx: tx.proposals.delete_of(CAROL)) == 1
    assert left(store) == [ONE.id, TWO.id, OF_NOBODY.id]
    assert write(store, lambda tx: tx.proposals.delete_of(BOB)) == 3


def test_proposals_go_with_an_entry_and_with_a_space(store: Store) -> None:
    assert write(store, lambda tx: tx.proposals.delete_entry(HERE, 2)) == 1
    assert left(store) == [ONE.id, OF_CAROL.id, OF_NOBODY.id]
    assert write(store, lambda tx: tx.proposals.delete_space(THERE)) == 2
    assert left(store) == [ONE.id]
