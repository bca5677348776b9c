"""The pinned versions: complete with hashes, the same in both files, silent about where they came from."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = ("constraints.txt", "constraints-run.txt")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
ADDRESS = re.compile(r"://|index-url|find-links|^\s*-(?!-hash=).*|(?:^|\s)/\S*", re.MULTILINE)
PIN = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>[^ ;\\]+)(?P<rest>.*(?:\n {4}.*)*)", re.MULTILINE)


def pins(file: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Version and hashes of every pinned distribution."""
    text = (ROOT / file).read_text(encoding="utf-8")
    return {
        found["name"]: (found["version"], frozenset(HASH.findall(found["rest"])))
        for found in PIN.finditer(text)
    }


@pytest.mark.parametrize("file", FILES)
def test_every_pin_has_a_hash(file: str) -> None:
    assert pins(file)
    assert [name for name, (_, hashes) in pins(file).items() if not hashes] == []


@pytest.mark.parametrize("file", FILES)
def test_no_pin_file_names_a_registry_or_a_path(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    assert ADDRESS.findall(text) == []


def test_what_runs_is_what_is_tested() -> None:
    tested = pins("constraints.txt")
    assert {name: pin for name, pin in pins("constraints-run.txt").items() if tested.get(name) != pin} == {}
