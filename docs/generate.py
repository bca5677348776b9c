"""Writes the generated tables of the documentation, between their markers; `--check` only says which are stale.

<!-- generated: errors -->
…
<!-- end -->
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import GenericAlias
from typing import Any

from agents import clients_table, tools_table
from cluster import store_wide_table, unpartitioned_table
from commands import commands_table
from server import limits_table, reasons_table, routes_table, welcome
from tree import layers_table, tree_table
from walks import walks_table

import holdfast
from holdfast.domain.errors import family
from holdfast.entrypoints import facade
from holdfast.entrypoints.python import memory as python
from holdfast.entrypoints.python import tool_context
from holdfast.entrypoints.python.maintenance import Audit, Keys
from holdfast.settings import PREFIX, TABLE

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

FACADES: dict[str, tuple[str, type]] = {
    "memory": ("memory", python.Memory),
    "own": ("alice", facade.Own),
    "facts": ("alice.facts", facade.Facts),
    "assistant": ("alice.assistant", facade.Assistant),
    "people": ("alice.people", facade.People),
    "stores": ("helper.stores", facade.Stores),
    "files": ("alice.files", facade.Files),
    "corpus": ("alice.corpus", facade.Corpus),
    "agents": ("alice.agents", facade.Agents),
    "kv": ("helper.kv", facade.Kv),
    "anthropic": ("helper.anthropic", facade.AnthropicMemory),
    "handle": ("handle", tool_context.Handle),
    "administration": ("admin", facade.Administration),
    "keys": ("memory.keys", Keys),
    "audit": ("memory.audit", Audit),
}

SENTENCES = {
    "holdfast.aopen": "`holdfast.open`, awaited; its calls are awaited too.",
    "Memory.close": "Finishes what was submitted, then lets go of the file. A `with` block does it.",
    "Memory.enabled": "Whether memory is on.",
    "Memory.keys": "Maintenance of keys, see below.",
    "Handle.namespace": "`subject` or `subject:session`, for show.",
    "Keys.status": "The id of the master key, data keys that other masters still wrap, and uses of the most used one.",
}
"""For the few members whose docstring is missing or speaks of an inner name."""

NAMES = {
    "Cache": "How long the answers of a tool are kept.",
    "Advice": "One concern about a text: a `code` and a `message`.",
    "Level": "The level of a grant: search, read, readwrite or manage; `level.label` is the `LevelName`.",
    "LevelName": "The levels as calls take them: `search`, `read`, `readwrite`, `manage`.",
    "Partition": "The part of a space that an entry is in; `partition.label` is the `PartitionName`.",
    "PartitionName": "The partitions as `list` takes them: `notes`, `facts`, `stores`, `files`, `assistant`.",
    "Principal": "A user, an agent or a service: `kind` and `id`.",
    "SourceName": "The sources that `remember` takes: `tool`, `import`.",
    "aopen": "`open`, awaited.",
    "errors": "The module of all error classes, one for each code.",
}
"""For public names that have no docstring, or one for those who read the code."""


def errors_table() -> Iterator[str]:
    yield "| status | code | class | default message |"
    yield "|---|---|---|---|"
    for code, error in sorted(family().items(), key=lambda item: (item[1].status, item[0])):
        yield f"| {error.status} | `{code}` | `{error.__name__}` | {cell(error().message)} |"


def settings_table() -> Iterator[str]:
    yield "| environment | in `holdfast.toml` | default | unit | meaning |"
    yield "|---|---|---|---|---|"
    for name, default, unit, sentence in TABLE:
        shown = "unset" if default in (None, "") else f"`{default}`"
        yield f"| `{PREFIX}{name}` | `{name.lower()}` | {shown} | {unit} | {cell(sentence)} |"


def open_table() -> Iterator[str]:
    calls = {"holdfast.open": python.open, "holdfast.aopen": python.aopen}
    yield from table([(call, name, name) for name, call in calls.items()])


def names_table() -> Iterator[str]:
    yield "| `holdfast.…` | |"
    yield "|---|---|"
    for name in holdfast.__all__:
        described = NAMES.get(name) or inspect.getdoc(getattr(holdfast, name)) or ""
        sentence = " ".join(described.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")
        yield f"| `{name}` | {cell(sentence)}. |"


def calls_table(variable: str, kind: type) -> Iterator[str]:
    named = [(getattr(kind, name), f"{variable}.{name}", f"{kind.__name__}.{name}") for name in public(kind)]
    yield from table(named)


def table(rows: list[tuple[Any, str, str]]) -> Iterator[str]:
    yield "| call | answers | |"
    yield "|---|---|---|"
    for member, shown, name in rows:
        described = SENTENCES.get(name) or inspect.getdoc(member) or ""
        sentence = " ".join(described.partition("\n\n")[0].split())
        if isinstance(member, property):
            assert member.fget is not None
            yield f"| `{shown}` | `{cell(answer(member.fget))}` | {cell(sentence)} |"
        else:
            yield f"| `{cell(shown + parameters(member))}` | `{cell(answer(member))}` | {cell(sentence)} |"


def public(kind: type) -> list[str]:
    """Names a caller may use, inherited ones last, in the order of the source."""
    names = [name for base in kind.__mro__[:-1] for name in vars(base)]
    return list(dict.fromkeys(name for name in names if not name.startswith("_")))


def parameters(call: Callable[..., Any]) -> str:
    """The parameters as the source spells them; what an interface binds itself is left out."""
    shown, starred = [], False
    for parameter in inspect.signature(call).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
            starred = True
        default = parameter.default
        text = f"{parameter.name}: {parameter.annotation}"
        if default is not parameter.empty:
            text += f" = {getattr(default, '__name__', None) or repr(default)}"
        shown.append(text)
    return f"({', '.join(shown)})"


def answer(call: Callable[..., Any]) -> str:
    """The type of the answer."""
    name = str(inspect.signature(call).return_annotation)
    alias = inspect.unwrap(call).__globals__.get(name)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", str(alias)) if isinstance(alias, GenericAlias) else name


def cell(text: str) -> str:
    return text.replace("|", "\\|")


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "errors": errors_table,
    "settings": settings_table,
    "open": open_table,
    "names": names_table,
    "commands": commands_table,
    "routes": routes_table,
    "reasons": reasons_table,
    "limits": limits_table,
    "welcome": welcome,
    "tools": tools_table,
    "clients": clients_table,
    "unpartitioned": unpartitioned_table,
    "store-wide": store_wide_table,
    "layers": layers_table,
    "tree": tree_table,
    "walks": walks_table,
    **{name: lambda row=row: calls_table(*row) for name, row in FACADES.items()},  # type: ignore[misc]
}


def rewritten(text: str) -> str:
    def block(match: re.Match[str]) -> str:
        return f"{match[1]}{chr(10).join(TABLES[match['name']]())}\n{match[3]}"

    return BLOCK.sub(block, text)


def main() -> int:
    stale = {}
    for page in (*sorted(DOCS.rglob("*.md")), *DOCS.parent.glob("README.md")):
        text = page.read_text(encoding="utf-8")
        if (fresh := rewritten(text)) != text:
            stale[page] = fresh
    if "--check" in sys.argv[1:]:
        for page in stale:
            print(f"{page.relative_to(DOCS.parent)} is stale; run `make docs`")
        return 1 if stale else 0
    for page, fresh in stale.items():
        page.write_text(fresh, encoding="utf-8")
        print(f"wrote {page.relative_to(DOCS.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
