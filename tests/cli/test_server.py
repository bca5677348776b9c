"""The same commands against a server: `holdfast serve` in a process of its own, HOLDFAST_URL and HOLDFAST_TOKEN."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import Command

pytestmark = pytest.mark.slow


@pytest.fixture
def url(settings: None) -> Iterator[str]:
    """Where the server listens; Ctrl-C ends it."""
    with subprocess.Popen(
        [sys.executable, "-m", "holdfast", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ,
        text=True,
    ) as server:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found is not None
        yield found[0]
        server.send_signal(signal.SIGINT)
        server.communicate()


def test_what_is_remembered_through_the_server_is_in_its_store(
    holdfast: Command, url: str, tmp_path: Path
) -> None:
    token = holdfast("token", "create", "--subject", "local").out.strip()
    far = {"HOLDFAST_URL": url, "HOLDFAST_TOKEN": token, "HOLDFAST_DATA_DIR": str(tmp_path / "other")}

    assert holdfast("remember", "Deploys go through Konflux", "--key", "k", "--ttl", "12h", **far).code == 0
    assert holdfast("recall", "how do we deploy?", **far).rows[0][1:] == ["k", "Deploys go through Konflux"]
    assert holdfast("list", "--json", **far).json["entries"][0]["key"] == "k"
    assert not (tmp_path / "other").exists()
    assert holdfast("get", "k").out == "Deploys go through Konflux\n"


def test_a_refusal_of_the_server_is_the_refusal_of_the_store(holdfast: Command, url: str) -> None:
    far = {"HOLDFAST_URL": url, "HOLDFAST_TOKEN": holdfast("token", "create", "--subject", "x").out.strip()}

    assert holdfast("get", "nowhere", **far).err == holdfast("get", "nowhere").err.splitlines()[-1] + "\n"
    assert holdfast("get", "k", HOLDFAST_URL=url, HOLDFAST_TOKEN="no").err.startswith("unauthenticated: ")


def test_any_call_is_made_of_the_server_as_of_the_store(holdfast: Command, url: str) -> None:
    far = {"HOLDFAST_URL": url, "HOLDFAST_TOKEN": holdfast("token", "create", "--subject", "x").out.strip()}
    rows = (
        '{"entries": [{"text": "good", "ttl_seconds": 3600.0}, {"text": "bad", "nonsense": {}}, 7, '
        '{"text": "in other words", "ttl": 3600}]}'
    )
    for where in ({}, far):
        done = holdfast("call", "core", "remember_many", rows, "--json", **where).json
        kept, *refused = done["outcomes"]
        assert (kept["persisted"], kept["expires_at"] is not None) == (True, True)
        assert [row["error"] for row in refused] == ["invalid_field"] * 3


@pytest.mark.parametrize(
    ("surface", "tool", "told", "expected"),
    [
        ("core", "remember_many", '{"entries": 1}', "invalid_field"),
        ("core", "remember_many", '{"entries": "ab"}', "invalid_field"),
        ("corpus", "query", '{"query": "x", "searches": true}', "invalid_field"),
        ("core", "edit", '{"id": 5, "text": "x"}', "not_found"),
        ("core", "get", '{"id": 5}', "not_found"),
        ("core", "share", '{"space": "~", "grantee": "agent:a"}', "access_denied"),
        ("kv", "kv_set", '{"key": "", "value": "x"}', "missing_key"),
        ("kv", "kv_get", '{"key": ""}', "missing_key"),
        ("kv", "kv_delete", '{"key": ""}', "missing_key"),
        ("facts", "memory_history", f'{{"key": "{"k" * 70_000}"}}', "too_large"),
    ],
    ids=str,
)
def test_bad_input_to_the_server_has_a_code(
    holdfast: Command, url: str, surface: str, tool: str, told: str, expected: str
) -> None:
    far = {"HOLDFAST_URL": url, "HOLDFAST_TOKEN": holdfast("token", "create", "--subject", "x").out.strip()}
    refused = holdfast("call", surface, tool, "-", given=told, **far)
    assert (refused.code, refused.err.partition(":")[0]) == (1, expected)


def test_the_doctor_finds_the_server_ready_and_the_token_good(holdfast: Command, url: str) -> None:
    token = holdfast("token", "create", "--subject", "x").out.strip()

    done = holdfast("doctor", "--json", HOLDFAST_URL=url, HOLDFAST_TOKEN=token)

    states = {one["name"]: one["state"] for one in done.json["checks"]}
    assert (done.code, states["server"], states["token"]) == (0, "ok", "ok")


def test_any_call_is_made_by_the_server(holdfast: Command, url: str, tmp_path: Path) -> None:
    token = holdfast("token", "create", "--subject", "alice").out.strip()
    far = {"HOLDFAST_URL": url, "HOLDFAST_TOKEN": token, "HOLDFAST_DATA_DIR": str(tmp_path / "other")}
    stored = holdfast("call", "facts", "memory_store", '{"key": "k", "value": "v"}', "--json", **far)
    assert (stored.code, stored.json["persisted"]) == (0, True)
    assert holdfast("call", "corpus", "query", '{"query": "v"}', "--json", **far).json["results"]
    refused = holdfast("call", "facts", "memory_store", '{"key": "k"}', **far)
    assert (refused.code, refused.err.partition(":")[0]) == (1, "missing_value")
    assert holdfast("call", "facts", "memory_recall", "--as", "alice", "--json").json["facts"]
