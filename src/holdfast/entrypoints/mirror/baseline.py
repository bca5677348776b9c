"""The state in which files and memories were last equal. Each change appends a line, so a kill loses at most the last
one. A lost line costs a comparison of contents, never a memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, TextIO
from uuid import UUID

from holdfast.entrypoints.mirror.disk import ANY_SIZE, open_to_append, put_in_place, read_plain

SPARE_LINES = 1_000
"""Outdated lines before the file is compacted."""


class Baseline(NamedTuple):
    digest: str
    """The SHA-256 of the file."""
    entry: UUID
    revision: int


class Baselines:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None
        self._lines = 0
        self.files: dict[str, Baseline] = {}
        self.trashed: dict[str, UUID] = {}
        """The entry of each file that we wrote into the trash."""
        self.seq = 0
        """The sequence number of the user's space at the last pass."""
        self._load()

    def set(self, name: str, baseline: Baseline) -> None:
        self.files[name] = baseline
        self._append("file", name, baseline.digest, baseline.entry.hex, baseline.revision)

    def drop(self, name: str) -> None:
        if self.files.pop(name, None) is not None:
            self._append("gone", name)

    def set_trashed(self, file: str, entry: UUID) -> None:
        self.trashed[file] = entry
        self._append("trash", file, entry.hex)

    def drop_trashed(self, file: str) -> None:
        if self.trashed.pop(file, None) is not None:
            self._append("cleared", file)

    def set_seq(self, seq: int) -> None:
        if seq != self.seq:
            self.seq = seq
            self._append("seq", seq)

    def forget(self) -> None:
        """Forgets both sides."""
        self.files.clear()
        self.trashed.clear()
        self.seq = 0
        self.compact()

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()
        if self._lines > len(self.files) + len(self.trashed) + SPARE_LINES:
            self.compact()

    def compact(self) -> None:
        """Rewrites the file without the names of removed files."""
        self.close()
        lines = [
            *(["file", name, one.digest, one.entry.hex, one.revision] for name, one in self.files.items()),
            *(["trash", file, entry.hex] for file, entry in self.trashed.items()),
            ["seq", self.seq],
        ]
        data = "".join(json.dumps(line) + "\n" for line in lines).encode()
        put_in_place(self._path, data, self._path.with_suffix(".new"))
        self._lines = len(lines)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _append(self, *line: Any) -> None:
        if self._file is None:
            self._file = open_to_append(self._path)
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        self._lines += 1

    def _load(self) -> None:
        try:
            text = read_plain(self._path, ANY_SIZE).data.decode(errors="replace")
        except FileNotFoundError:
            return
        complete = text.endswith("\n") or not text
        for line in text.splitlines():
            try:
                self._replay(*json.loads(line))
            except (ValueError, TypeError):
                complete = False  # cut off by a kill
            self._lines += 1
        if not complete:
            self.compact()

    def _replay(self, kind: str, *values: Any) -> None:
        match kind, values:
            case "file", (name, digest, entry, revision):
                self.files[name] = Baseline(digest, UUID(entry), revision)
            case "gone", (name,):
                self.files.pop(name, None)
            case "trash", (file, entry):
                self.trashed[file] = UUID(entry)
            case "cleared", (file,):
                self.trashed.pop(file, None)
            case "seq", (seq,):
                self.seq = seq
            case _:
                raise ValueError(kind)
