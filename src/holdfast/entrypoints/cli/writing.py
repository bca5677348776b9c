"""Commands that write memories, change them and take them away."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Annotated, Any

import typer

from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.options import (
    As,
    Category,
    Data,
    Hint,
    Id,
    Json,
    Key,
    Space,
    Tags,
    Ttl,
    lifetime,
    moment,
    target,
    text_of,
)
from holdfast.entrypoints.cli.session import opened


def remember(
    text: Annotated[str, typer.Argument(help="What to remember; `-` reads standard input.")],
    key: Annotated[
        str | None, typer.Option("--key", help="Its name; the same one again makes a revision.")
    ] = None,
    hint: Hint = None,
    category: Category = None,
    tags: Tags = None,
    ttl: Ttl = None,
    pin: Annotated[bool, typer.Option("--pin", help="Every context holds it (always_inject).")] = False,
    space: Space = None,
    supersedes: Annotated[
        str | None,
        typer.Option("--supersedes", metavar="ID", help="A memory that goes to the trash with this write."),
    ] = None,
    speaker: Annotated[str | None, typer.Option("--speaker", help="Who said it.")] = None,
    conversation: Annotated[str | None, typer.Option("--conversation", help="Where it was said.")] = None,
    at: Annotated[
        datetime | None, typer.Option("--at", metavar="TIME", help="When it was said.", parser=moment)
    ] = None,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Keep a memory; the same key again adds a revision."""
    from holdfast.vocabularies.wire.answers import REMEMBERED

    said = text_of(text)
    with opened(data, subject, "remembering") as me:
        kept = me.remember(
            said,
            key=key,
            hint=hint,
            category=category,
            tags=tags or None,
            ttl=lifetime(ttl),
            always_inject=pin or None,
            space=space,
            supersedes=supersedes,
            speaker=speaker,
            conversation=conversation,
            at=at,
        )
        document = REMEMBERED.show(kept)
    if as_json:
        output.emit(document)
        return
    if not document["persisted"]:
        output.say(f"Nothing was kept: {document.get('note')}")
        return
    output.say(
        f"{'Remembered' if document['created'] else 'Changed'} {document['key']} (revision {document['revision']}"
        f"{', until ' + output.brief(document['expires_at']) if document['expires_at'] else ''})."
    )
    _remarked(document)
    for near in document["similar"]:
        output.remark(f"{near['key']} says nearly the same: {near['text']}")


def edit(
    key: Key = None,
    text: Annotated[
        str | None, typer.Option("--text", help="The new text; `-` reads standard input.")
    ] = None,
    hint: Hint = None,
    category: Category = None,
    tags: Tags = None,
    ttl: Ttl = None,
    no_expiry: Annotated[bool, typer.Option("--no-expiry", help="It does not expire any more.")] = False,
    pin: Annotated[
        bool | None, typer.Option("--pin/--no-pin", help="Whether every context holds it.")
    ] = None,
    id: Id = None,
    space: Space = None,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Change fields of a memory; what is left out stays."""
    from holdfast.vocabularies.wire.answers import EDITED

    meant = target(key, id, space)
    changes: dict[str, Any] = {
        "text": None if text is None else text_of(text),
        "hint": hint,
        "category": category,
        "tags": tags or None,
        "ttl": lifetime(ttl),
        "always_inject": pin,
    }
    if not no_expiry and all(change is None for change in changes.values()):
        raise typer.BadParameter(
            "Say what to change: --text, --hint, --category, --tag, --ttl, --no-expiry or --pin."
        )
    with opened(data, subject, "changing") as me:
        document = EDITED.show(me.edit(**meant, **changes, no_expiry=no_expiry))
    if as_json:
        output.emit(document)
        return
    output.say(f"Changed {document['key']} (revision {document['revision']}).")
    _remarked(document)


def _remarked(document: dict[str, Any]) -> None:
    """What was taken out of the words, and what is doubtful about them."""
    if found := document.get("redactions"):
        kinds = ", ".join(f"{count} {kind}" for kind, count in found.items())
        output.remark(f"Secrets were taken out before it was kept: {kinds}.")
    for advice in document.get("advice", ()):
        output.remark(advice["message"])


def rename(
    key: Annotated[str, typer.Argument(help="The memory's key.")],
    new_key: Annotated[str, typer.Argument(metavar="NEW", help="Its new key.")],
    space: Space = None,
    to_space: Annotated[str | None, typer.Option("--to-space", help="Another space to move it to.")] = None,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Give a memory another key, with all its history."""
    with opened(data, subject, "renaming") as me:
        entry = me.rename(key, new_key=new_key, space=space, to_space=to_space)
    _told(entry, f"Renamed {key} to", as_json)


def undo(
    key: Key = None,
    to_revision: Annotated[
        int | None, typer.Option("--to-revision", metavar="N", min=0, help="Bring back this one.")
    ] = None,
    id: Id = None,
    space: Space = None,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Take the last change back, or go to a given revision."""
    meant = target(key, id, space)
    with opened(data, subject, "undoing") as me:
        entry = me.undo(**meant, to_revision=to_revision)
    _told(entry, "Brought back", as_json)


def restore(
    key: Key = None,
    id: Id = None,
    space: Space = None,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Bring a memory back from the trash."""
    meant = target(key, id, space)
    with opened(data, subject, "restoring") as me:
        entry = me.restore(**meant)
    _told(entry, "Restored", as_json)


def delete(
    key: Key = None,
    purge: Annotated[
        bool, typer.Option("--purge", help="For good, with its history, instead of the trash.")
    ] = False,
    id: Id = None,
    space: Space = None,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Put a memory into the trash for 30 days, or purge it."""
    meant = target(key, id, space)
    with opened(data, subject, "deleting") as me:
        if not purge:
            entry = me.trash(**meant)
        else:
            deleted = me.purge(**meant)
    if not purge:
        _told(entry, "In the trash:", as_json)
    elif as_json:
        output.emit({"deleted": deleted})
    else:
        output.say(f"Purged {key or id}.")


def forget(
    scope: Annotated[
        str, typer.Argument(help="`all`, `key:K`, `id:ID`, `pack:ID`, `pipeline:ID`, `packs` or `pipelines`.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before `all`.")] = False,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Forget for good, every byte; asks before `all`."""
    from holdfast.domain.scope import Everything, parse_scope
    from holdfast.vocabularies.wire.answers import FORGOTTEN

    if isinstance(parse_scope(scope), Everything) and not yes:
        _ask_first()
    with opened(data, subject, "forgetting") as me:
        document = FORGOTTEN.show(me.forget(scope))
    if as_json:
        output.emit(document)
        return
    output.say(f"Forgot {document['deleted']} memories.")
    if document["kept_elsewhere"]:
        output.remark(f"{document['kept_elsewhere']} of yours stay in spaces of others.")
    output.remark(document.get("note"))


def _ask_first() -> None:
    from holdfast.domain.errors import ConfirmationRequired

    if sys.stdin is None or not sys.stdin.isatty():
        raise ConfirmationRequired("This forgets everything, and nobody is there to ask; say --yes.")
    if not typer.confirm("Forget everything of yours, for good?", err=True):
        raise ConfirmationRequired("Nothing was forgotten.")


def _told(entry: Any, what: str, as_json: bool) -> None:
    from holdfast.vocabularies.wire.entries import ENTRY

    document = ENTRY.show(entry)
    if as_json:
        output.emit(document)
    else:
        output.say(f"{what} {document['key']} (revision {document['revision']}).")
