"""`holdfast doctor` as an agent: what its program would start is started, asked and ended."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from holdfast.entrypoints.cli.doctor import clients
from holdfast.entrypoints.cli.doctor.clients import Probe, Program, Server
from tests.cli.command import Command

KEY = "5e" * 32
CORE = "remember, recall, forget, memory_context"


def mcp(holdfast: Command, **environment: str) -> tuple[str, str, str]:
    """State, cause and remedy."""
    found = {one["name"]: one for one in holdfast("doctor", "--json", **environment).json["checks"]}["mcp"]
    return found["state"], found["cause"], found["remedy"]


def files(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture
def entry(settings: None, tmp_path: Path) -> Any:
    """Writes an entry of ours for Cursor."""

    def write(**said: Any) -> None:
        (tmp_path / ".cursor").mkdir(exist_ok=True)
        (tmp_path / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"holdfast": said}}))

    return write


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Server]:
    """Nothing is; here is what would have been."""
    asked: list[Server] = []

    def listen(servers: Sequence[Server]) -> list[Probe]:
        asked.extend(servers)
        return [Probe(("recall",)) for _ in servers]

    monkeypatch.setattr(clients, "probe", listen)
    return asked


def test_without_a_store_an_agent_is_answered_and_nothing_is_made(holdfast: Command, data: Path) -> None:
    assert mcp(holdfast) == ("ok", f"MCP works: {CORE}", "")
    assert not data.exists()


def test_the_store_is_asked_and_left_as_it_is(holdfast: Command, data: Path) -> None:
    holdfast("remember", "kept", "--pin")
    before = files(data)
    assert mcp(holdfast)[0] == "ok"
    assert files(data) == before

    (data / "holdfast.key").unlink()
    state, cause, remedy = mcp(holdfast)
    assert (state, "The key file holdfast.key of this store is missing" in cause) == ("fail", True)
    assert remedy == "see `key`"


def test_a_key_that_only_this_shell_has_is_missed_until_the_remedy_is_followed(
    holdfast: Command, data: Path
) -> None:
    key = {"HOLDFAST_MEMORY_KEY": KEY}
    holdfast("remember", "kept", **key)
    holdfast("connect", "cursor", **key)
    holdfast("connect", "claude-code", **key)

    state, cause, remedy = mcp(holdfast, **key)
    assert state == "fail"
    assert "Cursor: unavailable: The key file holdfast.key of this store is missing" in cause
    assert "Claude Code: unavailable" in cause
    command = remedy.partition("its key file: ")[2].partition("; or add")[0]

    subprocess.run(command, shell=True, check=True, env=os.environ | key)
    assert mcp(holdfast, **key)[:2] == ("ok", f"Claude Code works: {CORE}; Cursor works: {CORE}")


def test_a_store_of_an_older_schema_is_not_brought_to_a_newer_one(holdfast: Command, data: Path) -> None:
    holdfast("remember", "kept", "--key", "k")
    file = data / "holdfast.db"
    content = bytearray(file.read_bytes())
    content[60:64] = (1).to_bytes(4, "big")
    file.write_bytes(content)
    before = files(data)

    assert mcp(holdfast)[0] == "ok"
    assert files(data) == before


def test_a_server_that_is_down_is_told_at_once(holdfast: Command) -> None:
    down = {"HOLDFAST_URL": "http://127.0.0.1:1", "HOLDFAST_TOKEN": "t"}
    holdfast("connect", "cursor", **down)
    state, cause, remedy = mcp(holdfast)
    assert (state, "http://127.0.0.1:1/mcp does not answer" in cause) == ("fail", True)
    assert remedy == "start the server, or with its address and token set: holdfast connect cursor"


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_a_program_that_says_nothing_is_ended(
    holdfast: Command, entry: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr("mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT", 0.05)
    entry(command="sh", args=["-c", f"echo $$ > {tmp_path}/pid; exec sleep 600"])

    state, cause, remedy = mcp(holdfast)

    assert (state, "Cursor: no answer within" in cause) == ("fail", True)
    assert remedy == f"run `sh -c 'echo $$ > {tmp_path}/pid; exec sleep 600'` to see why"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_a_program_that_ends_is_told_with_its_last_words(process: Command, entry: Any) -> None:
    entry(command="sh", args=["-c", "echo no protocol; echo first >&2; echo oh no >&2"])
    assert mcp(process)[:2] == ("fail", "Cursor: oh no")
    assert process("doctor").err == ""


def test_a_program_that_is_gone_is_connected_again(holdfast: Command, entry: Any) -> None:
    entry(command="no-such-command")
    assert mcp(holdfast)[::2] == ("fail", "holdfast connect cursor")


def test_a_program_gets_what_its_entry_says_and_nothing_of_this_shell(
    holdfast: Command, entry: Any, data: Path, started: list[Server]
) -> None:
    holdfast("remember", "kept", HOLDFAST_MEMORY_KEY=KEY)
    entry(command="holdfast", args=["mcp"], env={"HOLDFAST_DATA_DIR": str(data), "EXTRA": "x"})
    mcp(holdfast, HOLDFAST_MEMORY_KEY=KEY, HOLDFAST_SUBJECT="alice")
    (program,) = started
    assert isinstance(program, Program)
    said = {name: value for name, value in program.variables if name not in clients.READ_ONLY}
    assert said == {"HOLDFAST_DATA_DIR": str(data), "EXTRA": "x"}


def test_programs_that_start_the_same_start_it_once(holdfast: Command, started: list[Server]) -> None:
    for client in ("cursor", "claude-code", "gemini"):
        holdfast("connect", client)
    state, cause, _ = mcp(holdfast)
    assert (state, cause.count("works: recall"), len(started)) == ("ok", 3, 1)


def test_a_folder_that_an_entry_names_as_an_option_is_not_made(
    entry: Any, holdfast: Command, tmp_path: Path
) -> None:
    holdfast("connect", "cursor")
    ours = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["holdfast"]
    entry(**ours | {"args": [*ours["args"], "--data", str(tmp_path / "elsewhere")]})
    assert mcp(holdfast)[0] == "ok"
    assert not (tmp_path / "elsewhere").exists()


def test_an_entry_that_its_program_completes_is_not_tried(
    holdfast: Command, entry: Any, started: list[Server]
) -> None:
    entry(command="holdfast", args=["mcp"], env={"HOLDFAST_MEMORY_KEY": "${env:HOLDFAST_MEMORY_KEY}"})
    assert mcp(holdfast)[:2] == ("ok", "Cursor not tried: it fills in a part of its entry itself")
    assert started == []


def test_an_address_is_asked_as_it_stands(holdfast: Command, entry: Any) -> None:
    entry(url="http://127.0.0.1:1/mcp", headers={"Authorization": "Bearer t"})
    state, _, remedy = mcp(holdfast)
    assert (state, remedy) == (
        "fail",
        "start the server at http://127.0.0.1:1/mcp, or: holdfast connect cursor",
    )


@pytest.mark.slow
def test_a_database_is_asked_and_gets_no_store_and_no_newer_schema(holdfast: Command) -> None:
    import psycopg

    from tests.conformance.postgres_backend import server as postgres

    with psycopg.connect(postgres().get_uri(), autocommit=True) as db:
        db.execute("DROP DATABASE IF EXISTS doctor_agents")
        db.execute("CREATE DATABASE doctor_agents")
    url = postgres().get_uri("doctor_agents")
    key = {"HOLDFAST_DATABASE_URL": url, "HOLDFAST_MEMORY_KEY": KEY}

    assert mcp(holdfast, **key)[0] == "ok"
    with psycopg.connect(url) as db:
        assert db.execute("SELECT to_regnamespace('holdfast')").fetchall() == [(None,)]

    holdfast("remember", "kept", **key)
    assert mcp(holdfast, **key)[0] == "ok"
    holdfast("connect", "cursor", **key)
    state, _, remedy = mcp(holdfast, **key)
    assert (state, 'memory_key = "…"' in remedy) == ("fail", True)

    holdfast("connect", "cursor", "--undo")
    newest = "SELECT max(number) FROM holdfast.versions"
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"DELETE FROM holdfast.versions WHERE number = ({newest})")
        before = db.execute(newest).fetchall()
        assert mcp(holdfast, **key)[0] == "ok"
        assert db.execute(newest).fetchall() == before
