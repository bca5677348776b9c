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
from holdfast.entrypoints.cli.options import GlobalOptions

NO_OUTPUT = 1
INTERRUPTED = 130
BROKEN_PIPE = 141
"""The exit code of a program whose output nobody reads any more: 128 + SIGPIPE."""

app = typer.Typer(
    name="holdfast",
    cls=Commands,
    help="Encrypted, versioned, access-checked memory for AI agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def show_version(requested: bool) -> None:
    if requested:
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
    """Reads the options in front of a command."""
    if debug and isinstance(context.obj, GlobalOptions):
        context.obj.debug = True


def run(arguments: list[str]) -> int:
    """Runs a command, if there is a standard output, and returns the exit code.

    0: good; 1: refused, with the error's code on standard error; 2: usage; 130: interrupted; 141: closed pipe."""
    if sys.stdout is None:
        return NO_OUTPUT
    if sys.stderr is None:
        # print(file=None) writes to standard output.
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    global_options = GlobalOptions()
    # Boxes and colours are for a terminal; what goes into a pipe is plain.
    app.rich_markup_mode = "rich" if sys.stdout.isatty() else None
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a locale may lack a letter of a memory
    try:
        code = _run_command(arguments or ["--help"], global_options)
        sys.stdout.flush()
    except (ReaderGone, BrokenPipeError):
        _discard_output()
        return BROKEN_PIPE
    except OSError as error:
        _discard_output()
        output.remark(f"{Backend.code}: The output cannot be written: {error}.")
        return 1
    return code


def _run_command(arguments: list[str], global_options: GlobalOptions) -> int:
    try:
        app(arguments, prog_name="holdfast", obj=global_options)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except ReaderGone:
        raise
    except HoldfastError as error:
        _show_error(error.code, error.message, global_options)
    except Exception as error:
        hint = "" if global_options.debug else " (`holdfast --debug …` shows where it came from)"
        _show_error(HoldfastError.code, f"{type(error).__name__}: {error}{hint}", global_options)
    return 1


def _show_error(code: str, message: str, global_options: GlobalOptions) -> None:
    if global_options.debug:
        import traceback

        traceback.print_exc()
    output.remark(f"{code}: {message}")
    if global_options.as_json:
        output.emit({"error": code, "message": message})


def _discard_output() -> None:
    """Keeps the buffer from failing when the interpreter flushes it at its end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
