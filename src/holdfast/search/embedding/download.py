"""One file from the web to the disk: streamed, hashed on the way, resumed when the connection drops."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from holdfast.search.embedding.models import hash_of

PIECE = 1 << 20
ATTEMPTS = 3
TIMEOUT = 20
"""Seconds without any byte before a source counts as silent."""

Progress = Callable[[str, int, int | None], None]
"""Called with what is being done, how many bytes are done, and of how many, if that is known."""


class Download:
    """Gets files for one fetch: with the certificates the machine trusts, and those of `ca_file`."""

    def __init__(self, progress: Progress, ca_file: str | None = None) -> None:
        self._progress = progress
        self._trust = ssl.create_default_context()
        if ca_file is not None:
            self._trust.load_verify_locations(ca_file)

    def text(self, url: str, most: int = 16 * 1024 * 1024) -> bytes:
        """A short answer. Raises OSError."""
        with self._open(url, 0) as answer:
            said: bytes = answer.read(most)
        return said

    def file(self, url: str, target: Path, pin: str, label: str, most: int) -> None:
        """Writes the file; raises OSError when it cannot be had and ValueError when it is not the pinned one."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._append(url, target, label, most)
                break
            except URLError:  # it did not even begin: HTTP errors, unknown names, untrusted certificates
                raise
            except (HTTPException, OSError) as error:
                if attempt == ATTEMPTS:
                    raise OSError(f"the connection broke off: {error}") from error
        check_pin(target, pin, label)

    def _append(self, url: str, target: Path, label: str, most: int) -> None:
        have = target.stat().st_size if target.exists() else 0
        with self._open(url, have) as answer:
            if getattr(answer, "status", 200) != 206:
                have = 0
            length = answer.headers.get("Content-Length")
            total = have + int(length) if length else None
            with target.open("ab" if have else "wb") as file:
                while piece := answer.read(PIECE):
                    file.write(piece)
                    have += len(piece)
                    if have > most:
                        raise ValueError(f"{label} is larger than {most} bytes")
                    self._progress(label, have, total)
        if total is not None and have < total:
            raise OSError(f"{have} of {total} bytes came")

    def _open(self, url: str, have: int) -> Any:
        if urlsplit(url).scheme not in ("http", "https"):
            raise OSError("its address is neither http nor https")
        headers = {"User-Agent": "holdfast", "Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
        return urlopen(Request(url, headers=headers), timeout=TIMEOUT, context=self._trust)


def check_pin(file: Path, pin: str, label: str) -> None:
    found = hash_of(file)
    if found != pin:
        raise ValueError(f"{label} has SHA-256 {found[:12]}…, not the pinned {pin[:12]}…")
