"""The options that every command takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
As = Annotated[
    str | None, typer.Option("--as", metavar="SUBJECT", help="Act as this user; default: HOLDFAST_SUBJECT.")
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="The data directory, with its `holdfast.toml`; default: HOLDFAST_DATA_DIR.",
    ),
]
