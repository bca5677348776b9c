"""`holdfast connect`: the MCP entry of five programs, written into the files they really have, and taken out again."""

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.entrypoints.cli import clients, run
from holdfast.settings import PREFIX, TABLE
from tests.support import move_home

CLAUDE_CODE = """{
  "numStartups": 41,
  "theme": "dark",
  "projects": {
    "/home/alice/work": {"allowedTools": [], "mcpServers": {}, "history": ["say \\"hi\\" // not a comment"]}
  },
  "mcpServers": {
    "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/"}
  },
  "userID": "0123"
}
"""
VSCODE = """{
\t"inputs": [{"type": "promptString", "id": "key", "description": "{\\"not\\": an object}", "password": true}],
\t"servers": {
\t\t"playwright": {
\t\t\t"command": "npx",
\t\t\t"args": ["@playwright/mcp@latest"]
\t\t}
\t}
}
"""
COMMENTED = """{
\t// Servers for everyone on this machine
\t"servers": {
\t\t"playwright": {
\t\t\t"command": "npx", /* pinned */
\t\t\t"args": ["@playwright/mcp@latest"],
\t\t}, // the last one
\t},
}
"""
GEMINI = '{"security": {"auth": {"selectedType": "oauth-personal"}}, "ui": {"theme": "Default"}}'
SHAPES = {
    "claude-code": CLAUDE_CODE,
    "claude-desktop": '{\n  "globalShortcut": "",\n  "mcpServers": {}\n}\n',
    "cursor": '{"mcpServers":{"a":{"command":"a"},"b":{"url":"https://b"}}}',
    "vscode": VSCODE,
    "gemini": GEMINI,
}

KEY = "5e" * 32


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    move_home(tmp_path, monkeypatch)
    return tmp_path


def parsed(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text.removeprefix("\ufeff"))
    return found


def with_server(text: str, name: str, entry: object) -> str:
    """The text of a program that keeps its entries under `mcpServers` or `servers`."""
    found = parsed(text)
    found["servers" if "servers" in found else "mcpServers"][name] = entry
    return json.dumps(found)


def place(name: str, text: str | None = None) -> Path:
    path = clients.CLIENTS[name].file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SHAPES[name] if text is None else text, encoding="utf-8")
    return path


def servers(name: str) -> dict[str, Any]:
    client = clients.CLIENTS[name]
    found: dict[str, Any] = parsed(client.file().read_text(encoding="utf-8"))[client.servers]
    return found


@pytest.mark.parametrize("name", list(SHAPES))
def test_the_entry_stands_beside_what_was_there_and_nothing_else_changes(home: Path, name: str) -> None:
    path = place(name)
    before = parsed(SHAPES[name])
    assert run(["connect", name]) == 0
    after = parsed(path.read_text(encoding="utf-8"))
    entry = after[clients.CLIENTS[name].servers].pop("holdfast")
    assert entry["args"][-1] == "mcp"
    assert Path(entry["command"]).exists()
    assert ("type" in entry) == clients.CLIENTS[name].typed
    before.setdefault(clients.CLIENTS[name].servers, {})
    assert after == before


@pytest.mark.parametrize("name", list(SHAPES))
def test_undoing_gives_the_file_back_byte_for_byte(home: Path, name: str) -> None:
    path = place(name)
    assert run(["connect", name]) == 0
    assert path.with_name(path.name + clients.BACKUP).read_text(encoding="utf-8") == SHAPES[name]
    assert run(["connect", name, "--undo"]) == 0
    assert path.read_text(encoding="utf-8") == SHAPES[name]
    assert [each.name for each in path.parent.iterdir() if each.is_file()] == [path.name]


@pytest.mark.parametrize("name", list(SHAPES))
def test_a_file_that_was_not_there_is_made_and_goes_again(home: Path, name: str) -> None:
    path = clients.CLIENTS[name].file()
    assert run(["connect", name]) == 0
    assert list(json.loads(path.read_text(encoding="utf-8"))) == [clients.CLIENTS[name].servers]
    assert run(["connect", name, "--undo"]) == 0
    assert not path.exists()


@pytest.mark.parametrize("name", ["claude-code", "vscode", "gemini"])
def test_line_ends_and_a_byte_order_mark_stay(home: Path, name: str) -> None:
    before = b"\xef\xbb\xbf" + SHAPES[name].replace("\n", "\r\n").encode()
    path = place(name)
    path.write_bytes(before)
    assert run(["connect", name]) == 0
    after = path.read_bytes()
    assert path.with_name(path.name + clients.BACKUP).read_bytes() == before
    assert after.startswith(b"\xef\xbb\xbf{")
    assert after.count(b"\n") == after.count(b"\r\n") or name == "gemini"
    entry = clients.entry_in(clients.CLIENTS[name])
    assert entry is not None
    assert entry["args"] == ["mcp"]
    assert run(["connect", name]) == 0
    assert path.read_bytes() == after
    assert run(["connect", name, "--undo"]) == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["claude-code", "vscode"])
def test_order_indentation_and_letters_stay(home: Path, name: str) -> None:
    text = json.dumps(parsed(SHAPES[name]), indent=SHAPES[name][2])
    path = place(name, text.replace("npx", "größer \\ud83d").replace("dark", "größer \\ud83d"))
    before = path.read_text(encoding="utf-8").splitlines()
    assert run(["connect", name]) == 0
    after = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in before if line not in after and f"{line}," not in after] == []


@pytest.mark.parametrize(
    "text", [COMMENTED, '{"servers": {},}', '{"servers": {}, "servers": {}}', '{"a": NaN}']
)
def test_a_file_that_is_no_plain_json_is_left_to_its_owner_with_the_entry_to_paste(
    home: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = place("vscode", text)
    assert run(["connect", "vscode"]) == 1
    printed = capsys.readouterr()
    entry = json.loads(printed.out)["servers"]["holdfast"]
    assert (entry["type"], entry["args"][-1]) == ("stdio", "mcp")
    assert printed.err.startswith(f"invalid_json: {path} is not plain JSON (")
    assert printed.err.endswith("nothing was changed. Merge the printed entry into it yourself.\n")
    assert run(["connect", "vscode", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["error"], json.loads(answer["snippet"])["servers"]["holdfast"]) == ("invalid_json", entry)
    assert run(["connect", "vscode", "--undo"]) == 1
    assert [path.read_text(encoding="utf-8"), *path.parent.iterdir()] == [text, path]


def test_what_changed_since_stays_when_it_is_undone(home: Path) -> None:
    path = place("cursor")
    run(["connect", "cursor"])
    path.write_text(with_server(path.read_text(encoding="utf-8"), "c", {"command": "c"}))
    assert run(["connect", "cursor", "--undo"]) == 0
    assert list(servers("cursor")) == ["a", "b", "c"]


def test_an_entry_of_that_name_that_was_there_before_comes_back(home: Path) -> None:
    place("cursor", '{"mcpServers": {"holdfast": {"command": "mine"}}}')
    run(["connect", "cursor"])
    assert servers("cursor")["holdfast"]["command"] != "mine"
    run(["connect", "cursor", "--undo"])
    assert servers("cursor") == {"holdfast": {"command": "mine"}}


def test_connecting_twice_is_connecting_once(home: Path) -> None:
    path = place("gemini")
    run(["connect", "gemini"])
    once = path.read_text(encoding="utf-8")
    assert run(["connect", "gemini"]) == 0
    assert path.read_text(encoding="utf-8") == once
    run(["connect", "gemini", "--surface", "all"])
    run(["connect", "gemini", "--undo"])
    assert path.read_text(encoding="utf-8") == GEMINI


@pytest.mark.parametrize("name", list(SHAPES))
def test_a_file_that_was_not_there_goes_again_however_often_it_was_connected(home: Path, name: str) -> None:
    path = clients.CLIENTS[name].file()
    for surface in ("core", "all", "facts"):
        assert run(["connect", name, "--surface", surface]) == 0
    assert run(["connect", name, "--undo"]) == 0
    assert [each for each in path.parent.iterdir() if each.is_file()] == []


@pytest.mark.parametrize("name", list(SHAPES))
def test_what_was_there_comes_back_however_often_it_was_connected(home: Path, name: str) -> None:
    path = place(name)
    for surface in ("core", "all", "facts"):
        run(["connect", name, "--surface", surface])
    run(["connect", name, "--undo"])
    assert path.read_text(encoding="utf-8") == SHAPES[name]


@pytest.mark.parametrize("name", list(SHAPES))
@pytest.mark.parametrize("text", [None, ""], ids=["beside others", "alone"])
def test_an_entry_of_ours_in_a_backup_is_not_taken_for_somebody_elses(
    home: Path, name: str, text: str | None
) -> None:
    path = place(name, text)
    run(["connect", name])
    path.with_name(path.name + clients.BACKUP).write_bytes(path.read_bytes())
    run(["connect", name, "--surface", "all"])
    assert run(["connect", name, "--undo"]) == 0
    assert clients.entry_in(clients.CLIENTS[name]) is None
    assert path.exists() == (text is None)


@pytest.mark.parametrize("name", list(SHAPES))
def test_our_entry_goes_when_the_backup_is_lost(home: Path, name: str) -> None:
    path = place(name)
    run(["connect", name])
    path.with_name(path.name + clients.BACKUP).unlink()
    run(["connect", name, "--surface", "all"])
    run(["connect", name, "--undo"])
    found = parsed(path.read_text(encoding="utf-8"))
    assert found.pop(clients.CLIENTS[name].servers) == parsed(SHAPES[name]).get(
        clients.CLIENTS[name].servers, {}
    )
    assert found.items() <= parsed(SHAPES[name]).items()


@pytest.mark.parametrize("name", list(SHAPES))
def test_our_entry_goes_though_somebody_changed_it_between_two_times(home: Path, name: str) -> None:
    client = clients.CLIENTS[name]
    run(["connect", name])
    entry = clients.entry_in(client)
    assert entry is not None
    wrapped = entry | {"command": "nice", "args": [entry["command"], *entry["args"]]}
    client.file().write_text(with_server(client.file().read_text(), "holdfast", wrapped))
    run(["connect", name, "--surface", "all"])
    run(["connect", name, "--undo"])
    assert not client.file().exists()


def test_undoing_what_was_never_done_takes_nothing_away(home: Path) -> None:
    mine = '{"mcpServers": {"holdfast": {"command": "holdfast", "args": ["mcp"]}}}'
    path = place("cursor", mine)
    run(["connect", "cursor", "--undo"])
    assert path.read_text(encoding="utf-8") == mine
    run(["connect", "cursor"])
    run(["connect", "cursor", "--undo"])
    run(["connect", "cursor", "--undo"])
    assert path.read_text(encoding="utf-8") == mine


def test_a_dry_run_shows_and_writes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = place("cursor")
    assert run(["connect", "cursor", "--dry-run"]) == 0
    assert '"holdfast": {' in capsys.readouterr().out
    assert path.read_text(encoding="utf-8") == SHAPES["cursor"]
    assert len(list(path.parent.iterdir())) == 1


def test_a_dry_run_shows_no_token(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_URL", "http://127.0.0.1:7077")
    monkeypatch.setenv("HOLDFAST_TOKEN", "a-secret-token")
    assert run(["connect", "cursor", "--dry-run"]) == 0
    assert "a-secret-token" not in capsys.readouterr().out
    place("vscode", COMMENTED)
    assert run(["connect", "vscode", "--dry-run"]) == 1
    assert "a-secret-token" not in capsys.readouterr().out
    assert run(["connect", "cursor"]) == 0
    env = servers("cursor")["holdfast"]["env"]
    assert env == {"HOLDFAST_URL": "http://127.0.0.1:7077", "HOLDFAST_TOKEN": "a-secret-token"}


def test_the_agent_gets_the_store_the_subject_and_the_surface_of_the_command(home: Path) -> None:
    assert (
        run(["connect", "cursor", "--data", str(home / "d"), "--as", "alice", "--surface", "core,facts"]) == 0
    )
    entry = servers("cursor")["holdfast"]
    assert entry["args"][-2:] == ["--surface", "core,facts"]
    assert entry["env"] == {"HOLDFAST_DATA_DIR": str(home / "d"), "HOLDFAST_SUBJECT": "alice"}


def connected_with(monkeypatch: pytest.MonkeyPatch, *options: str, **variables: str) -> dict[str, str]:
    """The variables of the entry."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert run(["connect", "cursor", *options]) == 0
    env: dict[str, str] = servers("cursor")["holdfast"].get("env", {})
    return env


def test_a_key_of_the_environment_is_asked_for_and_not_written(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    env = connected_with(monkeypatch, "--json", HOLDFAST_DATA_DIR=str(home / "d"), HOLDFAST_MEMORY_KEY=KEY)
    assert env == {"HOLDFAST_DATA_DIR": str(home / "d")}
    said = capsys.readouterr()
    warning = json.loads(said.out)["warning"]
    assert f"printf '%s\\n' \"$HOLDFAST_MEMORY_KEY\" > {home}/d/holdfast.key" in warning
    assert (said.err.strip(), KEY in said.err) == (warning, False)


@pytest.mark.parametrize("where", ["holdfast.key", "holdfast.toml"])
def test_a_key_that_an_agent_finds_by_itself_is_not_asked_for(
    home: Path, where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "d").mkdir()
    (home / "d" / where).write_text(f"{KEY}\n" if where == "holdfast.key" else f'memory_key = "{KEY}"\n')
    connected_with(monkeypatch, "--json", HOLDFAST_DATA_DIR=str(home / "d"), HOLDFAST_MEMORY_KEY=KEY)
    said = capsys.readouterr()
    assert ("warning" in json.loads(said.out), said.err) == (False, "")


def test_another_key_in_the_key_file_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "d").mkdir()
    (home / "d" / "holdfast.key").write_text("aa" * 32 + "\n")
    connected_with(monkeypatch, HOLDFAST_DATA_DIR=str(home / "d"), HOLDFAST_MEMORY_KEY=KEY)
    assert f"move {home}/d/holdfast.key away, which holds another key" in capsys.readouterr().err


def test_the_key_file_of_another_store_beside_it_is_not_to_be_moved(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "notes.key").write_text("aa" * 32 + "\n")
    (home / "notes.sqlite").write_text("made before")
    url = f"sqlite:///{home}/notes.sqlite"
    connected_with(monkeypatch, HOLDFAST_DATABASE_URL=url, HOLDFAST_MEMORY_KEY=KEY)
    told = capsys.readouterr().err
    assert f"> {home}/notes.sqlite-key" in told
    assert "move" not in told


def test_secrets_that_have_no_file_of_their_own_are_named_with_the_place_for_them(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secrets = {
        "HOLDFAST_MEMORY_KEY": KEY,
        "HOLDFAST_MEMORY_OLD_KEYS": "aa" * 32,
        "HOLDFAST_EMBEDDER_KEY": "sk-1",
    }
    env = connected_with(
        monkeypatch, HOLDFAST_DATABASE_URL="postgresql://db/memory", HOLDFAST_DATA_DIR=str(home), **secrets
    )
    said = capsys.readouterr().err
    assert set(env) == {"HOLDFAST_DATABASE_URL", "HOLDFAST_DATA_DIR"}
    for word in ("memory_key", "memory_old_keys", "embedder_key"):
        assert f'{word} = "…" into {home}/holdfast.toml' in said
    assert not [secret for secret in secrets.values() if secret in said]


def test_settings_that_are_no_secret_come_along_and_the_servers_own_stay(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home)
    carried = {"HOLDFAST_EMBEDDER": "none", "HOLDFAST_MAX_TAGS": "5", "HOLDFAST_MEMORY_KEY": "ephemeral"}
    env = connected_with(
        monkeypatch,
        **carried,
        HOLDFAST_DATA_DIR="d",
        HOLDFAST_MODEL_DIR="m",
        HOLDFAST_PORT="1",
        HOLDFAST_JWT_SECRET="s" * 32,
    )
    assert env == carried | {"HOLDFAST_DATA_DIR": f"{home}/d", "HOLDFAST_MODEL_DIR": f"{home}/m"}
    assert capsys.readouterr().err == ""


def test_no_secret_comes_along_unnoticed() -> None:
    secrets = {PREFIX + name for name, _, unit, _ in TABLE if unit in ("key", "keys", "token")}
    assert secrets <= {*clients.LOCAL_SECRETS, *clients.SERVER_SETTINGS, *clients.OPTION_SETTINGS}


def test_a_key_that_somebody_put_into_the_entry_stays_for_that_store(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = {"HOLDFAST_DATA_DIR": str(home / "d")}
    connected_with(monkeypatch, HOLDFAST_MEMORY_KEY=KEY, **store)
    path = clients.CLIENTS["cursor"].file()
    entry = servers("cursor")["holdfast"] | {"env": {**store, "HOLDFAST_MEMORY_KEY": KEY}}
    path.write_text(with_server(path.read_text(), "holdfast", entry))
    capsys.readouterr()
    assert run(["connect", "cursor", "--surface", "all", "--dry-run"]) == 0
    said = capsys.readouterr()
    assert (KEY in said.out, said.err) == (False, "")
    assert connected_with(monkeypatch, "--surface", "all") == {**store, "HOLDFAST_MEMORY_KEY": KEY}
    assert connected_with(monkeypatch, HOLDFAST_DATA_DIR=str(home / "e")) == {
        "HOLDFAST_DATA_DIR": str(home / "e")
    }


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": []}', '{"mcpServers": {"a": }}', "nothing"])
def test_a_file_that_cannot_be_understood_is_left_alone(
    home: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = place("cursor", text)
    assert run(["connect", "cursor"]) == 1
    assert capsys.readouterr().err.startswith("invalid_json: ")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("said", [["nothing"], ["cursor", "--surface", "nothing"]])
def test_a_client_or_surface_that_is_none_is_refused(home: Path, said: list[str]) -> None:
    assert run(["connect", *said]) == 1
    assert not (home / ".cursor").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="rights of files are POSIX")
def test_a_link_and_the_rights_of_a_file_stay(home: Path) -> None:
    path = place("cursor")
    real = home / "dotfiles.json"
    path.rename(real)
    real.chmod(0o640)
    path.symlink_to(real)
    run(["connect", "cursor"])
    assert path.is_symlink()
    assert "holdfast" in servers("cursor")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
