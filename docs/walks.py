"""The table of walks for ADR 0019: the limits stand in tests/architecture/test_walks.py."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree import PROJECT

LIMITS = PROJECT.parent / "tests" / "architecture" / "test_walks.py"
WALKS = {
    "test_remember_in_python": ("`remember` in Python", "42 / 142", "26 / 90"),
    "test_remember_over_http": ("`remember` over HTTP", "74 / 351", "38 / 150"),
    "test_recall_over_http": ("`recall` over HTTP", "58 / 201", "34 / 150"),
    "test_remember_over_mcp": ("`remember` over MCP", "79 / 377", ""),
    "test_forget_all_on_the_command_line": ("`forget all` on the command line", "72 / 305", ""),
    "test_embedding_a_new_entry_in_the_background": ("embedding one entry", "27 / 83", ""),
}
"""The title of each walk by its test, its files and functions before the budgets, and the aim."""


def walks_table() -> Iterator[str]:
    yield "| walk | before: files / functions | aim | limit now | calls upward |"
    yield "|---|---|---|---|---|"
    limits = dict(_limits())
    for test, (title, before, aim) in WALKS.items():
        files, functions, upward = limits[test]
        yield f"| {title} | {before} | {aim} | {files} / {functions} | {upward} |"


def _limits() -> Iterator[tuple[str, list[int]]]:
    for test in ast.walk(ast.parse(LIMITS.read_text(encoding="utf-8"))):
        if isinstance(test, ast.FunctionDef) and test.name in WALKS:
            for node in ast.walk(test):
                match node:
                    case ast.Call(func=ast.Name(id="Budget"), args=numbers):
                        yield test.name, [ast.literal_eval(number) for number in numbers]
