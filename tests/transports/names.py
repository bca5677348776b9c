"""The transports and how each is reached."""

from functools import partial

from tests.behaviours.interface import AWAITED
from tests.transports.agents import Connect
from tests.transports.piped import Piped, Processes
from tests.transports.sessions import Sessions

MODERN, HANDSHAKE = "2026-07-28", "legacy"
CLI = "cli"
OVER_HTTP: dict[str, Connect] = {
    "mcp": partial(Sessions, era=MODERN),
    "mcp, handshake": partial(Sessions, era=HANDSHAKE),
}
"""The SDK's client calls tools: each call by itself, or in a session that begins with a handshake."""
OVER_STDIO: dict[str, Connect] = {
    "mcp, stdio": partial(Piped, era=MODERN),
    "mcp, stdio, handshake": partial(Piped, era=HANDSHAKE),
}
STARTED: dict[str, Connect] = {
    "mcp, command": partial(Processes, era=MODERN),
    "mcp, command, handshake": partial(Processes, era=HANDSHAKE),
}
"""The command `holdfast mcp`, which takes half a second to start."""
TALKED = OVER_HTTP | OVER_STDIO | STARTED
AGENTS = (*OVER_HTTP, *OVER_STDIO)
"""The transports of models that cost little."""
TRANSPORTS = (AWAITED, CLI, *AGENTS)
