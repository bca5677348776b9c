"""Whole tables in pages, and rows put as another store had them."""

from holdfast.contracts.rows import ModelRow, NameRow, SpaceCounts, SpaceState, WholeSpace
from holdfast.contracts.storage import Store, Transaction
from tests.conformance.rows import (
    ALICE,
    BOB,
    CAROL,
    HERE,
    NOW,
    THERE,
    blind,
    entry_row,
    key_row,
    label,
    member_row,
    receipt_row,
    seen,
    space_row,
    superseded,
    write,
)


def put_both(tx: Transaction) -> None:
    for id, seq in ((HERE, 7), (THERE, 8)):
        tx.copies.put_space(WholeSpace(space_row(id), SpaceCounts(seq, 3, 2, 9, 1), SpaceState(seq, 4, 5)))


class TestSpaces:
    def test_come_whole_in_the_order_of_ids(self, store: Store) -> None:
        write(store, put_both)
        first, second = store.copies.spaces(None, 10)
        assert first == WholeSpace(space_row(HERE), SpaceCounts(7, 3, 2, 9, 1), SpaceState(7, 4, 5))
        assert second.row.id == THERE
        assert store.copies.spaces(HERE, 10) == [second]
        assert store.copies.spaces(None, 1) == [first]
        assert store.copies.spaces(THERE, 10) == []

    def test_put_again_take_the_new_counters_and_keep_their_name(self, store: Store) -> None:
        write(store, put_both)
        again = WholeSpace(space_row(HERE), SpaceCounts(70, 30, 20, 90, 1), SpaceState(70, 40, 50))
        write(store, lambda tx: tx.copies.put_space(again))
        assert store.copies.spaces(None, 1) == [again]
        assert store.spaces.by_name(again.row.name) == again.row
        assert store.spaces.counts(HERE) == again.counts


class TestEntries:
    def test_of_every_state_come_by_number_from_one_space(self, store: Store) -> None:
        live, trashed, expired = entry_row(5), entry_row(3, trashed_us=NOW), entry_row(4, expires_us=1)

        def put(tx: Transaction) -> None:
            put_both(tx)
            for row in (live, trashed, expired):
                tx.copies.put_entry(HERE, row)
            tx.copies.put_entry(THERE, entry_row(9))

        write(store, put)
        assert store.copies.entries(HERE, 0, 10) == [trashed, expired, live]
        assert store.copies.entries(HERE, 3, 1) == [expired]
        assert store.copies.entries(HERE, 5, 10) == []

    def test_put_again_replace_what_is_there(self, store: Store) -> None:
        old, new = entry_row(1, labels=label("old")), entry_row(1, revision=2, seq=8, labels=label("new"))

        def put(tx: Transaction) -> None:
            put_both(tx)
            tx.copies.put_entry(HERE, old)
            tx.entries.add_revision(HERE, superseded(old))
            tx.copies.put_entry(HERE, new)

        write(store, put)
        assert store.copies.entries(HERE, 0, 10) == [new]
        assert store.copies.revisions(HERE, (0, 0), 10) == []
        assert store.outlines.labelled(HERE, [label("old")]) == []
        assert store.outlines.labelled(HERE, [label("new")]) == [1]

    def test_in_the_trash_have_no_labels(self, store: Store) -> None:
        row = entry_row(1, trashed_us=NOW, labels=label("tag"))

        def put(tx: Transaction) -> None:
            put_both(tx)
            tx.copies.put_entry(HERE, row)

        write(store, put)
        assert store.outlines.labelled(HERE, [label("tag")]) == []
        assert store.entries.trash(seen(), None, 10) == [row]


class TestTheRest:
    def test_revisions_come_by_number_and_revision_from_one_space(self, store: Store) -> None:
        kept = [superseded(entry_row(number, revision=revision)) for number in (1, 2) for revision in (1, 2)]

        def put(tx: Transaction) -> None:
            put_both(tx)
            for number in (1, 2):
                tx.copies.put_entry(HERE, entry_row(number, revision=3))
            for row in reversed(kept):
                tx.entries.add_revision(HERE, row)
            tx.copies.put_entry(THERE, entry_row(1, revision=2))
            tx.entries.add_revision(THERE, superseded(entry_row(1)))

        write(store, put)
        assert store.copies.revisions(HERE, (0, 0), 10) == kept
        assert store.copies.revisions(HERE, (1, 1), 2) == kept[1:3]

    def test_names_members_and_receipts_come_in_order(self, store: Store) -> None:
        def put(tx: Transaction) -> None:
            put_both(tx)
            for name in (CAROL, ALICE, BOB):
                tx.names.put(name, b"sealed " + name)
            tx.members.replace(HERE, [member_row(CAROL), member_row(BOB)])
            for key in ("b", "a"):
                tx.receipts.put(receipt_row(key))

        write(store, put)
        assert store.copies.names(b"", 10) == [
            NameRow(name, b"sealed " + name) for name in (ALICE, BOB, CAROL)
        ]
        assert store.copies.names(ALICE, 1) == [NameRow(BOB, b"sealed " + BOB)]
        assert store.copies.members(HERE) == [member_row(BOB), member_row(CAROL)]
        assert store.copies.members(THERE) == []
        assert store.copies.receipts((b"", b""), 10) == [receipt_row("a"), receipt_row("b")]
        assert store.copies.receipts((ALICE, blind("a")), 10) == [receipt_row("b")]

    def test_keys_and_models_are_put_with_their_numbers_again_and_again(self, store: Store) -> None:
        model = ModelRow(7, "m", 384, "serving", None, NOW)

        def put(tx: Transaction) -> None:
            put_both(tx)
            for _ in range(2):
                tx.copies.put_key(key_row(HERE, 3, wrapped=b"wrapped"))
                tx.copies.put_model(model)

        write(store, put)
        assert store.keys.of(HERE) == [key_row(HERE, 3, wrapped=b"wrapped")]
        assert store.models.all() == [model]
        assert write(store, lambda tx: tx.models.insert("next", 3, "following", NOW)) > model.model
