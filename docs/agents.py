"""The tables of docs/mcp-tools.md, from the tools table itself."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.entrypoints.cli.clients import CLIENTS
from holdfast.entrypoints.mcp.tools import NAMED, Tool


def tools_table() -> Iterator[str]:
    for surface in NAMED.values():
        yield f"\n### {surface.name}\n"
        yield "| tool | takes | hints | for a model |"
        yield "|---|---|---|---|"
        for tool in surface.tools:
            needed = tool.input_schema.get("required", ())
            takes = ", ".join(f"`{name}`" + ("" if name in needed else "?") for name in tool.offered)
            yield f"| `{tool.name}` | {takes} | {_hints(tool)} | {_cell(tool.sentence)} |"
        if surface.resources:
            yield "\n| resource | | |"
            yield "|---|---|---|"
            for resource in surface.resources:
                yield f"| `{resource.uri}` | {resource.media_type} | {_cell(resource.sentence)} |"
        if surface.prompts:
            yield "\n| prompt | takes | |"
            yield "|---|---|---|"
            for prompt in surface.prompts:
                takes = ", ".join(
                    f"`{each.name}`" + ("" if each.required else "?") for each in prompt.arguments
                )
                yield f"| `{prompt.name}` | {takes} | {_cell(prompt.sentence)} |"
    yield ""


def clients_table() -> Iterator[str]:
    yield "| `holdfast connect …` | program | file | under |"
    yield "|---|---|---|---|"
    places = {
        "claude-code": "`~/.claude.json`",
        "claude-desktop": "`Claude/claude_desktop_config.json` in the platform's folder of application settings",
        "cursor": "`~/.cursor/mcp.json`",
        "vscode": "`Code/User/mcp.json` in the platform's folder of application settings",
        "gemini": "`~/.gemini/settings.json`",
    }
    for client in CLIENTS.values():
        yield f"| `{client.name}` | {client.title} | {places[client.name]} | `{client.servers}` |"


def _hints(tool: Tool) -> str:
    if not tool.call.writes:
        return "reads"
    kinds = ["writes"]
    kinds += ["destructive"] if tool.destructive else []
    kinds += ["idempotent"] if tool.idempotent else []
    return ", ".join(kinds)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
