"""What a shell and a script rely on: exit codes, streams, one JSON document, pipes, colours, completion."""

from __future__ import annotations

import errno
import json
import os
import pty
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

from holdfast.domain.errors import NotFound
from holdfast.entrypoints.cli import commands, output, session
from holdfast.entrypoints.python.memory import open as open_memory
from tests.cli.command import Command

HOSTILE = "\x1b]0;owned\x07\x1b[31mred\x9b2J\u202etxt.exe\x08\x7f\r\nnext"


def every_command() -> Iterator[tuple[str, Any]]:
    """Every command with what it takes."""

    def below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        inner = getattr(command, "commands", {})
        if not inner or command.invoke_without_command:
            yield name, command
        for each, found in inner.items():
            yield from below(f"{name} {each}", found)

    for name, *_ in commands.COMMANDS:
        yield from below(name, commands.built(name))


EVERY = dict(every_command())


@pytest.mark.parametrize("command", list(EVERY.values()), ids=list(EVERY))
def test_every_command_takes_json_a_subject_and_a_data_directory(command: Any) -> None:
    taken = {word for parameter in command.params for word in parameter.opts}

    assert {"--json", "--as", "--data"} <= taken


@pytest.mark.parametrize("command", list(EVERY.values()), ids=list(EVERY))
def test_every_command_and_option_says_what_it_does(command: Any) -> None:
    assert command.help
    assert [one.name for one in command.params if not one.help] == []


@pytest.mark.parametrize(
    "command", [("remember", "x"), ("list",), ("keys", "status"), ("sweep",), ("serve",)]
)
def test_settings_that_cannot_be_read_are_refused_with_one_line(
    holdfast: Command, data: Path, command: tuple[str, ...]
) -> None:
    (data / "holdfast.toml").mkdir(parents=True)

    done = holdfast(*command)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"unavailable: {data}/holdfast.toml cannot be read")
    assert done.err.count("\n") == 1


def test_a_disk_that_is_too_full_to_make_the_key_is_refused_with_one_line(
    holdfast: Command, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "mkstemp", full)

    done = holdfast("remember", "x", "--json")

    assert (done.code, done.json["error"]) == (1, "storage_full")
    assert done.err.startswith(f"storage_full: The disk is full: {data}/holdfast.key")


def test_without_a_command_the_help_is_printed(holdfast: Command) -> None:
    done = holdfast()

    assert (done.code, done.err) == (0, "")
    assert all(f"  {name} " in done.out for name, *_ in commands.COMMANDS)
    assert "─" not in done.out


def test_a_refusal_is_a_code_on_standard_error_and_exit_code_1(process: Command) -> None:
    done = process("get", "nowhere")

    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1].startswith("not_found: ")
    assert "Traceback" not in done.err


def test_a_refusal_in_json_is_one_document(holdfast: Command) -> None:
    done = holdfast("get", "nowhere", "--json")

    assert (done.code, done.json["error"]) == (1, "not_found")
    assert done.err.endswith(f"not_found: {done.json['message']}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["get", "--nonsense"],
        ["recall"],
        ["list", "--limit", "0"],
        ["recall", "x", "--since", "?"],
    ],
)
def test_a_mistake_of_usage_is_exit_code_2(holdfast: Command, arguments: list[str]) -> None:
    done = holdfast(*arguments)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Usage: ")


def test_an_interrupt_is_exit_code_130(holdfast: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "settings_of", interrupted)

    assert holdfast("list").code == 130


def test_a_surprise_is_one_line_and_its_origin_is_shown_when_asked_for(
    holdfast: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def surprise(*_: object, **__: object) -> None:
        raise RuntimeError("what is this?\x1b[31m")

    monkeypatch.setattr(session, "settings_of", surprise)

    done = holdfast("list", "--json")
    assert (done.code, done.json["error"]) == (1, "backend")
    assert done.err.count("\n") == 1
    assert "RuntimeError: what is this?\\x1b[31m" in done.err
    assert "Traceback" in holdfast("--debug", "list").err


def test_standard_input_and_letters_of_every_script_survive_a_plain_locale(process: Command) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert process("remember", "-", "--key", "k", given="grüß 你好", **plain).code == 0

    assert process("get", "k", PYTHONUTF8="1").out == "grüß 你好\n"
    assert process("get", "k", **plain).out == "gr\\xfc\\xdf \\u4f60\\u597d\n"
    assert process("get", "k", "--json", **plain).json["text"] == "grüß 你好"


@pytest.mark.parametrize("arguments", [["list", "--all"], ["list", "--json", "--all"], ["--help"]])
def test_a_reader_that_leaves_ends_the_command_quietly(
    settings: None, data: Path, arguments: list[str]
) -> None:
    with open_memory(data) as memory:
        memory.user("local").remember_many({"text": "x" * 4_000} for _ in range(60))
    read, write = os.pipe()
    os.close(read)

    done = subprocess.run(
        [sys.executable, "-m", "holdfast", *arguments], stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)

    assert (done.returncode, done.stderr) == (141, b"")


def in_a_shell(line: str) -> subprocess.CompletedProcess[bytes]:
    """The command as `$HOLDFAST` in a line of a shell, which can close streams."""
    called = {"HOLDFAST": f"{sys.executable} -W error -m holdfast"}
    return subprocess.run(["sh", "-c", line], env={**os.environ, **called}, capture_output=True, check=False)


@pytest.mark.parametrize(
    "command",
    ["--help", "--version", "remember x --key k", "get k --json", "get nowhere", "list --bad", "mcp"],
)
def test_without_standard_output_a_command_ends_quietly_and_does_nothing(
    settings: None, data: Path, command: str
) -> None:
    done = in_a_shell(f"$HOLDFAST {command} >&-")

    assert (done.returncode, done.stderr) == (1, b"")
    assert not data.exists()


def test_without_standard_error_the_output_is_that_of_the_command_alone(settings: None) -> None:
    in_a_shell("$HOLDFAST remember x --key k")

    assert in_a_shell("$HOLDFAST get k 2>&-").stdout == b"x\n"
    refused = in_a_shell("$HOLDFAST get nowhere 2>&-")
    assert (refused.returncode, refused.stdout) == (1, b"")


@pytest.mark.parametrize("command", ["remember - --key k", "forget all"])
def test_without_standard_input_what_needs_it_is_refused_in_words(settings: None, command: str) -> None:
    done = in_a_shell(f"$HOLDFAST {command} <&-")

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith((b"invalid_field: ", b"confirmation_required: "))


@pytest.mark.parametrize("command", ["--help", "list", "list --json"])
def test_output_that_cannot_be_written_is_said_in_words(settings: None, command: str) -> None:
    in_a_shell("$HOLDFAST remember x --key k")

    done = in_a_shell(f"$HOLDFAST {command} >/dev/full")

    assert done.returncode == 1
    assert all(line.startswith(b"backend: ") for line in done.stderr.splitlines())
    assert b"No space left" in done.stderr


@contextmanager
def at_a_terminal(*arguments: str, **environment: str) -> Iterator[str]:
    """What the command prints at a terminal of 60 columns."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast", *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "60", **environment},
    )
    os.close(slave)
    said = b""
    try:
        while part := os.read(master, 65_536):
            said += part
    except OSError:  # how Linux says that the other side is closed
        pass
    os.close(master)
    assert process.wait() == 0
    yield said.decode()


def test_a_hostile_note_does_not_drive_the_terminal(holdfast: Command) -> None:
    holdfast("remember", HOSTILE, "--key", "k", "--hint", "hint\u202e", "--tag", "tag\u009b")
    for arguments in (["get", "k"], ["list"], ["recall", "red", "--explain"], ["history", "k"], ["context"]):
        with at_a_terminal(*arguments, NO_COLOR="1") as shown:
            assert not {"\x07", "\x08", "\x9b", "\x7f", "\u202e"} & set(shown), arguments
            assert "\x1b]" not in shown
            assert "\x1b[31m" not in shown


def test_a_note_goes_into_a_pipe_as_it_is(holdfast: Command) -> None:
    holdfast("remember", "-", "--key", "k", given=b"\x1b[31mred")

    assert holdfast("get", "k").out == "\x1b[31mred\n"


def test_a_terminal_gets_lines_that_fit_it_and_colours_unless_refused(holdfast: Command) -> None:
    holdfast("remember", "word " * 100, "--key", "a/rather/long/key/" + "x" * 60)

    for arguments in (["list"], ["recall", "word"], ["history", "a/rather/long/key/" + "x" * 60]):
        with at_a_terminal(*arguments, NO_COLOR="1", TERM="dumb") as plain:
            assert plain.strip()
            assert max(len(line) for line in plain.split("\r\n")) <= 60, arguments
            assert "\x1b[" not in plain
    with at_a_terminal("doctor") as coloured:
        assert "\x1b[32m" in coloured
    with at_a_terminal("doctor", NO_COLOR="1") as plain:
        assert "\x1b[32m" not in plain


def test_what_drives_a_terminal_is_spelled_out() -> None:
    assert output.line("a\tb\nc\x1b[0m\u2028\udcff") == "a\\tb\\nc\\x1b[0m\\u2028\\udcff"
    assert output.lines("a\n\tb\r\nc\x1b") == "a\n    b\nc\\x1b"
    assert output.line("grüß 👩‍🚀 你好") == "grüß 👩‍🚀 你好"


def test_completion_offers_the_commands(process: Command) -> None:
    done = process(_HOLDFAST_COMPLETE="complete_bash", COMP_WORDS="holdfast re", COMP_CWORD="1")

    assert {"remember", "recall", "rename", "restore", "reindex"} <= set(done.out.split())


def test_completion_offers_the_options_of_a_command(process: Command) -> None:
    done = process(_HOLDFAST_COMPLETE="complete_bash", COMP_WORDS="holdfast keys rotate --d", COMP_CWORD="3")

    assert set(done.out.split()) == {"--data", "--data-keys"}


class Far:
    """A client as the commands use it: an own door that knows a server."""

    def __init__(self, url: str, token: str | None) -> None:
        self.calls: list[object] = [url, token]

    def __enter__(self) -> Far:
        return self

    def __exit__(self, *_: object) -> None:
        self.calls.append("closed")

    def get(self, **said: object) -> None:
        self.calls.append(said)
        raise NotFound


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> list[Far]:
    """The clients that were made."""
    made: list[Far] = []

    def client(url: str, token: str | None) -> Far:
        made.append(Far(url, token))
        return made[-1]

    monkeypatch.setattr("holdfast.entrypoints.http.client.Client", client)
    return made


def test_with_a_url_the_server_is_asked_and_no_store_is_made(
    holdfast: Command, far: list[Far], data: Path
) -> None:
    done = holdfast("get", "k", HOLDFAST_URL="http://far", HOLDFAST_TOKEN="t")

    assert (done.code, done.err) == (1, "not_found: There is no such entry.\n")
    assert far[0].calls == ["http://far", "t", {"key": "k", "id": None, "space": None}, "closed"]
    assert not data.exists()


def test_who_one_is_at_a_server_the_token_says(holdfast: Command, far: list[Far]) -> None:
    token = holdfast("token", "create", "--subject", "alice").out.strip()

    other = holdfast("get", "k", "--as", "bob", HOLDFAST_URL="http://far", HOLDFAST_TOKEN=token)
    assert other.err.startswith("invalid_field: With HOLDFAST_URL the token says who you are")
    same = holdfast("get", "k", "--as", "alice", HOLDFAST_URL="http://far", HOLDFAST_TOKEN=token)
    assert same.err.startswith("not_found: ")


def test_help_loads_no_store_no_server_and_no_numbers(settings: None) -> None:
    program = "import sys, holdfast.__main__ as m; m.main(); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=True
    )

    loaded = set(done.stderr.split())
    assert "holdfast.entrypoints.cli" in loaded
    heavy = {
        "apsw",
        "cryptography",
        "numpy",
        "rich",
        "starlette",
        "uvicorn",
        "httpx2",
        "holdfast.entrypoints.python.memory",
    }
    assert loaded & heavy == set()


def test_the_documented_table_is_what_the_commands_say() -> None:
    from docs.commands import commands_table

    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- generated: commands -->\n")[2].partition("<!-- end -->")[0]
    assert shown.splitlines() == list(commands_table())


def test_json_is_plain_ascii_and_one_line(holdfast: Command) -> None:
    holdfast("remember", "grüß \x9b", "--key", "k")

    out = holdfast("get", "k", "--json").out
    assert out.isascii()
    assert out.count("\n") == 1
    assert json.loads(out)["text"] == "grüß \x9b"
