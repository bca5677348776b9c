"""Another process on the same store, told what to call line by line: `python neighbour.py FILE EMBEDDER`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

KEY = "5e" * 32
ROOT = Path(__file__).resolve().parents[2]


class Neighbour:
    """Speaks for alice over there; each call returns once it was answered."""

    def __init__(self, file: Path, embedder: str = "none") -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(file), embedder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate("")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, args, kwargs]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def main(file: str, embedder: str) -> None:
    import holdfast

    with holdfast.open(file, key=KEY, sweep_seconds=0, embedder=embedder) as memory:
        alice = memory.user("alice")
        calls: dict[str, Any] = {
            "remember": lambda *args, **kwargs: str(alice.remember(*args, **kwargs).id),
            "edit": lambda *args, **kwargs: alice.edit(*args, **kwargs).revision,
            "trash": lambda key: alice.trash(key).key,
            "purge": alice.purge,
            "forget": lambda scope: alice.forget(scope).deleted,
            "recall": lambda query: [hit.key for hit in alice.recall(query)],
            "pending": lambda: memory.index().pending,
            "settle": lambda: memory.settle().pending,
        }
        for line in sys.stdin:
            name, args, kwargs = json.loads(line)
            print(json.dumps(calls[name](*args, **kwargs)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
