"""The tree of the package for architecture.md, from the first sentence of each module, and its import layers."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import holdfast

PACKAGE = Path(holdfast.__file__).parent
PROJECT = PACKAGE.parents[1] / "pyproject.toml"
SENTENCE = re.compile(r".{20,}?[.!?](?=\s+[A-Z`(\[\"']|$)")
"""The first sentence, with the next one where it is as short as \"The writer.\"."""
TWINS = {"storage/postgres": "storage/sqlite"}
"""A folder whose files have the names and the work of those in another one."""


def layers_table() -> Iterator[str]:
    yield "```text"
    yield from _layers()
    yield "```"


def tree_table() -> Iterator[str]:
    """Every file with the first sentence of its docstring, folder by folder, from the top layer to the bottom."""
    yield "| file | |"
    yield "|---|---|"
    for path in _top_to_bottom():
        yield from _folder(path) if path.is_dir() else [f"| **`{path.name}`** | {_sentence(path)} |"]


def _layers() -> list[str]:
    config = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    layers: list[str] = config["tool"]["importlinter"]["contracts"][0]["layers"]
    return [layer.replace("(", "").replace(")", "") for layer in layers]


def _top_to_bottom() -> Iterator[Path]:
    yield PACKAGE / "__init__.py"
    for layer in _layers():
        for name in layer.split(" | "):
            yield from (path for path in (PACKAGE / name, PACKAGE / f"{name}.py") if path.exists())


def _folder(folder: Path) -> Iterator[str]:
    name = folder.relative_to(PACKAGE).as_posix()
    yield f"| **`{name}/`** | {_sentence(folder / '__init__.py')} |"
    twin = PACKAGE / TWINS[name] if name in TWINS else None
    files = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    if twin is not None:
        alike = [path for path in files if (twin / path.name).exists()]
        names = ", ".join(f"`{path.name}`" for path in alike)
        yield f"| {names} | As in `{TWINS[name]}/`. |"
        files = [path for path in files if path not in alike]
    for path in files:
        yield f"| `{path.name}` | {_sentence(path)} |"
    for inner in sorted(path.parent for path in folder.glob("*/__init__.py")):
        yield from _folder(inner)


def _sentence(path: Path) -> str:
    opening = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(opening.partition("\n\n")[0].split())
    found = SENTENCE.match(paragraph)
    return (found[0] if found else paragraph).replace("|", "\\|")
