"""One audit log for all nodes on PostgreSQL: whole however many write and read at once, and cut nowhere unseen."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

import holdfast
from tests.postgres.databases import url_of

KEY = "6b" * 32
NODES = 3
EACH = 15


@pytest.fixture
def nodes(dsn: str) -> Iterator[list[holdfast.Memory]]:
    opened = [holdfast.open(url_of(dsn), key=KEY, embedder="none", sweep_seconds=0) for _ in range(NODES)]
    yield opened
    for memory in opened:
        memory.close()


def work(memory: holdfast.Memory, name: str) -> None:
    own = memory.user(name)
    for number in range(EACH):
        own.remember(f"note {number}", key=f"k/{number}")
        own.get(f"k/{number}")


def test_nodes_that_write_and_read_together_make_one_whole_log(nodes: list[holdfast.Memory]) -> None:
    with ThreadPoolExecutor(NODES) as threads:
        list(threads.map(work, nodes, [f"user{number}" for number in range(NODES)]))
    readers = [memory.user(f"user{number}").readers("k/7")[0].by for number, memory in enumerate(nodes)]
    found = [memory.audit.verify() for memory in nodes]
    assert readers == [f"user:user{number}" for number in range(NODES)]
    assert [one.problem for one in found] == [None] * NODES
    assert found[-1].lines > NODES * EACH


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM holdfast.audit WHERE position = 5",
        "DELETE FROM holdfast.audit WHERE position > 10",
        "UPDATE holdfast.audit SET operation = 'get' WHERE position = 3",
        "UPDATE holdfast.audit SET at_us = at_us + 1 WHERE position = 7",
        "UPDATE holdfast.audit_head SET code = ''",
        "WITH cut AS (DELETE FROM holdfast.audit WHERE position > 10 RETURNING 1) UPDATE holdfast.audit_head SET"
        " position = 10, link = (SELECT link FROM holdfast.audit WHERE position = 10), code = '\\x00'",
    ],
)
def test_what_is_done_to_the_log_in_the_database_is_found(
    nodes: list[holdfast.Memory], dsn: str, damage: str
) -> None:
    work(nodes[0], "alice")
    assert nodes[1].audit.verify().intact
    nodes[0]._opened.engine.reads.write_down()  # type: ignore[union-attr]
    with psycopg.connect(dsn) as db:
        db.execute(damage.encode())
    assert not nodes[1].audit.verify().intact
