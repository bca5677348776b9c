"""The choice of a storage backend by its URL."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast import wiring
from holdfast.domain.errors import InvalidField, Locked, Unavailable
from holdfast.settings import load
from holdfast.wiring import BackendRow, StoreLocation, locate_store
from tests.unit import toy_backend

KEY = "11" * 32
TOY = "tests.unit.toy_backend"


def location(url: str) -> StoreLocation:
    return locate_store(load({}, database_url=url))


def test_a_backend_is_one_row_besides_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(wiring.BACKENDS, "toy", BackendRow("Toy", TOY, is_shared=True))

    with holdfast.open("toy://somewhere", key=KEY) as memory:
        memory.user("ada").remember("text", key="k")
        assert memory.user("ada").get("k").text == "text"

    assert toy_backend.opened == ["toy://somewhere"]


def test_a_shared_store_needs_a_configured_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(wiring.BACKENDS, "toy", BackendRow("Toy", TOY, is_shared=True))

    with pytest.raises(Locked, match="A store on Toy has no key file"):
        holdfast.open("toy://somewhere")


def test_a_backend_without_its_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    row = BackendRow("Toy", "tests.unit.no_such_module", is_shared=True, extra="toy")
    monkeypatch.setitem(wiring.BACKENDS, "toy", row)

    with pytest.raises(Unavailable, match=r"Toy needs its driver: .*\[toy\]"):
        holdfast.open("toy://somewhere", key=KEY)


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite://", None),
        ("sqlite:///:memory:", None),
        ("sqlite:////data/notes.db", Path("/data/notes.db")),
        ("sqlite:////data/my%20notes.db", Path("/data/my notes.db")),
    ],
)
def test_an_embedded_store_is_a_file_or_in_memory(url: str, file: Path | None) -> None:
    found = location(url)
    assert (found.file, found.is_shared, found.is_in_memory) == (file, False, file is None)


@pytest.mark.parametrize("url", ["postgresql://host/db", "postgres://host/db"])
def test_a_database_server_has_no_file_and_is_shared(url: str) -> None:
    found = location(url)
    assert (found.file, found.is_shared, found.is_in_memory) == (None, True, False)


@pytest.mark.parametrize("url", ["mysql://host/db", "sqlite:notes.db", "sqlite://notes.db", "notes.db", ""])
def test_any_other_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidField, match="HOLDFAST_DATABASE_URL"):
        location(url or "://")
