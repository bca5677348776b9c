"""Commands for spaces, access to them, and approvals: proposals, quarantined memories and undoing an actor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.options import Ttl, lifetime
from holdfast.entrypoints.cli.session import opened

if TYPE_CHECKING:
    from holdfast.vocabularies.fields import LevelName

Where = Annotated[str, typer.Argument(metavar="SPACE", help="A space by id, reference or kind:reference.")]
Grantee = Annotated[
    str, typer.Argument(metavar="GRANTEE", help="Who to share with, as kind:id (default kind: agent).")
]

spaces = typer.Typer(help="List your spaces, or create one to share.", invoke_without_command=True)


@spaces.callback()
def list_spaces(context: typer.Context) -> None:
    """List your spaces, or create one to share."""
    if context.invoked_subcommand is not None:
        return
    from holdfast.vocabularies.answers import SPACES

    with opened(context, "listing") as me:
        document = SPACES.encode(me.spaces())
    if context.obj.as_json:
        output.emit(document)
        return
    output.table(
        ("space", "level", "via", "id"),
        [
            (f"{space['kind']}:{space['ref']}", space["level"], space["source"], space["id"])
            for space in document["spaces"]
        ],
    )


@spaces.command("create")
def create_space(
    context: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="Its name, for example team-notes.")],
) -> None:
    """Create a space that you can share."""
    from holdfast.vocabularies.answers import SPACE

    with opened(context, "creating a space") as me:
        document = SPACE.encode(me.create_space(ref))
    if context.obj.as_json:
        output.emit(document)
    else:
        output.say(f"Created {document['kind']}:{document['ref']} ({document['id']}).")


def share(
    context: typer.Context,
    space: Where,
    grantee: Grantee,
    level: Annotated[str, typer.Option("--level", help="search, read, readwrite or manage.")] = "read",
    ttl: Ttl = None,
) -> None:
    """Share a space."""
    from holdfast.vocabularies.answers import GRANT

    with opened(context, "sharing") as me:
        document = GRANT.encode(
            me.share(grantee, space=space, level=cast("LevelName", level), ttl=lifetime(ttl))
        )
    if context.obj.as_json:
        output.emit(document)
        return
    until = f" until {output.brief(document['expires_at'])}" if document["expires_at"] else ""
    output.say(f"{document['grantee']} now has {document['level']} access to {space}{until}.")


def unshare(
    context: typer.Context,
    space: Where,
    grantee: Grantee,
) -> None:
    """Revoke a share, including shares made from it."""
    from holdfast.vocabularies.answers import UNSHARED

    with opened(context, "revoking") as me:
        document = UNSHARED.encode(me.unshare(grantee, space=space))
    if context.obj.as_json:
        output.emit(document)
    else:
        made_from_it = f", and {document['cascaded']} made from it" if document["cascaded"] else ""
        output.say(f"Revoked {output.counted(document['revoked'], 'grant')}{made_from_it}.")


def grants(context: typer.Context, space: Where) -> None:
    """List who has access to a space."""
    from holdfast.vocabularies.answers import GRANTS

    with opened(context, "listing") as me:
        document = GRANTS.encode(me.grants(space=space))
    if context.obj.as_json:
        output.emit(document)
        return
    output.table(
        ("grantee", "level", "granted by", "until"),
        [
            (grant["grantee"], grant["level"], grant["granted_by"], output.brief(grant["expires_at"]))
            for grant in document["grants"]
        ],
    )


Id = Annotated[str, typer.Argument(metavar="ID", help="The proposal, as `holdfast proposals` lists it.")]

proposals = typer.Typer(help="Review pending approvals.", invoke_without_command=True)


@proposals.callback()
def list_proposals(
    context: typer.Context,
) -> None:
    """Review pending approvals."""
    if context.invoked_subcommand is not None:
        return
    from holdfast.vocabularies.people import PROPOSALS

    with opened(context, "listing") as me:
        document = PROPOSALS.encode(me.people.proposals())
    if context.obj.as_json:
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
def approve(context: typer.Context, id: Id) -> None:
    """Approve a proposal; it runs exactly as shown."""
    from holdfast.vocabularies.people import ANSWERED

    with opened(context, "approving") as me:
        document = ANSWERED.encode(me.people.approve(id))
    if context.obj.as_json:
        output.emit(document)
    else:
        output.say(f"Approved {document['what']}; it is done.")


@proposals.command("refuse")
def refuse(context: typer.Context, id: Id) -> None:
    """Refuse a proposal; nothing happens."""
    from holdfast.vocabularies.people import ANSWERED

    with opened(context, "refusing") as me:
        document = ANSWERED.encode(me.people.refuse(id))
    if context.obj.as_json:
        output.emit(document)
    else:
        output.say(f"Refused {document['what']}.")


quarantine = typer.Typer(help="Review quarantined memories.", invoke_without_command=True)
Entry = Annotated[str, typer.Argument(metavar="ID", help="The memory, as `holdfast quarantine` lists it.")]


@quarantine.callback()
def list_quarantined(
    context: typer.Context,
) -> None:
    """Review quarantined memories."""
    if context.invoked_subcommand is not None:
        return
    from holdfast.vocabularies.entries import PAGE

    with opened(context, "listing") as me:
        document = PAGE.encode(me.people.quarantine())
    if context.obj.as_json:
        output.emit(document)
        return
    output.table(
        ("id", "key", "written by", "text"),
        [(each["id"], each["key"], each["provenance"]["by"], each["text"]) for each in document["entries"]],
    )


@quarantine.command("approve")
def approve_quarantined(context: typer.Context, id: Entry) -> None:
    """Let models see a quarantined memory from now on."""
    from holdfast.vocabularies.entries import ENTRY

    with opened(context, "approving") as me:
        document = ENTRY.encode(me.people.approve_quarantined(id))
    if context.obj.as_json:
        output.emit(document)
    else:
        output.say(f"Approved {document['key']}; models can see it from now on.")


def undo_by(
    context: typer.Context,
    actor: Annotated[
        str, typer.Argument(metavar="ACTOR", help="kind:id, such as agent:helper, or a run's id.")
    ],
    since: Annotated[str, typer.Argument(metavar="SINCE", help="A time, such as 2026-05-08T14:00:00Z.")],
    apply: Annotated[
        bool, typer.Option("--apply", help="Reverse the changes; otherwise only show them.")
    ] = False,
) -> None:
    """Show, or with --apply reverse, everything an actor did since a time."""
    from holdfast.vocabularies.people import UNDONE

    with opened(context, "undoing") as me:
        document = UNDONE.encode(me.people.undo_by(actor, since, apply=apply))
    if context.obj.as_json:
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
