"""A secret that somebody writes, asks for or names reaches nothing in plain: not the disk, the log, the metrics, the
audit log or the embedder. A served store is filled by every call that takes text, and everything it leaves is read."""

from __future__ import annotations

import os
import random
import signal
import string
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from holdfast import Client
from holdfast.domain.errors import HoldfastError
from holdfast.entrypoints.http.tokens import local_secret, mint
from holdfast.settings import load
from holdfast.wiring import system_clock
from tests.faults.serving import Served

SPY = """
import os
import numpy

class Spy:
    model_id = "spy"
    dimensions = 4
    def embed(self, text):
        with open(os.environ["SPIED"], "a", encoding="utf-8") as file:
            file.write(text + "\\n")
        return numpy.ones(4)
    embed_query = embed

make = Spy
"""


def secrets() -> dict[str, str]:
    """Kinds of secrets, made here so that none is written in this file."""
    rng = random.Random(20260516)

    def some(count: int, letters: str = string.ascii_letters + string.digits) -> str:
        return "".join(rng.choices(letters, k=count))

    return {
        "token": "ghp_" + some(36),
        "key": "sk-proj-" + some(48),
        "aws": "AKIA" + some(16, string.ascii_uppercase + "234567"),
        "jwt": f"eyJ{some(33)}.eyJ{some(60)}.{some(43)}",
        "password": "Vx7" + some(12) + "q",
    }


def written(name: str, secret: str) -> str:
    return f"the database password is {secret}" if name == "password" else f"use {secret} for the deploy"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "spy.py").write_text(SPY)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    server = Served(
        tmp_path / "data", HOLDFAST_EMBEDDER="spy:make", PYTHONPATH=path, SPIED=str(tmp_path / "spied.txt")
    )
    yield server
    server.close()


def fetched(served: Served, path: str) -> str:
    secret = local_secret(load(data_dir=served._folder))
    token = mint(secret, subject="root", roles=("admin",), ttl_seconds=3_600, now=system_clock())
    asked = Request(f"{served.url()}/{path}", headers={"Authorization": f"Bearer {token}"})
    with urlopen(asked) as answer:
        return str(answer.read().decode())


def fill(alice: Client, secret: str, text: str) -> None:
    """Every call that takes words, with the secret in each of them."""
    tags = [secret] if len(secret) <= 64 else []
    kept = alice.remember(
        text,
        key=f"k/{secret}",
        hint=text,
        tags=tags,
        category=text,
        speaker=text,
        conversation=text,
    )
    calls: list[Callable[[], Any]] = [
        lambda: alice.edit(id=kept.id, text=f"again: {text}", hint=text, tags=tags),
        lambda: alice.replace(id=kept.id, old="again", new=f"once more {text}"),
        lambda: alice.rename(id=kept.id, new_key=f"renamed/{secret}"),
        lambda: alice.remember_many([{"text": text, "key": f"many/{secret}"}]),
        lambda: alice.facts.store(f"fact/{secret}", text, category=text, tags=tags),
        lambda: alice.files.update_user_memory("upsert", "deploy", type="user", description=text, body=text),
        lambda: alice.recall(text),
        lambda: alice.recall(f"what is {secret}"),
        lambda: alice.why_not(text, str(kept.id)),
        lambda: alice.list(f"k/{secret}"),
        lambda: alice.get(f"k/{secret}"),
        lambda: alice.facts.recall(query=text),
        lambda: alice.history(f"k/{secret}"),
        lambda: alice.context(),
        lambda: alice.forget(f"key:k/{secret}"),
        lambda: alice.get(f"{secret}\0"),
        lambda: alice.readers(id=kept.id),
    ]
    for call in calls:
        try:
            call()
        except HoldfastError:
            continue  # refused, which must not tell either


def test_no_secret_is_in_any_byte_that_a_served_store_leaves(served: Served, tmp_path: Path) -> None:
    with served.client() as alice:
        for name, secret in secrets().items():
            # A password has no shape of its own: the word beside it tells.
            fill(alice, f"password={secret}" if name == "password" else secret, written(name, secret))
        alice.remember("nothing secret at all", key="plain")
        while alice.index().pending:
            time.sleep(0.05)
        entries = [*alice.list(limit=1_000), *(hit.entry for hit in alice.recall("", limit=50))]
        shown = repr([*(entry.content for entry in entries), alice.context().text])
    metrics = fetched(served, "metrics")
    log = "".join(fetched(served, f"api/v1/audit?limit=1000&after={after}") for after in (0, 1_000))
    served.end(signal.SIGTERM)
    said, errors = served.ended()
    places = {
        "what it shows": shown,
        "metrics": metrics,
        "audit": log,
        "output": said,
        "log": errors,
        "embedder": (tmp_path / "spied.txt").read_text(encoding="utf-8"),
    }
    disk = {file: file.read_bytes() for file in (tmp_path / "data").rglob("*") if file.is_file()}
    assert "nothing secret at all" in places["embedder"]
    leaked = [
        (name, place)
        for name, secret in secrets().items()
        for place, text in places.items()
        if secret in text
    ]
    leaked += [
        (name, file.name)
        for name, secret in secrets().items()
        for file, raw in disk.items()
        if secret.encode() in raw
    ]
    assert leaked == []
