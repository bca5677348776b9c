"""Keys, sweep, index, tokens: what looks after the local store."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.settings import Settings, load
from tests.cli.command import Command


def test_a_rotated_master_key_still_opens_everything(holdfast: Command, data: Path) -> None:
    holdfast("remember", "kept", "--key", "k")
    before, old = holdfast("keys", "status", "--json").json, (data / "holdfast.key").read_text()

    assert holdfast("keys", "rotate").code == 0

    after = holdfast("keys", "status", "--json").json
    assert (after["master"] != before["master"], after["wrapped_by_others"]) == (True, 0)
    assert (data / "holdfast.key").read_text() != old
    assert holdfast("get", "k").out == "kept\n"


@pytest.mark.parametrize("flag", ["--data", "--data-keys"])
def test_new_data_keys_seal_every_memory_anew(holdfast: Command, flag: str) -> None:
    holdfast("remember", "kept", "--key", "k")

    assert holdfast("keys", "rotate", flag, "--json").json["entries"] == 1
    assert holdfast("get", "k").out == "kept\n"


def test_the_data_directory_can_be_named_where_data_keys_are_rotated(holdfast: Command, data: Path) -> None:
    holdfast("remember", "kept", "--key", "k")

    assert holdfast("keys", "rotate", "--data", str(data), "--json").json["entries"] == 0


def test_a_sweep_says_what_it_removed(holdfast: Command) -> None:
    assert holdfast("sweep", "--json").json == {
        "expired": 0,
        "trash": 0,
        "grants": 0,
        "receipts": 0,
        "proposals": 0,
    }


def test_without_an_embedder_the_index_says_that_words_decide(holdfast: Command) -> None:
    holdfast("remember", "kept")

    assert "Words alone decide" in holdfast("reindex").err
    assert holdfast("index", "--json").json["pending"] == 0


EMBEDDER = """
class Embedder:
    model_id = "two-numbers"
    dimensions = 2
    def embed(self, text):
        return [1.0, float(len(text))]
def make():
    return Embedder()
"""


def test_reindex_returns_when_every_memory_has_its_vector(
    holdfast: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "two_numbers.py").write_text(EMBEDDER)
    monkeypatch.syspath_prepend(tmp_path)
    for number in range(3):
        holdfast("remember", f"note {number}")

    status = holdfast("reindex", "--json", HOLDFAST_EMBEDDER="two_numbers:make").json

    assert (status["pending"], status["embedder"]) == (0, "two-numbers")


def test_reindex_does_not_wait_for_an_embedder_that_cannot_be_used(holdfast: Command) -> None:
    holdfast("remember", "kept")

    done = holdfast("reindex", HOLDFAST_EMBEDDER="nowhere_at_all:make")

    assert done.code == 1
    assert done.err.startswith("unavailable: The embedder cannot be used")


@pytest.mark.parametrize(
    "command",
    [["sweep"], ["reindex"], ["keys", "status"], ["keys", "rotate"], ["model", "use", "x"]],
    ids=" ".join,
)
def test_upkeep_is_not_for_a_server_far_away(holdfast: Command, command: list[str], data: Path) -> None:
    done = holdfast(*command, HOLDFAST_URL="http://127.0.0.1:1")

    assert done.code == 1
    assert "HOLDFAST_URL is set" in done.err
    assert not data.exists()


def test_a_database_url_counts_unless_a_data_directory_is_named(
    holdfast: Command, tmp_path: Path, data: Path
) -> None:
    url = f"sqlite:///{tmp_path}/elsewhere/memory.db"

    holdfast("remember", "there", "--key", "k", HOLDFAST_DATABASE_URL=url)

    assert (tmp_path / "elsewhere" / "memory.db").exists()
    assert holdfast("get", "k", "--data", str(data), HOLDFAST_DATABASE_URL=url).code == 1


def test_a_token_is_taken_by_the_verifier_that_has_the_secret(holdfast: Command, data: Path) -> None:
    import asyncio

    from holdfast.entrypoints.http.authenticate import Verifier
    from holdfast.entrypoints.http.tokens import local_secret
    from holdfast.wiring import system_clock

    told = holdfast(
        *["token", "create", "--subject", "robot", "--kind", "agent", "--owner", "alice"],
        *["--role", "member", "--role", "admin", "--team", "ops", "--chat", "c1", "--ttl", "12h"],
    )

    settings = load(data_dir=data)
    caller = asyncio.run(
        Verifier(settings, local_secret(settings), system_clock).verify(told.out.strip().encode())
    )
    assert str(caller.principal) == "agent:robot"
    assert (sorted(caller.roles), *caller.teams, *caller.chats) == (["admin", "member"], "ops", "c1")


def test_a_token_in_json_says_when_it_ends(holdfast: Command) -> None:
    made = holdfast("token", "create", "--subject", "alice", "--json").json

    assert (made["subject"], made["kind"]) == ("alice", "user")
    assert made["expires_at"].endswith("Z")


def test_a_token_of_no_kind_is_refused(holdfast: Command) -> None:
    assert holdfast("token", "create", "--subject", "x", "--kind", "dog").err.startswith("invalid_field: ")


def test_serve_hands_its_settings_to_the_server(
    holdfast: Command, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.entrypoints.http import server

    seen: list[Settings] = []

    def serve(settings: Settings, *_: object) -> int:
        seen.append(settings)
        return 3

    monkeypatch.setattr(server, "serve", serve)

    done = holdfast("serve", "--host", "::1", "--port", "0", "--database", "sqlite://", "--data", str(data))

    assert done.code == 3
    (settings,) = seen
    assert (settings.host, settings.port) == ("::1", 0)
    assert (settings.database_url, settings.data_dir) == ("sqlite://", data)


def test_wrapped_keys_have_a_backup_of_their_own(holdfast: Command, tmp_path: Path) -> None:
    holdfast("remember", "kept", "--key", "k")
    saved = str(tmp_path / "keys.json")

    assert holdfast("keys", "backup", saved, "--json").json["keys"] == 2
    assert holdfast("keys", "backup", saved).code == 1
    assert holdfast("keys", "restore", saved, "--json").json["present"] == 2


def test_a_destroyed_key_leaves_nothing_to_read(holdfast: Command) -> None:
    space = holdfast("remember", "kept", "--key", "k", "--json").json["space"]

    assert holdfast("keys", "destroy", space, "--yes", "--json").json["destroyed"] == 1
    assert "locked" in holdfast("get", "k").err


def test_the_log_is_verified_and_its_anchor_kept(holdfast: Command) -> None:
    holdfast("remember", "kept", "--key", "k")
    holdfast("get", "k")

    found = holdfast("audit", "verify", "--json").json
    assert (found["intact"], found["lines"]) == (True, 2)
    assert holdfast("audit", "verify", "--anchor", found["anchor"]).code == 0
    assert holdfast("audit", "verify", "--anchor", "9:00").code == 1
    assert "get" in holdfast("readers", "k").out


def test_doctor_rehearses_a_recovery(holdfast: Command) -> None:
    holdfast("remember", "kept", "--key", "k")

    found = {one["name"]: one for one in holdfast("doctor", "--json").json["checks"]}
    assert found["recovery"]["cause"] == "key backup test passed: 2 data keys, 1 memory"
