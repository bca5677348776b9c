"""A process of its own that works on a store: `python worker.py TASK FOLDER NAME COUNT`.

It says `ready`, waits for a line, works, and reports each call after it has returned: what is reported was
acknowledged."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import holdfast
from holdfast.domain.errors import HoldfastError

KEY = "11" * 32


def say(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def turns(number: int) -> Iterator[int]:
    return iter(range(number)) if number else count()


def on_own_keys(memory: holdfast.Memory, name: str, number: int) -> None:
    own = memory.user("ada")
    for turn in turns(number):
        answer = own.remember(f"turn {turn} of {name}", key=f"{name}/{turn}", tags=[name])
        say(key=answer.key, revision=answer.revision, text=f"turn {turn} of {name}")


def on_one_key(memory: holdfast.Memory, name: str, number: int) -> None:
    own = memory.user("ada")
    for turn in turns(number):
        answer = own.remember(f"turn {turn} of {name}", key="shared")
        say(key="shared", revision=answer.revision, text=f"turn {turn} of {name}")


def endlessly(memory: holdfast.Memory, name: str, number: int) -> None:
    """Writes of every kind until the process is killed."""
    own = memory.user(name)
    for turn in count():
        text = f"turn {turn} of {name} " + "word " * (turn % 30)
        key = f"cycle/{turn % 7}"
        answer = own.remember(text.strip(), key=key, tags=["t", f"t{turn % 3}"], hint="a hint")
        say(key=key, revision=answer.revision, text=text.strip())
        if turn % 5 == 4:
            own.trash(key)
            say(key=key, trashed=True)
            own.restore(key)
            say(key=key, trashed=False)


def purging(memory: holdfast.Memory, name: str, number: int) -> None:
    """Says what it is about to purge, purges it, and says that it is gone."""
    own = memory.user(name)
    for turn in count():
        key = f"purged/{turn}"
        own.remember(f"kept {turn}", key=f"kept/{turn}")
        say(key=f"kept/{turn}", revision=1, text=f"kept {turn}")
        for revision in range(2):
            own.remember(f"secret {turn} version {revision}", key=key, tags=["gone"])
        say(purging=key)
        own.purge(key)
        say(purged=key)


def rotating(memory: holdfast.Memory, name: str, number: int) -> None:
    own = memory.user(name)
    space = own.list(limit=1)[0].space
    for turn in count():
        memory.keys.rotate_data(space, progress=lambda done: say(progress=done))
        say(rotated=turn)


def rotating_master(memory: holdfast.Memory, name: str, number: int) -> None:
    for turn in turns(number):
        memory.keys.rotate()
        say(rotated=turn)


def reading(memory: holdfast.Memory, name: str, number: int) -> None:
    """Reads what another process writes: lists and single entries, always whole."""
    own = memory.user("ada")
    seen = 0
    while seen < number:
        page = own.list(limit=1_000)
        assert len(page) >= seen, "an entry that was there is gone"
        assert page.locked == 0
        seen = len(page)
        for entry in page[:3]:
            assert own.get(entry.key).text == entry.text
        say(seen=seen)


def settling(memory: holdfast.Memory, name: str, number: int) -> None:
    """Makes vectors until none waits, and says how many do."""
    say(pending=memory.index().pending)
    say(settled=memory.settle(timeout=100).pending == 0)


def recalling(memory: holdfast.Memory, name: str, number: int) -> None:
    """Asks for what others write and purge: never an error, never half a note."""
    own = memory.user("ada")
    for turn in turns(number):
        hits = own.recall(f"turn {turn % 20}", limit=50)
        assert all(hit.text and hit.key for hit in hits)
        say(hits=len(hits), degraded=hits.degraded)


def nothing(memory: holdfast.Memory, name: str, number: int) -> None:
    say(path=str(memory.path))


TASKS: dict[str, Callable[[holdfast.Memory, str, int], None]] = {
    task.__name__: task
    for task in (
        on_own_keys,
        on_one_key,
        endlessly,
        purging,
        rotating,
        rotating_master,
        reading,
        settling,
        recalling,
        nothing,
    )
}


def main(task: str, folder: str, name: str, number: int, key: str) -> None:
    from holdfast.operations import rotate_keys
    from holdfast.storage import keyring

    logging.getLogger("holdfast").addHandler(logging.NullHandler())
    keyring.FRESH_SECONDS, rotate_keys.GRACE_SECONDS, rotate_keys.BATCH = 0.02, 0.03, 7
    say(ready=True)
    sys.stdin.readline()
    try:
        with holdfast.open(folder, key=key or None, sweep_seconds=0) as memory:
            TASKS[task](memory, name, number)
    except HoldfastError as error:
        say(failed=error.code, message=error.message)
        raise
    say(done=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
