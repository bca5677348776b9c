"""What the page of a vocabulary shows works when it is pasted, and is answered as the page says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.test_documentation import DOCS, PYTHON, run

PAGES = ("facts", "tools", "stores", "files", "assistant")
SHELL = re.compile(r"^```sh\n(.*?)^```\n((?:\n```json\n.*?^```\n)*)", re.MULTILINE | re.DOTALL)
"""Commands, and the answers to the first of them, as far as the page shows them."""
JSON = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CAREFUL = """
set -eu
export PATH="{bin}:$PATH"
holdfast() {{ "{python}" -m holdfast "$@"; }}
curl() {{ command curl --fail-with-body "$@"; echo; }}
"""
"""A refusal ends the run; every answer has a line of its own."""
DIFFERS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z")
"""Ids and times."""


def text_of(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def shown(answer: str) -> Any:
    return json.loads(DIFFERS.sub("…", answer))


@pytest.mark.parametrize("page", [page for page in PAGES if PYTHON.search(text_of(page))])
def test_the_python_of_a_page_runs_from_top_to_bottom(page: str, tmp_path: Path) -> None:
    result = run("\n".join(PYTHON.findall(text_of(page))), tmp_path)
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if SHELL.search(text_of(page))])
def test_the_commands_of_a_page_run_and_are_answered_as_it_shows(page: str, server: dict[str, str]) -> None:
    careful = CAREFUL.format(bin=Path(sys.executable).parent, python=sys.executable)
    for commands, answers in SHELL.findall(text_of(page)):
        done = subprocess.run(
            ["bash", "-c", careful + commands],
            env=os.environ | server,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        expected = [shown(answer) for answer in JSON.findall(answers)]
        assert [shown(line) for line in done.stdout.splitlines()[: len(expected)]] == expected
