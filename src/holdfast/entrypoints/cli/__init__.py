"""The command line: `run` is what the `holdfast` command calls. One module for each group of commands; every command
imports what it needs when it runs, so that `holdfast --help` stays quick."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from holdfast import __version__
from holdfast.domain.errors import Backend, HoldfastError
from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.commands import Commands, ReaderGone
from holdfast.entrypoints.cli.options import Said

NO_OUTPUT = 1
INTERRUPTED = 130
BROKEN_PIPE = 141
"""What a shell says of a program that its reader left: 128 + SIGPIPE."""

app = typer.Typer(
    name="holdfast",
    cls=Commands,
    help="Encrypted, versioned, access-checked memory for AI agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"holdfast {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=show_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
) -> None:
    """What may stand before a command."""
    if debug and isinstance(context.obj, Said):
        context.obj.debug = True


def run(arguments: list[str]) -> int:
    """Exit code 0: good; 1: refused, with the error's code on standard error; 2: usage; 130: interrupted; 141: whoever
    read the output has gone. Where there is no output to begin with, nothing is done and nothing said."""
    if sys.stdout is None:
        return NO_OUTPUT
    if sys.stderr is None:
        # What is printed to None goes to standard output.
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    said = Said()
    # Boxes and colours are for a terminal; what goes into a pipe is plain.
    app.rich_markup_mode = "rich" if sys.stdout.isatty() else None
    _never_fail_to_encode()
    try:
        code = _carried_out(arguments or ["--help"], said)
        sys.stdout.flush()
    except (ReaderGone, BrokenPipeError):
        _leave_quietly()
        return BROKEN_PIPE
    except OSError as error:
        _leave_quietly()
        output.remark(f"{Backend.code}: The output cannot be written: {error}.")
        return 1
    return code


def _carried_out(arguments: list[str], said: Said) -> int:
    try:
        app(arguments, prog_name="holdfast", obj=said)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except ReaderGone:
        raise
    except HoldfastError as error:
        _refused(error.code, error.message, said)
    except Exception as error:
        hint = "" if said.debug else " (`holdfast --debug …` shows where it came from)"
        _refused(HoldfastError.code, f"{type(error).__name__}: {error}{hint}", said)
    return 1


def _refused(code: str, message: str, said: Said) -> None:
    if said.debug:
        import traceback

        traceback.print_exc()
    output.remark(f"{code}: {message}")
    if said.as_json:
        output.emit({"error": code, "message": message})


def _never_fail_to_encode() -> None:
    """A locale that lacks a letter of a memory gets its code instead."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _leave_quietly() -> None:
    """What is still in the buffer goes nowhere, instead of failing when the interpreter ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
