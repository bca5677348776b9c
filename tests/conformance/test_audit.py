"""AuditReads and AuditWrites: lines in the order in which they were added."""

from __future__ import annotations

from holdfast.contracts.rows import AuditHead, AuditRow
from holdfast.contracts.storage import Store, Transaction
from tests.conformance.rows import audit_row, write


def append(store: Store, *rows: AuditRow) -> None:
    def job(tx: Transaction) -> None:
        for row in rows:
            tx.audit.append(row)

    write(store, job)


def test_an_empty_log_has_no_last_line(store: Store) -> None:
    assert store.audit.head() == AuditHead()
    assert store.audit.after(0, 10) == []


def test_a_line_comes_back_as_it_was_given(store: Store) -> None:
    row = audit_row("forget all", space=b"", object=b"", revision=0, link=b"\0\xff" * 10)
    append(store, row)
    assert store.audit.after(0, 10) == [row]


def test_lines_stay_in_order_whatever_their_times_say(store: Store) -> None:
    rows = [audit_row(name, at_us=at) for name, at in (("a", 9), ("b", 3), ("c", 3), ("a", 9))]
    for row in rows:
        append(store, row)
    assert store.audit.after(0, 10) == rows
    assert store.audit.head().link == rows[-1].link


def test_a_position_counts_lines(store: Store) -> None:
    append(store, *[audit_row(operation) for operation in "abcd"])
    assert [row.operation for row in store.audit.after(1, 2)] == ["b", "c"]
    assert [row.operation for row in store.audit.after(3, 2)] == ["d"]
    assert store.audit.after(4, 2) == []


def test_a_transaction_links_each_line_to_the_one_before_its_own_included(store: Store) -> None:
    append(store, audit_row("before", link=b"before"))

    def job(tx: Transaction) -> list[bytes]:
        links = [tx.audit.head().link]
        for link in (b"first", b"second"):
            tx.audit.append(audit_row(link=link))
            links.append(tx.audit.head().link)
        return links

    assert write(store, job) == [b"before", b"first", b"second"]


def test_the_head_is_the_last_line_with_the_code_it_was_given(store: Store) -> None:
    assert store.audit.head() == AuditHead()
    append(store, audit_row("a"))

    def job(tx: Transaction) -> list[AuditHead]:
        heads = [tx.audit.head()]
        tx.audit.append(audit_row("b", link=b"link of b"), b"code of b")
        return [*heads, tx.audit.head()]

    assert write(store, job) == [
        AuditHead(1, audit_row("a").link, b""),
        AuditHead(2, b"link of b", b"code of b"),
    ]
    assert store.audit.head() == AuditHead(2, b"link of b", b"code of b")


def test_lines_about_an_object_are_found_wherever_they_name_it_newest_first(store: Store) -> None:
    one, other = b"1" * 16, b"2" * 16
    rows = [
        audit_row("get", object=one, at_us=1),
        audit_row("list", object=other + one, at_us=2),
        audit_row("get", object=other, at_us=3),
        audit_row("remember", object=one, at_us=4),
    ]
    append(store, *rows)
    assert store.audit.about(one, ["get", "list"], 10) == [rows[1], rows[0]]
    assert store.audit.about(one, ["get", "list"], 1) == [rows[1]]
    assert store.audit.about(b"3" * 16, ["get"], 10) == []
