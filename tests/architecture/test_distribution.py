"""The distribution has a name of its own, because `holdfast` on PyPI belongs to another project."""

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = re.compile(r"holdfast-memory\[([a-z,]+)\]")


def texts() -> dict[str, str]:
    """Every text file that git tracks."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    return {
        str(file.relative_to(ROOT)): file.read_text(encoding="utf-8", errors="replace")
        for file in files
        if file.is_file()
    }


def test_both_commands_do_the_same() -> None:
    assert PROJECT["name"] == "holdfast-memory"
    assert PROJECT["scripts"] == dict.fromkeys(("holdfast", "holdfast-memory"), "holdfast.__main__:main")


def test_no_text_installs_the_distribution_of_another_project() -> None:
    other = re.compile(r"\bholdfast\[|pip install (?:\S+ )*'?holdfast(?![-\w/])")
    assert [(name, found[0]) for name, text in texts().items() for found in other.finditer(text)] == []


def test_every_extra_that_a_text_names_exists() -> None:
    named = {
        extra for text in texts().values() for found in EXTRAS.findall(text) for extra in found.split(",")
    }
    assert named == named & set(PROJECT["optional-dependencies"])
    assert named >= {"client", "embedder", "postgres", "server"}
