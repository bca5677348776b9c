"""Whether it is ready: well, with a wrong key, broken, and switched off."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

import holdfast
from holdfast import Client
from holdfast.domain.errors import Unavailable
from holdfast.entrypoints.python.running import Running, open_settings
from holdfast.settings import load
from holdfast.storage.sqlite import store
from tests.http.serving import Service, code, serving_running

KEY, OTHER = "11" * 32, "22" * 32
CALLS: tuple[tuple[str, str, object], ...] = (
    ("POST", "remember", {"text": "x"}),
    ("POST", "recall", {"query": "x"}),
    ("GET", "entries", None),
    ("GET", "entries/0b6f3c1e-6f2d-8a47-9c5d-3e8a1f2e3d4c", None),
    ("PUT", "spaces/~/grants/user:bob", {}),
    ("POST", "forget", {"scope": "all"}),
)


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Running]:
    """A store whose key is not the one configured."""
    with holdfast.open(tmp_path, key=KEY) as memory:
        memory.user("alice").remember("sealed", key="k")
    running = open_settings(load({}, data_dir=str(tmp_path), memory_key=OTHER, embedder="none"))
    yield running
    running.stop()


def test_a_server_that_is_well_says_so(service: Service) -> None:
    assert service.ask("GET", "/healthz", who=None).json() == {"status": "ok"}
    ready = service.ask("GET", "/readyz", who=None)
    assert ready.status_code == 200
    assert ready.json() == {"ready": True, "store": "ok", "keys": "ok", "schema": "ok"}


def test_with_a_wrong_key_it_lives_and_is_not_ready(locked: Running) -> None:
    with serving_running(locked) as service:
        assert service.ask("GET", "/healthz", who=None).status_code == 200
        ready = service.ask("GET", "/readyz", who=None)
        assert (ready.status_code, ready.json()["ready"]) == (503, False)
        assert ready.json()["keys"] not in ("ok", "unknown")
        assert KEY not in ready.text + service.ask("GET", "/", who=None).text
        assert "holdfast_up 0" in service.ask("GET", "/metrics", who=None).text


@pytest.mark.parametrize(("method", "path", "body"), CALLS, ids=lambda part: str(part)[:20])
def test_with_a_wrong_key_calls_are_unavailable_and_nobody_is_told_to_wait(
    locked: Running, method: str, path: str, body: object
) -> None:
    with serving_running(locked) as service:
        answered = service.ask(method, path, json=body) if body is not None else service.ask(method, path)
        if answered.status_code == 200:  # what is written while memory is off says that it was not kept
            assert answered.json()["persisted"] is False
        else:
            assert code(answered) == (503, "unavailable")
            assert "retry-after" not in answered.headers


def test_a_client_does_not_wait_for_a_server_that_will_not_come_back(locked: Running) -> None:
    with (
        serving_running(locked) as service,
        Client(service.url, service.token(), retries=3) as client,
        pytest.raises(Unavailable),
    ):
        client.get("k")


def test_a_stranger_is_not_told_that_the_store_is_shut(locked: Running) -> None:
    with serving_running(locked) as service:
        assert code(service.ask("GET", "entries/x", who=None)) == (401, "unauthenticated")


def test_with_a_disk_too_full_to_open_it_lives_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(store, "FileConnections", full)
    running = open_settings(load({}, data_dir=str(tmp_path), memory_key=KEY, embedder="none"))
    with serving_running(running) as service:
        assert service.ask("GET", "/healthz", who=None).status_code == 200
        ready = service.ask("GET", "/readyz", who=None)
        assert (ready.status_code, ready.json()["ready"]) == (503, False)
        assert "The disk is full" in ready.json()["store"]
        assert code(service.ask("GET", "entries/x")) == (503, "unavailable")


def test_a_store_that_breaks_while_serving_turns_ready_red(tmp_path: Path) -> None:
    running = open_settings(load({}, data_dir=str(tmp_path), memory_key=KEY, embedder="none"))
    try:
        with serving_running(running) as service:
            assert service.ask("GET", "/readyz", who=None).status_code == 200
            running.stop()
            ready = service.ask("GET", "/readyz", who=None)
            assert (ready.status_code, ready.json()["ready"]) == (503, False)
            assert service.ask("GET", "/healthz", who=None).status_code == 200
    finally:
        running.stop()
