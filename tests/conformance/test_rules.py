"""RuleReads and RuleWrites: what roles may still do."""

from __future__ import annotations

from holdfast.contracts.rows import RuleRow
from holdfast.contracts.storage import Store
from tests.conformance.rows import write


def put(store: Store, row: RuleRow) -> None:
    write(store, lambda tx: tx.rules.put(row))


def test_there_are_no_rules_until_one_is_put(store: Store) -> None:
    assert store.rules.all() == []


def test_every_role_has_one_line_and_a_new_one_replaces_it(store: Store) -> None:
    put(store, RuleRow("member", read=True, manage=False))
    put(store, RuleRow("gäst", read=False, manage=False))
    put(store, RuleRow("member", read=False, manage=True))
    assert sorted(store.rules.all()) == [RuleRow("gäst", False, False), RuleRow("member", False, True)]
