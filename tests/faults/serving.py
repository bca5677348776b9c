"""`holdfast serve` as a process: started, spoken to, ended."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from holdfast import AsyncClient, Client
from holdfast.entrypoints.http.tokens import local_secret, mint
from holdfast.settings import load
from holdfast.wiring import system_clock

HOUR_SECONDS = 3_600

LISTENING = re.compile(r"listening on (http://\S+)")


class Served:
    """`holdfast serve` in a process of its own."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self._folder = folder
        # Not a pipe, which would fill and stop the server; closed with it.
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "serve"],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=os.environ
            | {"HOLDFAST_DATA_DIR": str(folder), "HOLDFAST_PORT": "0", "HOLDFAST_EMBEDDER": "none"}
            | environment,
        )
        self.said = ""

    def url(self) -> str:
        assert self.process.stdout is not None
        while not (found := LISTENING.search(self.said)):
            line = self.process.stdout.readline()
            assert line, self.ended()[1]
            self.said += line
        return found[1]

    def token(self, subject: str) -> str:
        secret = local_secret(load(data_dir=self._folder))
        return mint(secret, subject=subject, ttl_seconds=HOUR_SECONDS, now=system_clock())

    def client(self, **options: Any) -> Client:
        return Client(self.url(), self.token("alice"), **options)

    def awaited(self, subject: str, **options: Any) -> AsyncClient:
        return AsyncClient(self.url(), self.token(subject), **options)

    def resident(self) -> int:
        """Bytes of memory that the process holds."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def ended(self) -> tuple[str, str]:
        """What it said until its end, to people and to its log."""
        self.process.wait(timeout=20)
        assert self.process.stdout is not None
        self.said += self.process.stdout.read()
        self._log.seek(0)
        return self.said, self._log.read()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.ended()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._log.close()

    def end(self, with_signal: int) -> tuple[int, float]:
        began = time.monotonic()
        self.process.send_signal(with_signal)
        code = self.process.wait(timeout=20)
        return code, time.monotonic() - began
