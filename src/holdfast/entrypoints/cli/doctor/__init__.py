"""`holdfast doctor`: diagnoses problems and suggests fixes, without changing anything. `checks` has the table."""

from __future__ import annotations

import typer

from holdfast.entrypoints.cli import output

COLOURS = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(context: typer.Context) -> None:
    """Diagnose problems and suggest fixes.

    Changes nothing. Each line: the state (ok, warn or fail), the finding, the remedy. Exit code 1 if one failed.
    """
    from holdfast.entrypoints.cli.doctor.checks import examine

    with output.status("examining"):
        found = examine(context.obj.data, context.obj.subject)
    good = all(one.state != "fail" for one in found)
    if context.obj.as_json:
        output.emit({"ok": good, "checks": [one._asdict() for one in found]})
    elif output.at_terminal():
        output.findings([(one.state, one.name, one.cause, one.remedy) for one in found], COLOURS)
    else:
        output.table((), found)
    if not good:
        raise typer.Exit(1)
