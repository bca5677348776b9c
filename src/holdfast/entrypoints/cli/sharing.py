"""Commands for spaces and for access to them."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.options import As, Data, Json, Ttl, lifetime
from holdfast.entrypoints.cli.session import opened

Where = Annotated[str, typer.Argument(metavar="SPACE", help="A space by id, reference or kind:reference.")]
Grantee = Annotated[
    str, typer.Argument(metavar="GRANTEE", help="Who to share with, as kind:id (default kind: agent).")
]

spaces = typer.Typer(help="List your spaces, or create one to share.", invoke_without_command=True)


@spaces.callback()
def list_spaces(context: typer.Context, as_json: Json = False, subject: As = None, data: Data = None) -> None:
    """List your spaces, or create one to share."""
    if context.invoked_subcommand is not None:
        return
    from holdfast.vocabularies.answers import SPACES

    with opened(data, subject, "listing") as me:
        document = SPACES.encode(me.spaces())
    if as_json:
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
    ref: Annotated[str, typer.Argument(metavar="REF", help="Its name, for example team-notes.")],
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Create a space that you can share."""
    from holdfast.vocabularies.answers import SPACE

    with opened(data, subject, "creating a space") as me:
        document = SPACE.encode(me.create_space(ref))
    if as_json:
        output.emit(document)
    else:
        output.say(f"Created {document['kind']}:{document['ref']} ({document['id']}).")


def share(
    space: Where,
    grantee: Grantee,
    level: Annotated[str, typer.Option("--level", help="search, read, readwrite or manage.")] = "read",
    ttl: Ttl = None,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Share a space."""
    from holdfast.vocabularies.answers import GRANT

    with opened(data, subject, "sharing") as me:
        document = GRANT.encode(me.share(grantee, space=space, level=level, ttl=lifetime(ttl)))
    if as_json:
        output.emit(document)
        return
    until = f" until {output.brief(document['expires_at'])}" if document["expires_at"] else ""
    output.say(f"{document['grantee']} now has {document['level']} access to {space}{until}.")


def unshare(
    space: Where, grantee: Grantee, as_json: Json = False, subject: As = None, data: Data = None
) -> None:
    """Revoke a share, including shares made from it."""
    from holdfast.vocabularies.answers import UNSHARED

    with opened(data, subject, "revoking") as me:
        document = UNSHARED.encode(me.unshare(grantee, space=space))
    if as_json:
        output.emit(document)
    else:
        made_from_it = f", and {document['cascaded']} made from it" if document["cascaded"] else ""
        output.say(f"Revoked {output.counted(document['revoked'], 'grant')}{made_from_it}.")


def grants(space: Where, as_json: Json = False, subject: As = None, data: Data = None) -> None:
    """List who has access to a space."""
    from holdfast.vocabularies.answers import GRANTS

    with opened(data, subject, "listing") as me:
        document = GRANTS.encode(me.grants(space=space))
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
