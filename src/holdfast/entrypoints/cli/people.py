"""Commands for approvals: proposals, quarantined memories and undoing an actor."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.options import As, Data, Json
from holdfast.entrypoints.cli.session import opened

Id = Annotated[str, typer.Argument(metavar="ID", help="The proposal, as `holdfast proposals` lists it.")]

proposals = typer.Typer(help="Review pending approvals.", invoke_without_command=True)


@proposals.callback()
def list_proposals(
    context: typer.Context, as_json: Json = False, subject: As = None, data: Data = None
) -> None:
    """Review pending approvals."""
    if context.invoked_subcommand is not None:
        return
    from holdfast.vocabularies.people import PROPOSALS

    with opened(data, subject, "listing") as me:
        document = PROPOSALS.encode(me.people.proposals())
    if as_json:
        output.emit(document)
        return
    output.table(
        ("id", "requested by", "until", "call", "shown"),
        [
            (each["id"], each["proposer"], output.brief(each["expires_at"]), each["what"], each["shown"])
            for each in document["proposals"]
        ],
    )


@proposals.command("approve")
def approve(id: Id, as_json: Json = False, subject: As = None, data: Data = None) -> None:
    """Approve a proposal; it runs exactly as shown."""
    from holdfast.vocabularies.people import ANSWERED

    with opened(data, subject, "approving") as me:
        document = ANSWERED.encode(me.people.approve(id))
    if as_json:
        output.emit(document)
    else:
        output.say(f"Approved {document['what']}; it is done.")


@proposals.command("refuse")
def refuse(id: Id, as_json: Json = False, subject: As = None, data: Data = None) -> None:
    """Refuse a proposal; nothing happens."""
    from holdfast.vocabularies.people import ANSWERED

    with opened(data, subject, "refusing") as me:
        document = ANSWERED.encode(me.people.refuse(id))
    if as_json:
        output.emit(document)
    else:
        output.say(f"Refused {document['what']}.")


quarantine = typer.Typer(help="Review quarantined memories.", invoke_without_command=True)
Entry = Annotated[str, typer.Argument(metavar="ID", help="The memory, as `holdfast quarantine` lists it.")]


@quarantine.callback()
def list_quarantined(
    context: typer.Context, as_json: Json = False, subject: As = None, data: Data = None
) -> None:
    """Review quarantined memories."""
    if context.invoked_subcommand is not None:
        return
    from holdfast.vocabularies.entries import PAGE

    with opened(data, subject, "listing") as me:
        document = PAGE.encode(me.people.quarantine())
    if as_json:
        output.emit(document)
        return
    output.table(
        ("id", "key", "written by", "text"),
        [(each["id"], each["key"], each["provenance"]["by"], each["text"]) for each in document["entries"]],
    )


@quarantine.command("approve")
def approve_quarantined(id: Entry, as_json: Json = False, subject: As = None, data: Data = None) -> None:
    """Let models see a quarantined memory from now on."""
    from holdfast.vocabularies.entries import ENTRY

    with opened(data, subject, "approving") as me:
        document = ENTRY.encode(me.people.approve_quarantined(id))
    if as_json:
        output.emit(document)
    else:
        output.say(f"Approved {document['key']}; models can see it from now on.")


def undo_by(
    actor: Annotated[
        str, typer.Argument(metavar="ACTOR", help="kind:id, such as agent:helper, or a run's id.")
    ],
    since: Annotated[str, typer.Argument(metavar="SINCE", help="A time, such as 2026-05-08T14:00:00Z.")],
    apply: Annotated[
        bool, typer.Option("--apply", help="Reverse the changes; otherwise only show them.")
    ] = False,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Show, or with --apply reverse, everything an actor did since a time."""
    from holdfast.vocabularies.people import UNDONE

    with opened(data, subject, "undoing") as me:
        document = UNDONE.encode(me.people.undo_by(actor, since, apply=apply))
    if as_json:
        output.emit(document)
        return
    output.table(
        ("step", "key", "revision", "text"),
        [(each["step"], each["key"], each["revision"], each["text"]) for each in document["changes"]],
    )
    if document["changes"] and not apply:
        output.remark("Nothing was changed; use --apply to reverse these changes.")
    elif apply:
        output.remark(f"To reverse this: holdfast undo-by {document['run']} {document['since']} --apply")
