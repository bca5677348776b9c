"""Commands for what waits for a person."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.entrypoints.cli import telling
from holdfast.entrypoints.cli.door import opened
from holdfast.entrypoints.cli.options import As, Data, Json

Id = Annotated[str, typer.Argument(metavar="ID", help="The proposal, as `holdfast proposals` lists it.")]

proposals = typer.Typer(help="List what waits for your yes, and answer it.", invoke_without_command=True)


@proposals.callback()
def list_proposals(
    context: typer.Context, as_json: Json = False, subject: As = None, data: Data = None
) -> None:
    """List what waits for your yes, and answer it."""
    if context.invoked_subcommand is not None:
        return
    from holdfast.surfaces.wire.people_calls import PROPOSED

    with opened(data, subject, "listing") as me:
        document = PROPOSED.show(me.people.proposals())
    if as_json:
        telling.emit(document)
        return
    telling.table(
        ("id", "asked by", "until", "what", "shown"),
        [
            (each["id"], each["proposer"], telling.brief(each["expires_at"]), each["what"], each["shown"])
            for each in document["proposals"]
        ],
    )


@proposals.command("approve")
def approve(id: Id, as_json: Json = False, subject: As = None, data: Data = None) -> None:
    """Say yes: it is done exactly as shown."""
    from holdfast.surfaces.wire.people_calls import ANSWERED

    with opened(data, subject, "approving") as me:
        document = ANSWERED.show(me.people.approve(id))
    if as_json:
        telling.emit(document)
    else:
        telling.say(f"Approved {document['what']}; it is done.")


@proposals.command("refuse")
def refuse(id: Id, as_json: Json = False, subject: As = None, data: Data = None) -> None:
    """Say no: nothing happens."""
    from holdfast.surfaces.wire.people_calls import ANSWERED

    with opened(data, subject, "refusing") as me:
        document = ANSWERED.show(me.people.refuse(id))
    if as_json:
        telling.emit(document)
    else:
        telling.say(f"Refused {document['what']}.")
