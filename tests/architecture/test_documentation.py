"""The documentation says what the code does: generated tables, error codes, methods, columns, links and examples."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import apsw
import pytest

from holdfast.domain.errors import HoldfastError, family
from holdfast.entrypoints.cli.commands import COMMANDS
from holdfast.entrypoints.facade import (
    Administration,
    Agents,
    AnthropicMemory,
    Assistant,
    AsyncAdministration,
    AsyncAgents,
    AsyncAnthropicMemory,
    AsyncAssistant,
    AsyncCorpus,
    AsyncFacts,
    AsyncFiles,
    AsyncKv,
    AsyncOwn,
    AsyncPeople,
    AsyncStores,
    Corpus,
    Facts,
    Files,
    Kv,
    Own,
    People,
    Stores,
)
from holdfast.entrypoints.http.api import Router
from holdfast.entrypoints.http.claims import Reason
from holdfast.entrypoints.http.client import AsyncClient, Client
from holdfast.entrypoints.http.metrics import Metrics
from holdfast.entrypoints.http.routes import ROUTES
from holdfast.entrypoints.python import memory as door
from holdfast.entrypoints.python.maintenance import Audit, Keys
from holdfast.entrypoints.python.tool_context import AsyncHandle, Handle
from holdfast.settings import PREFIX, TABLE
from holdfast.storage.sqlite.migrate import steps

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
DEPLOYED = [
    ROOT / "Containerfile",
    *sorted((ROOT / "deploy").iterdir()),
    *sorted((ROOT / "examples").glob("*.py")),
]

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
DOORS = (
    door.Memory,
    Own,
    Facts,
    Files,
    Corpus,
    Assistant,
    People,
    Stores,
    Agents,
    Kv,
    AnthropicMemory,
    Handle,
    Administration,
    Audit,
    Keys,
)
AWAITED = (
    door.AsyncMemory,
    AsyncOwn,
    AsyncFacts,
    AsyncFiles,
    AsyncCorpus,
    AsyncAssistant,
    AsyncPeople,
    AsyncStores,
    AsyncAgents,
    AsyncKv,
    AsyncAnthropicMemory,
    AsyncHandle,
    AsyncAdministration,
)

PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
SETTING = re.compile(rf"\b{PREFIX}([A-Z_]+)(…?)")
ADDRESS = re.compile(r"/api/v1/([\w{}~:%/-]+)")
OF_TESTS = frozenset({"FAULTS", "TEST_POSTGRES"})
"""What only tests are told by the environment."""
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


def _leads(router: Router, method: str, address: str) -> bool:
    try:
        router.find(method, address)
    except HoldfastError:
        return False
    return True


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


@pytest.mark.slow
def test_the_examples_of_the_http_page_run_against_a_server(server: dict[str, str], tmp_path: Path) -> None:
    program = "\n".join(PYTHON.findall(text_of("docs/http-api.md")))
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=server, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "Deploys go through Konflux" in result.stdout


@pytest.mark.slow
def test_the_example_of_a_chat_turn_runs_against_a_server(server: dict[str, str]) -> None:
    example = ROOT / "examples" / "chat_turn.py"
    result = subprocess.run(
        [sys.executable, str(example)], env=server, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "<holdfast-memory>" in result.stdout


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_is_documented(route: Any) -> None:
    row = next(
        (
            line
            for line in text_of("docs/http-api.md").splitlines()
            if f"| {route.method} | `{route.path}` |" in line
        ),
        "",
    )
    assert [field.name for field in route.in_query if f"`{field.name}`" not in row] == []
    assert row


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_address_that_a_page_names_is_a_route(page: Path) -> None:
    router, methods = Router(ROUTES), {route.method for route in ROUTES}
    wrong = [
        address[0]
        for address in ADDRESS.finditer(page.read_text(encoding="utf-8"))
        if not any(_leads(router, method, address[1]) for method in methods)
    ]
    assert wrong == []


def test_every_reason_of_a_refused_token_is_documented() -> None:
    page = text_of("docs/http-api.md")
    assert [reason.value for reason in Reason if f"| `{reason}` |" not in page] == []


def test_every_series_of_the_metrics_is_documented() -> None:
    shown = "\n".join(Metrics().lines({"up": 1}))
    series = set(re.findall(r"# TYPE (\w+)", shown))
    assert series
    assert {name for name in series if f"| `{name}` |" not in text_of("docs/http-api.md")} == set()


def test_every_command_is_documented() -> None:
    page = text_of("docs/cli.md")
    assert [name for name, *_ in COMMANDS if not re.search(rf"^\| `{name}[ `]", page, re.M)] == []


@pytest.mark.parametrize("kind", [Client, AsyncClient], ids=lambda kind: kind.__name__)
def test_a_client_has_the_calls_of_the_python_door(kind: type) -> None:
    assert sorted(set(public(Own)) - {"facts", "files"} - set(public(kind))) == []


@pytest.mark.parametrize("page", [*PAGES, *DEPLOYED], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_setting_that_a_page_names_exists(page: Path) -> None:
    known = {setting.name for setting in TABLE} | OF_TESTS
    named = {found[1] for found in SETTING.finditer(page.read_text(encoding="utf-8")) if not found[2]}
    assert sorted(named - known) == []


def test_every_setting_of_the_server_is_explained() -> None:
    page = text_of("docs/settings.md").partition("## The server")[2]
    names = [
        setting.name
        for setting in TABLE
        if setting.name.startswith(("JW", "HOST", "PORT", "AUTH", "ALLOWED"))
    ]
    assert [name for name in names if f"`{PREFIX}{name}`" not in page] == []


def test_pictures_are_drawings_without_scripts_or_anything_from_elsewhere() -> None:
    for picture in DOCS.glob("*.svg"):
        text = picture.read_text(encoding="utf-8")
        ElementTree.fromstring(text)
        assert not re.search(r"<script|<image|href=|url\(", text)
        assert "prefers-color-scheme: dark" in text


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


def test_every_line_of_the_threat_model_that_says_cannot_names_its_tests() -> None:
    page = text_of("docs/threat-model.md")
    attackers = page.partition("## What attackers can and cannot do")[2].partition("\n## ")[0]
    lines = [line.replace("\n", " ") for line in re.findall(r"^- .*(?:\n  .*)*", attackers, re.M)]
    numbered = set(re.findall(r"^(\d+)\. `tests/", page, re.M))
    named = {number for line in lines for number in re.findall(r"\[\[(\d+)\]", line)}
    assert named <= numbered
    assert [line for line in lines if line.startswith("- Cannot") and "[[" not in line] == []
    for attacker in (
        "the file",
        "a token",
        "a poisoned web page",
        "a malicious agent",
        "a curious administrator",
    ):
        assert re.search(rf"^### .*{attacker}", attackers, re.M)


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
        str(page.relative_to(ROOT))
        for page in (*PAGES, *DEPLOYED)
        if place.search(page.read_text(encoding="utf-8"))
    ] == []
