"""Commands that write, change and delete memories."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Annotated, Any

import typer

from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.options import (
    Category,
    Hint,
    Id,
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
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="What to remember; `-` reads standard input.")],
    key: Annotated[str | None, typer.Option("--key", help="Key; reusing it adds a revision.")] = None,
    hint: Hint = None,
    category: Category = None,
    tags: Tags = None,
    ttl: Ttl = None,
    pin: Annotated[bool, typer.Option("--pin", help="Pin: include in every context.")] = False,
    space: Space = None,
    supersedes: Annotated[
        str | None,
        typer.Option(
            "--supersedes", metavar="ID", help="An outdated memory this one replaces (moves to the trash)."
        ),
    ] = None,
    speaker: Annotated[str | None, typer.Option("--speaker", help="Who said it.")] = None,
    conversation: Annotated[str | None, typer.Option("--conversation", help="Where it was said.")] = None,
    at: Annotated[
        datetime | None, typer.Option("--at", metavar="TIME", help="When it was said.", parser=moment)
    ] = None,
) -> None:
    """Save a memory. Reusing a key adds a revision."""
    from holdfast.vocabularies.answers import REMEMBERED

    content = text_of(text)
    with opened(context, "remembering") as me:
        kept = me.remember(
            content,
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
            similar=True,
        )
        document = REMEMBERED.encode(kept)
    if context.obj.as_json:
        output.emit(document)
        return
    if not document["persisted"]:
        output.say(f"Nothing was saved: {document.get('note')}")
        return
    output.say(
        f"{'Remembered' if document['created'] else 'Changed'} {document['key']} (revision {document['revision']}"
        f"{', until ' + output.brief(document['expires_at']) if document['expires_at'] else ''})."
    )
    _remark_on(document)
    for near in document["similar"]:
        output.remark(f"Similar memory: {near['key']} {near['text']}")


def edit(
    context: typer.Context,
    key: Key = None,
    text: Annotated[
        str | None, typer.Option("--text", help="The new text; `-` reads standard input.")
    ] = None,
    hint: Hint = None,
    category: Category = None,
    tags: Tags = None,
    ttl: Ttl = None,
    no_expiry: Annotated[bool, typer.Option("--no-expiry", help="Never expires.")] = False,
    pin: Annotated[
        bool | None, typer.Option("--pin/--no-pin", help="Include in every context, or not.")
    ] = None,
    id: Id = None,
    space: Space = None,
) -> None:
    """Edit a memory; omitted fields are unchanged."""
    from holdfast.vocabularies.answers import EDITED

    memory = target(key, id, space)
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
            "Name a change: --text, --hint, --category, --tag, --ttl, --no-expiry or --pin."
        )
    with opened(context, "changing") as me:
        document = EDITED.encode(me.edit(**memory, **changes, no_expiry=no_expiry))
    if context.obj.as_json:
        output.emit(document)
        return
    output.say(f"Changed {document['key']} (revision {document['revision']}).")
    _remark_on(document)


def _remark_on(document: dict[str, Any]) -> None:
    """Prints redactions and advice."""
    if found := document.get("redactions"):
        kinds = ", ".join(f"{count} {kind}" for kind, count in found.items())
        output.remark(f"Secrets were removed before saving: {kinds}.")
    for advice in document.get("advice", ()):
        output.remark(advice["message"])


def rename(
    context: typer.Context,
    key: Annotated[str, typer.Argument(help="The memory's key.")],
    new_key: Annotated[str, typer.Argument(metavar="NEW", help="Its new key.")],
    space: Space = None,
    to_space: Annotated[str | None, typer.Option("--to-space", help="Another space to move it to.")] = None,
) -> None:
    """Rename a memory and keep its history."""
    with opened(context, "renaming") as me:
        entry = me.rename(key, new_key=new_key, space=space, to_space=to_space)
    _show_entry(entry, f"Renamed {key} to", context.obj.as_json)


def undo(
    context: typer.Context,
    key: Key = None,
    to_revision: Annotated[
        int | None, typer.Option("--to-revision", metavar="N", min=0, help="The revision to restore.")
    ] = None,
    id: Id = None,
    space: Space = None,
) -> None:
    """Undo the last change, or restore a revision."""
    memory = target(key, id, space)
    with opened(context, "undoing") as me:
        entry = me.undo(**memory, to_revision=to_revision)
    _show_entry(entry, "Restored", context.obj.as_json)


def restore(
    context: typer.Context,
    key: Key = None,
    id: Id = None,
    space: Space = None,
) -> None:
    """Restore a memory from the trash."""
    memory = target(key, id, space)
    with opened(context, "restoring") as me:
        entry = me.restore(**memory)
    _show_entry(entry, "Restored", context.obj.as_json)


def delete(
    context: typer.Context,
    key: Key = None,
    purge: Annotated[bool, typer.Option("--purge", help="Erase it with its history instead.")] = False,
    id: Id = None,
    space: Space = None,
) -> None:
    """Move a memory to the trash (30 days), or erase it with --purge."""
    memory = target(key, id, space)
    with opened(context, "deleting") as me:
        if not purge:
            entry = me.trash(**memory)
        else:
            deleted = me.purge(**memory)
    if not purge:
        _show_entry(entry, "Moved to the trash:", context.obj.as_json)
    elif context.obj.as_json:
        output.emit({"deleted": deleted})
    else:
        output.say(f"Erased {key or id}.")


def forget(
    context: typer.Context,
    scope: Annotated[
        str, typer.Argument(help="`all`, `key:K`, `id:ID`, `pack:ID`, `pipeline:ID`, `packs` or `pipelines`.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before `all`.")] = False,
) -> None:
    """Permanently erase memories; asks before erasing everything."""
    from holdfast.domain.scope import Everything, parse_scope
    from holdfast.vocabularies.answers import FORGOTTEN

    if isinstance(parse_scope(scope), Everything) and not yes:
        _confirm()
    with opened(context, "forgetting") as me:
        document = FORGOTTEN.encode(me.forget(scope))
    if context.obj.as_json:
        output.emit(document)
        return
    output.say(f"Forgot {output.counted(document['deleted'], 'memory', 'memories')}.")
    if document["kept_elsewhere"]:
        output.remark(f"{document['kept_elsewhere']} of yours remain in other people's spaces.")
    output.remark(document.get("note"))


def _confirm() -> None:
    from holdfast.domain.errors import ConfirmationRequired

    if sys.stdin is None or not sys.stdin.isatty():
        raise ConfirmationRequired("This erases everything, and there is no terminal to ask; use --yes.")
    if not typer.confirm("Permanently erase all your memories?", err=True):
        raise ConfirmationRequired("Nothing was forgotten.")


def _show_entry(entry: Any, what: str, as_json: bool) -> None:
    from holdfast.vocabularies.entries import ENTRY

    document = ENTRY.encode(entry)
    if as_json:
        output.emit(document)
    else:
        output.say(f"{what} {document['key']} (revision {document['revision']}).")
