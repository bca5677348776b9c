"""A server as a reader of the documentation starts it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from holdfast.settings import PREFIX


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """On any free port, and the environment that talks to it."""
    folder = tmp_path_factory.mktemp("server")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    environment |= {f"{PREFIX}DATA_DIR": str(folder), f"{PREFIX}EMBEDDER": "none"}
    holdfast = [sys.executable, "-m", "holdfast"]
    with subprocess.Popen(
        [*holdfast, "serve", "--port", "0"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as running:
        assert running.stdout is not None
        url = re.search(r"http://\S+", running.stdout.readline())
        assert url is not None
        made = subprocess.run(
            [*holdfast, "token", "create", "--subject", "alice"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        yield environment | {f"{PREFIX}URL": url[0], f"{PREFIX}TOKEN": made.stdout.strip()}
        running.send_signal(signal.SIGINT)
        running.stdout.read()
