"""The index over the vectors of one huge space: made by who may manage it, from Python and from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

import holdfast
from holdfast.domain.errors import AccessDenied, InvalidField
from holdfast.entrypoints.cli import app
from holdfast.entrypoints.cli.options import GlobalOptions
from holdfast.entrypoints.python.memory import Memory
from tests.postgres.databases import empty_database, url_of
from tests.postgres.test_same_hits import KEY

WORDS = "tests.postgres.test_same_hits:by_words"


@pytest.fixture
def database() -> Iterator[str]:
    with empty_database() as dsn:
        with opened(url_of(dsn)) as memory:
            memory.user("alice").remember("the harbour opens at dawn", key="harbour")
            memory.user("bob").remember("ships come late", key="ships")
            memory.settle()
        yield dsn


def opened(where: str | Path) -> Memory:
    return holdfast.open(where, key=KEY, embedder=WORDS, sweep_seconds=0)


def indexes(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as db:
        rows = db.execute("SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%USING hnsw%'").fetchall()
    return [name for (name,) in rows]


def test_the_owner_of_a_space_makes_one_and_takes_it_away(database: str) -> None:
    with opened(url_of(database)) as memory:
        name = memory.build_vector_index("alice", "user:alice")
        assert indexes(database) == [name]
        assert [hit.key for hit in memory.user("alice").recall("harbour")] == ["harbour"]
        memory.drop_vector_index("alice", "user:alice")
    assert indexes(database) == []


def test_nobody_makes_one_in_the_space_of_another(database: str) -> None:
    with opened(url_of(database)) as memory, pytest.raises(AccessDenied):
        memory.build_vector_index("bob", "user:alice")
    assert indexes(database) == []


def test_a_store_on_sqlite_compares_all_vectors_and_says_so(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.user("alice").remember("the harbour opens at dawn", key="harbour")
        with pytest.raises(InvalidField, match="Only a store on PostgreSQL"):
            memory.build_vector_index("alice", "user:alice")


def test_the_command_makes_one_and_takes_it_away(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"DATABASE_URL": url_of(database), "MEMORY_KEY": KEY, "EMBEDDER": WORDS}.items():
        monkeypatch.setenv(f"HOLDFAST_{name}", value)
    made = CliRunner().invoke(
        app, ["scale", "vectors", "user:alice", "--as", "alice", "--json"], obj=GlobalOptions()
    )
    assert made.exit_code == 0, made.output
    assert indexes(database) == [json.loads(made.stdout)["index"]]
    gone = CliRunner().invoke(
        app, ["scale", "vectors", "user:alice", "--as", "alice", "--drop"], obj=GlobalOptions()
    )
    assert (gone.exit_code, indexes(database)) == (0, [])
