"""The command line: `run` is what the `holdfast` command calls. One module for each group of commands; every command
imports what it needs when it runs, so that `holdfast --help` stays quick."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from holdfast import __version__
from holdfast.domain.errors import HoldfastError
from holdfast.entrypoints.cli import model, store

app = typer.Typer(
    name="holdfast",
    help="Encrypted, versioned, access-checked memory for AI agents. Without a command: a Python prompt on the store.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(model.app, name="model")
app.command("migrate-store")(store.migrate_store)
app.add_typer(store.scale, name="scale")


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"holdfast {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """What may stand before a command."""


def run(arguments: list[str]) -> int:
    """Exit code 0: good; 1: refused, with the error's code on standard error; 2: not a command."""
    try:
        app(arguments, prog_name="holdfast")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except HoldfastError as error:
        print(f"{error.code}: {error.message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
