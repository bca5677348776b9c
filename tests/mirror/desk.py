"""A store and its mirror on a desk: who calls the engine, who edits files, and when the mirror looks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Self

import holdfast
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.mirror.folder import folder_of
from holdfast.entrypoints.mirror.mirror import Mirror, ignore_step
from holdfast.entrypoints.python.memory import Memory

KEY = "5e" * 32


class Killed(BaseException):
    """The process ends here, whatever it was about to do."""


class Desk:
    def __init__(self, folder: Path, *, delete_delay: float = 0.0) -> None:
        self.folder = folder
        self.root = folder / "files"
        self.now = 0.0
        self._delete_delay = delete_delay
        self.memory: Memory
        self.alice: Own
        self.mirror: Mirror
        self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _mirror(self, on_step: Callable[[str], None]) -> Mirror:
        return Mirror(
            self.memory.running,
            self.root,
            monotonic=lambda: self.now,
            settle=0,
            delete_delay=self._delete_delay,
            on_step=on_step,
        )

    def restart(self, on_step: Callable[[str], None] = ignore_step) -> None:
        """The mirror's process ends as it is, and another one begins."""
        self.mirror.stop()
        self.mirror = self._mirror(on_step)

    def look(self, times: int = 1) -> None:
        for _ in range(times):
            self.now += 1
            self.mirror.sync()

    def back_up(self) -> bytes:
        """The store's file as it is."""
        self._close()
        data = (self.folder / "m.db").read_bytes()
        self._open()
        return data

    def put_back(self, data: bytes) -> None:
        """An operator restores an old copy of the store."""
        self._close()
        for path in self.folder.glob("m.db*"):
            path.unlink()
        (self.folder / "m.db").write_bytes(data)
        self._open()

    def _open(self) -> None:
        self.memory = holdfast.open(self.folder / "m.db", key=KEY, sweep_seconds=0, embedder="none")
        self.alice = self.memory.user("alice")
        self.mirror = self._mirror(ignore_step)

    def _close(self) -> None:
        self.mirror.stop()
        self.memory.close()

    # The engine

    def upsert(self, name: str, body: str, *, description: str = "about", type: str = "user") -> None:
        self.alice.files.update_user_memory("upsert", name, type=type, description=description, body=body)

    def delete(self, name: str) -> None:
        self.alice.files.update_user_memory("delete", name)

    def body(self, name: str) -> str:
        return self.alice.files.read_user_memory(name).body

    def bodies(self) -> dict[str, str]:
        """Every memory there is, by name."""
        found: dict[str, str] = {}
        cursor = None
        while True:
            page = self.alice.list(partition="files", limit=1_000, cursor=cursor)
            found |= {entry.key: entry.text for entry in page}
            cursor = page.cursor
            if cursor is None:
                return found

    # The files

    @property
    def place(self) -> Path:
        return self.root / "users" / folder_of("alice") / "memory"

    def file(self, name: str) -> Path:
        return self.place / f"{name}.md"

    def edit(self, name: str, body: str, *, description: str = "about", type: str = "user") -> None:
        self.place.mkdir(parents=True, exist_ok=True)
        self.file(name).write_text(said(body, description, type), encoding="utf-8")

    def text(self, name: str) -> str:
        return self.file(name).read_text(encoding="utf-8")

    def on_disk(self) -> dict[str, str]:
        """Every file there is, by name, without its frontmatter."""
        return {
            path.stem: path.read_text(encoding="utf-8").split("---\n", 2)[2].strip("\n")
            for path in self.place.glob("*.md")
            if path.name != "MEMORY.md"
        }

    def trash(self) -> list[str]:
        return sorted(path.name for path in (self.place / "trash").iterdir())

    def problems(self) -> str:
        path = self.place.parent / "PROBLEMS.md"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def index(self) -> str:
        return (self.place / "MEMORY.md").read_text(encoding="utf-8")


def said(body: str, description: str = "about", type: str = "user") -> str:
    return f"---\ndescription: {description}\ntype: {type}\n---\n\n{body}\n"
