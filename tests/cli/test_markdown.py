"""`holdfast serve --markdown`: the mirror runs beside the server, over the same store."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast import Client
from holdfast.settings import PREFIX
from tests.mirror.desk import said

PATIENCE = 30.0


def wait_for(path: Path) -> str:
    until = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < until, f"{path} never came"
        time.sleep(0.05)
    return path.read_text()


@pytest.mark.slow
def test_files_and_memories_follow_each_other_while_the_server_runs(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    environment |= {f"{PREFIX}DATA_DIR": str(tmp_path / "data"), f"{PREFIX}EMBEDDER": "none"}
    command = [sys.executable, "-m", "holdfast"]
    place = tmp_path / "files" / "users" / "alice" / "memory"
    with subprocess.Popen(
        [*command, "serve", "--port", "0", "--markdown", str(tmp_path / "files")],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        url = re.search(r"http://\S+", server.stdout.readline())
        assert url is not None
        token = subprocess.run(
            [*command, "token", "create", "--subject", "alice"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        with Client(url[0], token.stdout.strip()) as alice:
            alice.files.update_user_memory(
                "upsert",
                "preferred-language",
                type="user",
                description="User prefers Japanese",
                body="Japanese.",
            )
            assert "Japanese." in wait_for(place / "preferred-language.md")
            (place / "by-hand.md").write_text(said("written by hand"))
            until = time.monotonic() + PATIENCE
            while "by-hand" not in alice.files.index():
                assert time.monotonic() < until
                time.sleep(0.05)
            assert alice.files.read_user_memory("by-hand").body == "written by hand"
        server.send_signal(signal.SIGINT)
        assert "plain text" in server.stdout.read()
    assert server.returncode == 0


def test_a_folder_that_cannot_be_a_mirror_is_refused_at_the_start(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    environment |= {f"{PREFIX}DATA_DIR": str(tmp_path / "data"), f"{PREFIX}MARKDOWN_DIR": str(tmp_path)}
    (tmp_path / "thesis.md").write_text("mine")
    result = subprocess.run(
        [sys.executable, "-m", "holdfast", "serve", "--port", "0"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "not empty" in result.stderr
