"""The documentation says what the code does: generated tables, error codes, methods, columns, links and examples."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from holdfast.domain.errors import family
from holdfast.entrypoints import python as door
from holdfast.entrypoints.keys import Keys
from holdfast.storage.sqlite.migrations import steps

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])

CODES = {
    400: "missing_key missing_value missing_field invalid_json invalid_field invalid_key invalid_name invalid_type "
    "invalid_scope invalid_level ttl_too_short ttl_too_long reserved_category reserved_key edit_no_match not_text "
    "live_state",
    401: "unauthenticated",
    403: "access_denied",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict confirmation_required proposal_expired proposal_consumed",
    412: "precondition_failed",
    413: "too_large",
    415: "unsupported_media_type",
    423: "locked",
    429: "quota run_cap rate_limited",
    500: "backend",
    503: "unavailable",
    507: "storage_full",
}
DOORS = (door.Memory, door.Own, door.Facts, door.Handle, door.Administration, Keys)
AWAITED = (door.AsyncMemory, door.AsyncOwn, door.AsyncFacts, door.AsyncHandle, door.AsyncAdministration)

PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
TEST = re.compile(r"(?P<file>tests/[\w/]+\.py)(?:::(?P<name>test_\w+))?")


def text_of(page: str | Path) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program of the documentation as a reader would, in an empty folder with settings of its own; by words
    alone, so that it needs no model to be fetched first."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=folder,
        env={**environment, "HOLDFAST_DATA_DIR": str(folder / "data"), "HOLDFAST_EMBEDDER": "none"},
        capture_output=True,
        text=True,
        check=False,
    )


def check_tables(generate: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(generate), "--check"], capture_output=True, text=True, check=False
    )


def public(kind: type) -> Iterator[str]:
    yield from (name for name in dir(kind) if not name.startswith("_"))


def anchors(page: Path) -> set[str]:
    headings = HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def columns() -> Iterator[tuple[str, str]]:
    """Every table of a store with each of its columns; the index's own tables are the index."""
    db = apsw.Connection(":memory:")
    for step in steps():
        db.execute(step.sql).fetchall()
    query = """
        SELECT name
          FROM sqlite_schema
         WHERE type = 'table'
           AND name NOT LIKE 'sqlite_%'
           AND name NOT LIKE 'terms_%'
    """
    for (table,) in db.execute(query).fetchall():
        for (column,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall():
            yield str(table), str(column)
    db.close()


def test_the_generated_tables_are_what_the_code_says() -> None:
    result = check_tables(DOCS / "generate.py")
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_table_that_differs_from_the_code_is_noticed(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    page = tmp_path / "docs" / "errors.md"
    page.write_text(page.read_text(encoding="utf-8").replace("`not_found`", "`notfound`"), encoding="utf-8")
    result = check_tables(tmp_path / "docs" / "generate.py")
    assert result.returncode == 1
    assert "errors.md" in result.stdout


def test_the_family_of_errors_is_the_closed_list() -> None:
    expected = {code: status for status, codes in CODES.items() for code in codes.split()}
    assert {code: error.status for code, error in family().items()} == expected


def test_every_error_says_what_happened() -> None:
    assert [code for code, error in family().items() if not error().message] == []


@pytest.mark.parametrize("kind", [*DOORS, *AWAITED], ids=lambda kind: kind.__name__)
def test_every_public_method_of_the_python_door_is_documented(kind: type) -> None:
    page = text_of("docs/python.md")
    assert [name for name in public(kind) if not re.search(rf"\.{name}\b", page)] == []


def test_every_method_of_the_python_door_has_an_example() -> None:
    examples = "\n".join(PYTHON.findall(text_of("docs/python.md")))
    missing = [
        f"{kind.__name__}.{name}"
        for kind in DOORS
        for name in public(kind)
        if not re.search(rf"\.{name}\b", examples)
    ]
    assert missing == []


def test_the_example_of_the_readme_runs_and_runs_again(tmp_path: Path) -> None:
    (example,) = PYTHON.findall(text_of("README.md"))
    for _ in range(2):
        result = run(example, tmp_path)
        assert result.returncode == 0, result.stderr


def test_the_examples_of_the_python_page_run_one_after_the_other(tmp_path: Path) -> None:
    result = run("\n".join(PYTHON.findall(text_of("docs/python.md"))), tmp_path)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.finditer(FENCE.sub("", page.read_text(encoding="utf-8"))):
        target, _, anchor = link["target"].partition("#")
        if "://" in target:
            continue
        there = (page.parent / target).resolve() if target else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(link["target"])
    assert broken == []


def test_the_threat_model_names_every_column() -> None:
    page = text_of("docs/threat-model.md")
    sections = dict(re.findall(r"^\*\*`(\w+)`\*\*(.*?)(?=^\*\*`|^#)", page, re.M | re.S))
    missing = [
        f"{table}.{column}" for table, column in columns() if f"`{column}`" not in sections.get(table, "")
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    missing = [
        found[0]
        for found in TEST.finditer(page.read_text(encoding="utf-8"))
        if not (ROOT / found["file"]).is_file()
        or (found["name"] and f"def {found['name']}(" not in text_of(found["file"]))
    ]
    assert missing == []


def test_no_page_names_a_place_on_somebodys_machine() -> None:
    place = re.compile(r"(?<![\w/.:])/(?:home|root|work|Users|tmp)/")
    assert [
        str(page.relative_to(ROOT)) for page in PAGES if place.search(page.read_text(encoding="utf-8"))
    ] == []
