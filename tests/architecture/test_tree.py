"""What a reader may expect of every file under src/holdfast, read from its text without importing it."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "holdfast"
SOURCES = sorted(PACKAGE.rglob("*.py"))

MOST_LINES = 500
EMPTY_NAMES = {"common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
DATABASE_DRIVERS = {"aiosqlite", "apsw", "asyncpg", "psycopg", "psycopg_pool", "sqlite3"}
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb"}
STATEMENT = re.compile(
    r"\s*(SELECT\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|REPLACE\s+INTO\s|WITH\s+\w+\s+AS\s*\("
    r"|(CREATE|ALTER|DROP)\s+(\w+\s+)?(TABLE|INDEX|TRIGGER|VIEW)\s|PRAGMA\s|SAVEPOINT\s|BEGIN\s+IMMEDIATE)"
)

Detector = Callable[[ast.Module], Iterator[int]]


def read_environment(module: ast.Module) -> Iterator[int]:
    """Lines that touch the process environment."""
    for node in ast.walk(module):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in ENVIRONMENT:
                yield node.lineno
            case ast.ImportFrom(module="os", names=names) if ENVIRONMENT & {each.name for each in names}:
                yield node.lineno


def print_calls(module: ast.Module) -> Iterator[int]:
    """Lines that print."""
    for node in ast.walk(module):
        match node:
            case ast.Call(func=ast.Name(id="print")):
                yield node.lineno


def sql_statements(module: ast.Module) -> Iterator[int]:
    """Lines with a string that is an SQL statement."""
    for node in ast.walk(module):
        match node:
            case ast.Constant(value=str(text)) if STATEMENT.match(text):
                yield node.lineno


def driver_imports(module: ast.Module) -> Iterator[int]:
    """Lines that import a database driver."""
    return imports_of(module, DATABASE_DRIVERS)


def numpy_imports(module: ast.Module) -> Iterator[int]:
    """Lines that import numpy."""
    return imports_of(module, {"numpy"})


def imports_of(module: ast.Module, packages: set[str]) -> Iterator[int]:
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                imported = {each.name for each in names}
            case ast.ImportFrom(module=str(name)):
                imported = {name}
            case _:
                continue
        if packages & {name.partition(".")[0] for name in imported}:
            yield node.lineno


def compiled_patterns(module: ast.Module) -> Iterator[int]:
    """Lines that compile a regular expression."""
    for node in ast.walk(module):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr="compile")):
                yield node.lineno


def findings(detect: Detector, *, outside: tuple[str, ...]) -> list[str]:
    """`file:line` of everything detected outside these files and folders of the package."""
    allowed = [PACKAGE / place for place in outside]
    return [
        f"{source.relative_to(ROOT)}:{line}"
        for source in SOURCES
        if not any(source.is_relative_to(place) for place in allowed)
        for line in detect(ast.parse(source.read_text(encoding="utf-8")))
    ]


def test_there_are_sources_to_look_at() -> None:
    assert SOURCES


def test_no_module_has_a_name_that_says_nothing() -> None:
    named = {
        source.relative_to(ROOT)
        for source in SOURCES
        if EMPTY_NAMES & {part.strip("_") for part in source.relative_to(PACKAGE).with_suffix("").parts}
    }
    assert named == set()


def test_every_module_opens_with_what_lives_in_it() -> None:
    silent = [
        str(source.relative_to(ROOT))
        for source in SOURCES
        if not ast.get_docstring(ast.parse(source.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_no_module_is_too_long_to_read() -> None:
    lengths = {
        str(source.relative_to(ROOT)): len(source.read_text(encoding="utf-8").splitlines())
        for source in SOURCES
    }
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_only_settings_reads_the_environment() -> None:
    assert findings(read_environment, outside=("settings.py",)) == []


def test_only_the_doors_print() -> None:
    assert findings(print_calls, outside=("entrypoints", "__main__.py")) == []


def test_only_storage_speaks_sql() -> None:
    assert findings(sql_statements, outside=("storage",)) == []


def test_only_storage_meets_a_database_driver() -> None:
    assert findings(driver_imports, outside=("storage",)) == []


def test_only_recall_computes_with_numpy() -> None:
    """Beside it only a codec, a typo table and a type know arrays; no operation and no vocabulary does."""
    outside = ("recall", "text/typos.py", "storage/vector_codec.py", "contracts/host.py")
    assert findings(numpy_imports, outside=outside) == []


def test_the_domain_validates_its_values_and_holds_no_catalogue_of_patterns() -> None:
    counts = {
        source.name: len(list(compiled_patterns(ast.parse(source.read_text(encoding="utf-8")))))
        for source in sorted((PACKAGE / "domain").glob("*.py"))
    }
    assert {name: count for name, count in counts.items() if count > 2} == {}


@pytest.mark.parametrize(
    ("detect", "source"),
    [
        (read_environment, "import os\nos.environ['HOLDFAST_URL']"),
        (read_environment, "import os\nos.getenv('HOLDFAST_URL')"),
        (read_environment, "from os import environ"),
        (print_calls, "print('x')"),
        (sql_statements, "execute('SELECT 1')"),
        (sql_statements, 'execute("""\n    INSERT OR IGNORE INTO spaces VALUES (?)""")'),
        (sql_statements, "execute(f'DELETE FROM {table}')"),
        (sql_statements, "execute('CREATE UNIQUE INDEX one ON entries(id)')"),
        (sql_statements, "execute('PRAGMA journal_mode = WAL')"),
        (driver_imports, "import apsw.ext"),
        (driver_imports, "from psycopg.rows import tuple_row"),
        (numpy_imports, "import numpy as np"),
        (numpy_imports, "def mean():\n    from numpy.typing import NDArray"),
        (compiled_patterns, "_WORD = re.compile('a')"),
    ],
)
def test_a_breach_is_noticed(detect: Detector, source: str) -> None:
    assert list(detect(ast.parse(source)))


@pytest.mark.parametrize(
    ("detect", "source"),
    [
        (read_environment, "settings.environ"),
        (print_calls, "fingerprint('x')"),
        (sql_statements, "'Select the space an agent may enter'"),
        (sql_statements, "'Update the entry and set its tags'"),
        (driver_imports, "from . import sqlite"),
        (numpy_imports, "from holdfast.recall import numpy_free"),
        (compiled_patterns, "compile('a', 'b', 'exec')"),
    ],
)
def test_ordinary_code_is_left_alone(detect: Detector, source: str) -> None:
    assert list(detect(ast.parse(source))) == []


def test_no_pattern_has_a_possessive_group() -> None:
    """Before Python 3.11.5 such a group matches wrongly where it could be matched in several ways."""
    possessive = re.compile(r"(?<!\()\)(?:[*+?]|\{[\d,%s]+\})\+|\(\?>|_LETTER\}[*+]\+")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if possessive.search(line)
    ]
    assert found == []
