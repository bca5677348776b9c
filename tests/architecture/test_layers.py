"""Who may import whom: the contracts of pyproject.toml hold, and they would notice a breach."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"fastapi", "mcp", "numpy", "onnxruntime", "psycopg", "typer"}
LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True, no_logo=True))"


def lint_imports(project: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of the project that lies in this folder, whatever else is installed."""
    return subprocess.run(
        [sys.executable, "-c", LINT],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def listed_modules() -> list[str]:
    """Every module that a contract names: layers, doors and backends."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    return [
        f"{container}.{name.strip(' ()')}".strip(".")
        for contract in config["contracts"]
        for container in contract.get("containers", [""])
        for layer in contract["layers"]
        for name in layer.split("|")
    ]


@pytest.fixture
def empty_project(tmp_path: Path) -> Path:
    """Our own contracts over a package where every listed module exists and is empty."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for module in ["holdfast", *listed_modules()]:
        folder = tmp_path.joinpath("src", *module.split("."))
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    return tmp_path


def test_the_tree_keeps_its_import_contracts() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_package_with_every_layer_keeps_the_contracts(empty_project: Path) -> None:
    result = lint_imports(empty_project)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("domain", "holdfast.settings"),
        ("contracts", "holdfast.storage"),
        ("operations", "holdfast.vocabularies"),
        ("vocabularies", "holdfast.entrypoints"),
        ("entrypoints", "holdfast.adapters"),
        ("entrypoints/http", "holdfast.entrypoints.mcp"),
        ("entrypoints/mirror", "holdfast.entrypoints.web"),
        ("storage/sqlite", "holdfast.storage.postgres"),
        ("storage/postgres", "holdfast.storage.sqlite"),
    ],
)
def test_a_forbidden_import_breaks_a_contract(empty_project: Path, importer: str, imported: str) -> None:
    module = empty_project / "src" / "holdfast" / importer / "__init__.py"
    module.write_text(f"import {imported}\n", encoding="utf-8")
    result = lint_imports(empty_project)
    assert result.returncode == 1
    assert "BROKEN" in result.stdout


def test_a_module_outside_the_layers_breaks_a_contract(empty_project: Path) -> None:
    (empty_project / "src" / "holdfast" / "sundries.py").touch()
    result = lint_imports(empty_project)
    assert result.returncode == 1
    assert "sundries" in result.stdout


def test_importing_holdfast_loads_nothing_heavy() -> None:
    program = "import sys, holdfast; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(result.stdout.split())
    assert "holdfast" in loaded
    assert loaded & HEAVY == set()
