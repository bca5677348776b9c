"""`python -m tests.faults.forking WHERE`: opens a store, forks, and tells what the child and then the parent were
answered, a line of JSON each."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping

import holdfast
from holdfast.domain.errors import HoldfastError


def main(where: str) -> None:
    memory = holdfast.open(where, sweep_seconds=0)
    ada = memory.user("ada")
    ada.remember("before the fork", key="before")
    child = os.fork()
    if child == 0:
        calls: Mapping[str, Callable[[], object]] = {
            "remember": lambda: ada.remember("of the child", key="child"),
            "get": lambda: ada.get("before"),
            "list": lambda: ada.list(),
            "purge": lambda: ada.purge("before"),
            "open again": lambda: holdfast.open(where, sweep_seconds=0).close(),
            "open, not required": lambda: holdfast.open(where, required=False, sweep_seconds=0).reason,
            "close": memory.close,
        }
        _tell({name: _answer(call) for name, call in calls.items()})
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0
    ada.remember("after the fork", key="after")
    memory.close()
    with holdfast.open(where, sweep_seconds=0) as again:
        _tell(sorted(entry.key for entry in again.user("ada").list()))


def _answer(call: Callable[[], object]) -> str:
    try:
        return str(call())
    except HoldfastError as error:
        return error.code


def _tell(what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
