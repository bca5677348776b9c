"""`python -m bench [--small] [NAME ...]`: all figures, or the named ones."""

from __future__ import annotations

import argparse
import logging
import os
import time
from importlib import import_module

from bench.measure import Options, tell

FIGURES = {
    "start": "importing the package, opening a file",
    "reads": "get by key against a bare point read",
    "cached": "an answer of a cached tool against a get by key",
    "writes": "durable writes against a bare loop of the same statements, and fsyncs",
    "safety": "what scrubbing, coaching and the audit log cost of a write; a context",
    "growth": "get and list in a small and in a large file",
    "erase": "what a purge costs",
    "recall": "how well recall finds, beside plain FTS5 and FTS5 with vectors by ranks",
    "recall_speed": "what recall costs, in small and large spaces, and the memory it takes",
    "postgres": "PostgreSQL against bare psycopg, LangGraph's store, and a small space in a large table",
    "duplicates": "which texts are taken for the same",
    "vocabularies": "the memory tool against the core calls it comes to; a search over fifty stores",
    "mirror": "a thousand files and their memories brought together, each way",
    "http": "the server against its framework answering a constant; its start, and that of the command line",
    "mcp": "a recall over MCP against the SDK's own echo, and how soon a stdio server greets",
}
"""Each names a module of this package whose `run(options)` gives its lines."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"  {name:12} {sentence}" for name, sentence in FIGURES.items()),
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="figures to measure; none means all")
    parser.add_argument("--small", action="store_true", help="a tenth of the large file, for a quick look")
    given = parser.parse_args()
    if unknown := set(given.names) - set(FIGURES):
        parser.error(f"no figure is called {', '.join(sorted(unknown))}")
    logging.getLogger("holdfast").setLevel(logging.ERROR)
    # Most figures are not about vectors and must not make them in the background; those that are name an embedder.
    os.environ["HOLDFAST_EMBEDDER"] = "none"
    for name in given.names or FIGURES:
        began = time.perf_counter()
        tell(name, import_module(f"bench.{name}").run(Options(small=given.small)))
        print(f"  ({time.perf_counter() - began:.0f} s)")


if __name__ == "__main__":
    main()
