"""Commands for what waits for a person."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.options import As, Data, Json
from holdfast.entrypoints.cli.session import opened

Id = Annotated[str, typer.Argument(metavar="ID", help="The proposal, as `holdfast proposals` lists it.")]

proposals = typer.Typer(help="List what waits for your yes, and answer it.", invoke_without_command=True)


@proposals.callback()
def list_proposals(
    context: typer.Context, as_json: Json = False, subject: As = None, data: Data = None
) -> None:
    """List what waits for your yes, and answer it."""
    if context.invoked_subcommand is not None:
        return
    from holdfast.vocabularies.wire.people_calls import PROPOSED

    with opened(data, subject, "listing") as me:
        document = PROPOSED.show(me.people.proposals())
    if as_json:
        output.emit(document)
        return
    output.table(
        ("id", "asked by", "until", "what", "shown"),
        [
            (each["id"], each["proposer"], output.brief(each["expires_at"]), each["what"], each["shown"])
            for each in document["proposals"]
        ],
    )


@proposals.command("approve")
def approve(id: Id, as_json: Json = False, subject: As = None, data: Data = None) -> None:
    """Say yes: it is done exactly as shown."""
    from holdfast.vocabularies.wire.people_calls import ANSWERED

    with opened(data, subject, "approving") as me:
        document = ANSWERED.show(me.people.approve(id))
    if as_json:
        output.emit(document)
    else:
        output.say(f"Approved {document['what']}; it is done.")


@proposals.command("refuse")
def refuse(id: Id, as_json: Json = False, subject: As = None, data: Data = None) -> None:
    """Say no: nothing happens."""
    from holdfast.vocabularies.wire.people_calls import ANSWERED

    with opened(data, subject, "refusing") as me:
        document = ANSWERED.show(me.people.refuse(id))
    if as_json:
        output.emit(document)
    else:
        output.say(f"Refused {document['what']}.")


quarantine = typer.Typer(help="List what is kept from models, and approve it.", invoke_without_command=True)
Entry = Annotated[str, typer.Argument(metavar="ID", help="The memory, as `holdfast quarantine` lists it.")]


@quarantine.callback()
def list_quarantined(
    context: typer.Context, as_json: Json = False, subject: As = None, data: Data = None
) -> None:
    """List what is kept from models, and approve it."""
    if context.invoked_subcommand is not None:
        return
    from holdfast.vocabularies.wire.entries import PAGE

    with opened(data, subject, "listing") as me:
        document = PAGE.show(me.people.quarantine())
    if as_json:
        output.emit(document)
        return
    output.table(
        ("id", "key", "written by", "text"),
        [(each["id"], each["key"], each["provenance"]["by"], each["text"]) for each in document["entries"]],
    )


@quarantine.command("approve")
def approve_quarantined(id: Entry, as_json: Json = False, subject: As = None, data: Data = None) -> None:
    """Let models see it from now on."""
    from holdfast.vocabularies.wire.entries import ENTRY

    with opened(data, subject, "approving") as me:
        document = ENTRY.show(me.people.approve_quarantined(id))
    if as_json:
        output.emit(document)
    else:
        output.say(f"Approved {document['key']}; models see it from now on.")


def undo_by(
    actor: Annotated[
        str, typer.Argument(metavar="ACTOR", help="kind:id, such as agent:helper, or a run's id.")
    ],
    since: Annotated[str, typer.Argument(metavar="SINCE", help="A time, such as 2026-05-08T14:00:00Z.")],
    apply: Annotated[bool, typer.Option("--apply", help="Reverse it; otherwise it is only shown.")] = False,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Show, or with --apply reverse, everything an actor did since a time."""
    from holdfast.vocabularies.wire.people_calls import UNDONE

    with opened(data, subject, "undoing") as me:
        document = UNDONE.show(me.people.undo_by(actor, since, apply=apply))
    if as_json:
        output.emit(document)
        return
    output.table(
        ("step", "key", "revision", "text"),
        [(each["step"], each["key"], each["revision"], each["text"]) for each in document["changes"]],
    )
    if document["changes"] and not apply:
        output.remark("Nothing was changed; --apply does it.")
    elif apply:
        output.remark(f"To take it back: holdfast undo-by {document['run']} {document['since']} --apply")
