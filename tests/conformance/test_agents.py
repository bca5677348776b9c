"""AgentReads and AgentWrites: what agents' memories may be used for."""

from __future__ import annotations

from holdfast.contracts.rows import AgentRow
from holdfast.contracts.storage import Store
from tests.conformance.rows import ALICE, BOB, agent_row, write


def put(store: Store, row: AgentRow) -> None:
    write(store, lambda tx: tx.agents.put(row))


def test_there_is_no_line_until_one_is_put(store: Store) -> None:
    assert store.agents.get(BOB) is None
    assert store.agents.all() == []


def test_every_agent_has_one_line_and_a_new_one_replaces_it(store: Store) -> None:
    for row in (agent_row(), agent_row(agent=ALICE, owner=b""), agent_row(enabled=False, default_ttl=0)):
        put(store, row)
    assert store.agents.get(BOB) == agent_row(enabled=False, default_ttl=0)
    assert store.agents.get(ALICE) == agent_row(agent=ALICE, owner=b"")
    assert store.agents.all() == sorted(
        [agent_row(agent=ALICE, owner=b""), agent_row(enabled=False, default_ttl=0)]
    )
