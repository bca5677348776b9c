"""Commands for spaces and for who may enter them."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.options import As, Data, Json, Ttl, lifetime
from holdfast.entrypoints.cli.session import opened

Where = Annotated[str, typer.Argument(metavar="SPACE", help="A space by id, reference or kind:reference.")]
Grantee = Annotated[str, typer.Argument(metavar="GRANTEE", help="Whom: kind:id; a bare id is an agent.")]

spaces = typer.Typer(
    help="List the spaces you can enter, or make one to be shared.", invoke_without_command=True
)


@spaces.callback()
def list_spaces(context: typer.Context, as_json: Json = False, subject: As = None, data: Data = None) -> None:
    """List the spaces you can enter, or make one to be shared."""
    if context.invoked_subcommand is not None:
        return
    from holdfast.vocabularies.wire.answers import SPACES

    with opened(data, subject, "listing") as me:
        document = SPACES.show(me.spaces())
    if as_json:
        output.emit(document)
        return
    output.table(
        ("space", "level", "because of", "id"),
        [
            (f"{space['kind']}:{space['ref']}", space["level"], space["source"], space["id"])
            for space in document["spaces"]
        ],
    )


@spaces.command("create")
def create_space(
    ref: Annotated[str, typer.Argument(metavar="REF", help="What to call it, for example team-notes.")],
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Make a space of your own that can be shared."""
    from holdfast.vocabularies.wire.answers import SPACE

    with opened(data, subject, "making a space") as me:
        document = SPACE.show(me.create_space(ref))
    if as_json:
        output.emit(document)
    else:
        output.say(f"Made {document['kind']}:{document['ref']} ({document['id']}).")


def share(
    space: Where,
    grantee: Grantee,
    level: Annotated[str, typer.Option("--level", help="search, read, readwrite or manage.")] = "read",
    ttl: Ttl = None,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Let somebody into a space."""
    from holdfast.vocabularies.wire.answers import GRANT

    with opened(data, subject, "sharing") as me:
        document = GRANT.show(me.share(grantee, space=space, level=level, ttl=lifetime(ttl)))
    if as_json:
        output.emit(document)
        return
    until = f" until {output.brief(document['expires_at'])}" if document["expires_at"] else ""
    output.say(f"{document['grantee']} has {document['level']} in {space}{until}.")


def unshare(
    space: Where, grantee: Grantee, as_json: Json = False, subject: As = None, data: Data = None
) -> None:
    """Take a share back, and every re-share that stood on it."""
    from holdfast.vocabularies.wire.answers import UNSHARED

    with opened(data, subject, "taking it back") as me:
        document = UNSHARED.show(me.unshare(grantee, space=space))
    if as_json:
        output.emit(document)
    else:
        output.say(f"Took back {document['revoked']} grants, and {document['cascaded']} that stood on them.")


def grants(space: Where, as_json: Json = False, subject: As = None, data: Data = None) -> None:
    """List who has been let into a space."""
    from holdfast.vocabularies.wire.answers import GRANTS

    with opened(data, subject, "listing") as me:
        document = GRANTS.show(me.grants(space=space))
    if as_json:
        output.emit(document)
        return
    output.table(
        ("grantee", "level", "granted by", "until"),
        [
            (grant["grantee"], grant["level"], grant["granted_by"], output.brief(grant["expires_at"]))
            for grant in document["grants"]
        ],
    )
