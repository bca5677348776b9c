"""The table of commands, as the command line itself has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.entrypoints.cli.commands import COMMANDS, built

EVERYWHERE = frozenset(("--json", "--as", "--data", "--help"))
"""What every command takes is said once, beside the table."""


def commands_table() -> Iterator[str]:
    yield "| command | does |"
    yield "|---|---|"
    for name, *_ in COMMANDS:
        yield from _rows(name, built(name))


def _rows(name: str, command: Any) -> Iterator[str]:
    inner = getattr(command, "commands", {})
    if not inner or command.invoke_without_command:
        words = [name, *(word for parameter in command.params if (word := _word(parameter)))]
        sentence = command.help.partition("\n")[0].rstrip()
        yield f"| `{_cell(' '.join(words))}` | {_cell(sentence)} |"
    for each, found in inner.items():
        yield from _rows(f"{name} {each}", found)


def _word(parameter: Any) -> str:
    """An argument as it is written, an option by its names."""
    if parameter.param_type_name == "argument":
        shown = (parameter.metavar or parameter.name).upper().strip("[]")
        return shown if parameter.required else f"[{shown}]"
    names = [name for name in parameter.opts if name.startswith("--")]
    shown = "/".join([*names, *parameter.secondary_opts])
    if EVERYWHERE.intersection(names):
        return ""
    return shown if parameter.required else f"[{shown}]"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
