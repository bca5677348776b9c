"""`holdfast doctor`: it sees what is wrong, says what to do, and changes nothing."""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from holdfast.entrypoints.cli.doctor import clients, machine
from holdfast.entrypoints.cli.doctor.checks import CHECKS, examine
from holdfast.entrypoints.cli.doctor.clients import Probe
from holdfast.entrypoints.cli.doctor.finding import Finding, Scene
from holdfast.settings import load
from tests.cli.command import Command, Done


def of(done: Done, name: str) -> tuple[str, str, str]:
    """State, cause and remedy of one check."""
    (found,) = [
        (one["state"], one["cause"], one["remedy"]) for one in done.json["checks"] if one["name"] == name
    ]
    return found


def doctor(holdfast: Command, **environment: str) -> Done:
    return holdfast("doctor", "--json", **environment)


def files(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture(autouse=True)
def nothing_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start takes a second; test_doctor_agents.py has those."""
    monkeypatch.setattr(clients, "probe", lambda servers: [Probe(("recall",)) for _ in servers])


@pytest.fixture
def store(holdfast: Command, data: Path) -> Path:
    """A store with a memory in it."""
    holdfast("remember", "kept", "--key", "k")
    return data


def hang_up_twice(listening: socket.socket) -> None:
    """Takes a call and says nothing."""
    for _ in range(2):
        listening.accept()[0].close()


class Answering(BaseHTTPRequestHandler):
    """A server that is ready and takes one token."""

    def do_GET(self) -> None:
        good = self.path in ("/healthz", "/readyz") or self.headers["Authorization"] == "Bearer good"
        self.send_response(200 if good else 401)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Answering) as listening:
        thread = Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


def test_on_an_empty_machine_nothing_fails_and_nothing_is_made(holdfast: Command, data: Path) -> None:
    done = doctor(holdfast)

    assert (done.code, done.json["ok"]) == (0, True)
    assert "`holdfast remember …` creates one" in of(done, "directory")[1]
    assert not data.exists()


def test_a_sound_store_is_found_sound_and_left_as_it_is(holdfast: Command, store: Path) -> None:
    before = files(store)

    done = doctor(holdfast)

    assert {one["name"]: one["state"] for one in done.json["checks"] if one["state"] == "fail"} == {}
    assert of(done, "store")[:2] == ("ok", "opens with the key")
    assert of(done, "schema")[0] == "ok"
    assert files(store) == before


def test_each_line_has_state_name_cause_and_remedy(holdfast: Command, store: Path) -> None:
    (store / "holdfast.key").chmod(0o644)

    rows = {row[1]: row for row in holdfast("doctor").rows}

    assert rows["key"] == [
        "warn",
        "key",
        f"{store}/holdfast.key is open to others (0644)",
        f"chmod 600 {store}/holdfast.key",
    ]
    assert all(len(row) == 4 and row[0] in ("ok", "warn", "fail") for row in rows.values())


def test_a_wrong_key_fails(holdfast: Command, store: Path) -> None:
    done = doctor(holdfast, HOLDFAST_MEMORY_KEY="11" * 32)

    assert (done.code, of(done, "store")[0]) == (1, "fail")
    assert "HOLDFAST_MEMORY_KEY" in of(done, "store")[2]


def test_a_missing_key_file_fails_and_none_is_made(holdfast: Command, store: Path) -> None:
    (store / "holdfast.key").unlink()

    done = doctor(holdfast)

    assert of(done, "key")[0] == "fail"
    assert not (store / "holdfast.key").exists()


def test_settings_that_cannot_be_read_fail_with_the_file(holdfast: Command, data: Path) -> None:
    (data / "holdfast.toml").mkdir(parents=True)

    state, cause, remedy = of(doctor(holdfast), "settings")

    assert (state, remedy) == ("fail", "check that this user can read it")
    assert str(data / "holdfast.toml") in cause


def test_a_database_named_like_a_key_file_fails_and_nothing_is_made(holdfast: Command, data: Path) -> None:
    done = doctor(holdfast, HOLDFAST_DATABASE_URL=f"sqlite:///{data}/store.key")

    assert (done.code, of(done, "key")[0]) == (1, "fail")
    assert "for example store.db" in of(done, "key")[1]
    assert not data.exists()


def test_a_file_that_is_no_store_fails(holdfast: Command, data: Path) -> None:
    data.mkdir(mode=0o700)
    (data / "holdfast.db").write_bytes(b"no database at all, but long enough to be one" * 10)

    done = doctor(holdfast)

    assert (done.code, of(done, "schema")[0]) == (1, "fail")


def test_a_schema_from_the_future_fails(holdfast: Command, store: Path) -> None:
    file = store / "holdfast.db"
    content = bytearray(file.read_bytes())
    content[60:64] = (999).to_bytes(4, "big")
    file.write_bytes(content)

    state, cause, _ = of(doctor(holdfast), "schema")

    assert (state, "999" in cause) == ("fail", True)


def test_a_damaged_key_is_to_be_put_back_and_not_made_anew(holdfast: Command, store: Path) -> None:
    (store / "holdfast.key").write_text("zz")
    done = doctor(holdfast)
    assert of(done, "key")[0] == "fail"
    assert of(done, "key")[2].startswith("put the key this store was made with back into")
    assert [of(done, name)[2] for name in ("store", "recovery")] == ["see `key`", ""]
    set_wrong = doctor(holdfast, HOLDFAST_MEMORY_KEY="zz")
    assert "back into HOLDFAST_MEMORY_KEY" in of(set_wrong, "key")[2]


def test_before_there_is_a_store_a_key_that_cannot_be_used_is_made_anew(holdfast: Command) -> None:
    done = doctor(holdfast, HOLDFAST_MEMORY_KEY="zz")
    assert of(done, "key")[2] == "export HOLDFAST_MEMORY_KEY=$(openssl rand -hex 32)"


@pytest.mark.parametrize(
    ("spoilt", "remedy"),
    [
        (b"garbage!" * 20, "restore a copy of"),
        (b"SQLite format 3\0" + b"\x00" * 44 + b"\x00\x00\x03\xe7", "pip install --upgrade holdfast-memory"),
    ],
    ids=["no store", "from the future"],
)
def test_every_failure_says_what_to_do(holdfast: Command, store: Path, spoilt: bytes, remedy: str) -> None:
    file = store / "holdfast.db"
    whole = file.read_bytes()
    head = spoilt if not spoilt.startswith(b"SQLite") else whole[:60] + spoilt[60:]
    file.write_bytes(head + whole[len(head) :])
    done = doctor(holdfast)
    failed = [one for one in done.json["checks"] if one["state"] != "ok"]
    assert {one["name"] for one in failed} >= {"store", "schema", "recovery"}
    assert all(one["remedy"] for one in failed)
    assert remedy in of(done, "store")[2]


def test_a_folder_open_to_others_is_a_warning_with_its_remedy(holdfast: Command, store: Path) -> None:
    store.chmod(0o755)

    done = doctor(holdfast)

    assert done.code == 0
    assert of(done, "directory")[::2] == ("warn", f"chmod 700 {store}")


def test_a_model_that_was_not_fetched_is_a_warning(holdfast: Command) -> None:
    assert of(doctor(holdfast, HOLDFAST_EMBEDDER="default"), "model")[::2] == ("warn", "holdfast model fetch")


def test_a_setting_that_cannot_be_used_is_the_one_finding(holdfast: Command) -> None:
    done = doctor(holdfast, HOLDFAST_PORT="many")

    assert done.code == 1
    assert of(done, "settings")[0] == "fail"


def test_a_token_secret_that_is_short_or_the_memory_key_fails(holdfast: Command, store: Path) -> None:
    assert of(doctor(holdfast, HOLDFAST_JWT_SECRET="short"), "secret")[0] == "fail"
    shutil.copy(store / "holdfast.key", store / "token.secret")
    assert of(doctor(holdfast), "secret")[::2] == ("fail", f"rm {store}/token.secret")


def test_a_token_secret_is_looked_at_and_not_made(holdfast: Command, data: Path) -> None:
    doctor(holdfast)
    assert not data.exists()

    holdfast("token", "create", "--subject", "x")
    assert of(doctor(holdfast), "secret")[:2] == ("ok", f"{data}/token.secret")


def test_a_port_is_free_taken_or_ours(holdfast: Command, server: str) -> None:
    assert "free" in of(doctor(holdfast), "port")[1]
    assert "a server answers" in of(doctor(holdfast, HOLDFAST_PORT=server.rpartition(":")[2]), "port")[1]
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.listen()
        thread = Thread(target=hang_up_twice, args=(other,))
        thread.start()
        found = of(doctor(holdfast, HOLDFAST_PORT=str(other.getsockname()[1])), "port")
        thread.join()
    assert found[0] == "warn"


def test_with_a_server_its_readiness_and_the_token_are_tried(holdfast: Command, server: str) -> None:
    done = doctor(holdfast, HOLDFAST_URL=server, HOLDFAST_TOKEN="good")
    assert (done.code, of(done, "server")[0], of(done, "token")[0]) == (0, "ok", "ok")
    assert "fsync" not in {one["name"] for one in done.json["checks"]}

    done = doctor(holdfast, HOLDFAST_URL=server, HOLDFAST_TOKEN="bad")
    assert (done.code, of(done, "token")[0]) == (1, "fail")
    assert "holdfast token create" in of(done, "token")[2]


def test_a_server_that_does_not_answer_fails(holdfast: Command) -> None:
    done = doctor(holdfast, HOLDFAST_URL="http://127.0.0.1:1", HOLDFAST_TOKEN="t")

    assert (done.code, of(done, "server")[0]) == (1, "fail")


def test_a_database_that_does_not_answer_fails(holdfast: Command) -> None:
    url = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=1"

    done = doctor(holdfast, HOLDFAST_DATABASE_URL=url, HOLDFAST_MEMORY_KEY="11" * 32)

    assert (done.code, of(done, "postgresql")[0]) == (1, "fail")


@pytest.mark.slow
def test_a_database_is_looked_at_and_left_as_it_is(holdfast: Command) -> None:
    import psycopg

    from tests.conformance.postgres_backend import server as postgres

    with psycopg.connect(postgres().get_uri(), autocommit=True) as db:
        db.execute("DROP DATABASE IF EXISTS doctor")
        db.execute("CREATE DATABASE doctor")
        url = postgres().get_uri("doctor")
    key = {"HOLDFAST_DATABASE_URL": url, "HOLDFAST_MEMORY_KEY": "11" * 32}

    for _ in range(2):
        state, cause, _ = of(doctor(holdfast, **key), "postgresql")
        assert (state, "no store yet" in cause) == ("ok", True)
    assert of(doctor(holdfast, HOLDFAST_DATABASE_URL=url), "key")[0] == "fail"

    assert holdfast("remember", "kept", **key).code == 0
    assert "opens with the key" in of(doctor(holdfast, **key), "postgresql")[1]
    assert of(doctor(holdfast, **key | {"HOLDFAST_MEMORY_KEY": "22" * 32}), "postgresql")[0] == "fail"


def test_a_clock_before_the_last_write_fails(settings: None, holdfast: Command, store: Path) -> None:
    def says(now: float) -> str:
        return machine.clock(Scene(load(data_dir=store), store / "holdfast.db", now)).state

    assert says(time.time()) == "ok"
    assert says(time.time() - 86_400) == "fail"
    assert says(0) == "fail"


def test_a_disk_that_cannot_be_synced_or_does_not_wait_is_noticed(
    data: Path, settings: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.mkdir(mode=0o700)
    scene = Scene(load(data_dir=data), data / "holdfast.db", time.time())

    monkeypatch.setattr(machine, "_sync_seconds", lambda _folder: 1e-6)
    assert machine.fsync(scene).state == "warn"

    def read_only(_folder: Path) -> float:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(machine, "_sync_seconds", read_only)
    assert machine.fsync(scene).state == "fail"
    assert "read-only" in machine.fsync(scene).cause


def test_little_room_is_a_warning_and_none_a_failure(
    data: Path, settings: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(load(data_dir=data), data / "holdfast.db", time.time())
    for free, state in [(2 << 30, "ok"), (1 << 29, "warn"), (1 << 20, "fail")]:
        monkeypatch.setattr(
            shutil, "disk_usage", lambda _place, free=free: shutil._ntuple_diskusage(0, 0, free)
        )
        assert machine.disk(scene).state == state


def test_a_check_that_trips_is_a_finding_and_the_others_go_on(
    settings: None, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trip(_scene: Scene) -> Finding:
        raise PermissionError(13, "Permission denied", "somewhere")

    monkeypatch.setattr(
        "holdfast.entrypoints.cli.doctor.checks.CHECKS", (("tripping", lambda _: True, trip), CHECKS[0])
    )

    found = examine(data, None)

    assert [(one.name, one.state) for one in found] == [("tripping", "fail"), ("python", "ok")]
    assert "somewhere: Permission denied" in found[0].cause


def test_a_client_may_start_what_is_on_the_path_or_ask_an_address(
    holdfast: Command, store: Path, tmp_path: Path
) -> None:
    config = tmp_path / ".claude.json"
    for entry, state in (
        ('{"command": "sh", "args": ["mcp"]}', "ok"),
        ('{"type": "http", "url": "http://127.0.0.1:7077/mcp"}', "ok"),
        ('{"command": "no-such-command", "args": ["mcp"]}', "fail"),
    ):
        config.write_text(f'{{"mcpServers": {{"holdfast": {entry}}}}}', encoding="utf-8")
        assert of(doctor(holdfast, HOME=str(tmp_path)), "clients")[0] == state
