"""A script edits files while an agent writes memories: when both are done, both sides are equal, nothing is lost and
nothing is there twice. HOLDFAST_FAULTS=long: a thousand of each, and a server that is killed again and again."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

import holdfast
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.mirror.mirror import Mirror
from holdfast.entrypoints.python.memory import Memory
from tests.mirror.desk import KEY, Desk, said

LONG = os.environ.get("HOLDFAST_FAULTS") == "long"
MANY = 1_000 if LONG else 120
SETTLE = 0.05
SERVER = """
import sys, time
from pathlib import Path
import holdfast
from holdfast.entrypoints.mirror.mirror import Mirror
memory = holdfast.open(Path(sys.argv[1]) / "m.db", key=sys.argv[2], sweep_seconds=0, embedder="none")
mirror = Mirror(memory.running, Path(sys.argv[1]) / "files", settle=0.05, delete_delay=5)
alice, number = memory.user("alice"), 0
print("ready", flush=True)
while True:
    mirror.sync()
    for _ in range(5):
        number += 1
        name = f"{sys.argv[3]}-{number % 50}"
        body = f"engine {sys.argv[3]} {number}"
        done = alice.files.update_user_memory("upsert", name, type="user", description="about", body=body)
        print(name, done.revision, body, sep="|", flush=True)
"""


def write_by_hand(path: Path, text: str, *, whole: bool) -> None:
    """As editors do: a new file in the place of the old one, or the same file written anew."""
    if whole:
        aside = path.with_suffix(".tmp")
        aside.write_text(text)
        aside.replace(path)
    else:
        path.write_text(text)


def every_text(own: Own, names: Iterator[str] | list[str]) -> set[str]:
    return {str(revision.text) for name in names for revision in own.history(name, limit=1_000)}


def check_equal(desk: Desk) -> dict[str, str]:
    bodies = desk.bodies()
    assert desk.on_disk() == bodies
    assert [text for text, times in Counter(bodies.values()).items() if times > 1] == []
    assert desk.index() == desk.alice.files.index()
    return bodies


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_script_edits_files_while_the_engine_writes_and_both_sides_come_together(tmp_path: Path) -> None:
    shared = [f"shared-{number:04}" for number in range(MANY // 2)]
    of_person = shared + [f"person-{number:04}" for number in range(MANY // 2)]
    of_engine = shared + [f"engine-{number:04}" for number in range(MANY // 2)]
    with Desk(tmp_path) as desk:
        for name in shared:
            desk.upsert(name, f"first {name}")
        desk.mirror.stop()
        desk.mirror = Mirror(desk.memory.running, desk.root, settle=SETTLE, delete_delay=60)
        desk.mirror.sync()
        done: list[str] = []

        def person() -> None:
            dice = random.Random(1)
            for name in dice.sample(of_person, len(of_person)):
                write_by_hand(desk.file(name), said(f"person {name}"), whole=dice.random() < 0.5)
                time.sleep(0.001)
            done.append("person")

        def engine() -> None:
            dice = random.Random(2)
            for name in dice.sample(of_engine, len(of_engine)):
                desk.upsert(name, f"engine {name}")
            done.append("engine")

        threads = [Thread(target=person), Thread(target=engine)]
        for thread in threads:
            thread.start()
        while len(done) < len(threads):
            desk.mirror.sync()
        for thread in threads:
            thread.join()
        time.sleep(2 * SETTLE)
        for _ in range(4):
            desk.mirror.sync()
        bodies = check_equal(desk)
        written = {f"person {name}" for name in of_person} | {f"engine {name}" for name in of_engine}
        assert written - every_text(desk.alice, list(bodies)) == set()
        assert set(bodies.values()) <= written | {f"first {name}" for name in shared}


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.timeout(1_200)
def test_a_mirror_that_is_killed_again_and_again_loses_nothing(tmp_path: Path) -> None:
    """Real processes and SIGKILL: what the engine acknowledged and what the person wrote is all there at the end."""
    rounds = 40 if LONG else 4
    dice = random.Random(3)
    Desk(tmp_path).__exit__()
    place = tmp_path / "files" / "users" / "alice" / "memory"
    place.mkdir(parents=True, exist_ok=True)
    acknowledged: set[str] = set()
    by_hand: dict[str, str] = {}
    for turn in range(rounds):
        with subprocess.Popen(
            [sys.executable, "-c", SERVER, str(tmp_path), KEY, f"r{turn}"], stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            for step in range(15):
                name = f"p{turn}-{step}"
                by_hand[name] = f"person {name}"
                write_by_hand(place / f"{name}.md", said(by_hand[name]), whole=dice.random() < 0.5)
                time.sleep(dice.random() / 50)
            server.send_signal(signal.SIGKILL)
            lines = server.stdout.read().splitlines()
        acknowledged |= {line.split("|")[2] for line in lines if line.count("|") == 2}
    time.sleep(2 * SETTLE)
    with Desk(tmp_path) as desk:
        desk.look(4)
        bodies = check_equal(desk)
        assert {name: bodies.get(name) for name in by_hand} == by_hand
        assert acknowledged - every_text(desk.alice, list(bodies)) == set()


@pytest.mark.slow
def test_a_memory_opened_beside_the_mirror_is_followed_too(tmp_path: Path) -> None:
    """The command line and other programs write to the same store."""
    with Desk(tmp_path) as desk:
        desk.look()
        other: Memory = holdfast.open(tmp_path / "m.db", key=KEY, sweep_seconds=0, embedder="none")
        with other:
            other.user("alice").files.update_user_memory(
                "upsert", "one", type="user", description="about", body="from elsewhere"
            )
            desk.look()
        assert desk.on_disk() == {"one": "from elsewhere"}
