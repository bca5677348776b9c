"""The `holdfast` command, in this process or in one of its own, on an empty data directory."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.entrypoints.cli import run
from tests.cli.command import Command, Done
from tests.support import move_home


def as_bytes(given: str | bytes) -> bytes:
    return given.encode() if isinstance(given, str) else given


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Where the store will lie; nothing is there yet."""
    return tmp_path / "data"


@pytest.fixture
def settings(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings but these."""
    move_home(tmp_path, monkeypatch)
    for name, value in {
        "HOLDFAST_DATA_DIR": str(data),
        "HOLDFAST_EMBEDDER": "none",
        "HOLDFAST_PORT": "1",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def holdfast(settings: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command, in this process."""

    def call(*arguments: str, given: str | bytes = b"", **environment: str) -> Done:
        with monkeypatch.context() as more:
            more.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(as_bytes(given))))
            for name, value in environment.items():
                more.setenv(name, value)
            code = run(list(arguments))
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return call


@pytest.fixture
def process(settings: None) -> Command:
    """The command as a shell starts it."""

    def call(*arguments: str, given: str | bytes = b"", **environment: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "holdfast", *arguments],
            input=as_bytes(given),
            env={**os.environ, **environment},
            capture_output=True,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call
