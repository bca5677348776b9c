"""Commands that read memories."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import typer

from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.options import (
    As,
    Category,
    Data,
    Id,
    Json,
    Key,
    Limit,
    Space,
    Tags,
    moment,
    target,
)
from holdfast.entrypoints.cli.session import opened

Document = dict[str, Any]
All = Annotated[bool, typer.Option("--all", help="Every page, not only the first.")]


def recall(
    query: Annotated[str, typer.Argument(help="A question, in words.")],
    limit: Limit = 10,
    spaces: Annotated[
        list[str] | None, typer.Option("--space", help="Only this space; may be repeated.")
    ] = None,
    category: Category = None,
    tags: Tags = None,
    since: Annotated[
        datetime | None,
        typer.Option("--since", metavar="TIME", help="Said or written then or later.", parser=moment),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option("--until", metavar="TIME", help="Said or written before.", parser=moment),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show every part of each score.")] = False,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Find the memories that answer a question, best first."""
    from holdfast.vocabularies.wire.entries import HITS

    with opened(data, subject, "recalling") as me:
        hits = me.recall(
            query,
            limit=limit,
            spaces=spaces or None,
            category=category,
            tags=tags or None,
            since=since,
            until=until,
            explain=explain,
        )
        document = HITS.show(hits)
    if as_json:
        output.emit(document)
        return
    if output.at_terminal():
        for hit in document["hits"]:
            output.headed(f"{hit['score']:.3f}  {hit['key']}  {_circumstances(hit)}", _text(hit), _parts(hit))
        if not document["hits"]:
            output.say("Nothing found.")
    else:
        rows = [
            [f"{hit['score']:.4f}", hit["key"], _text(hit), *([_parts(hit)] if explain else [])]
            for hit in document["hits"]
        ]
        output.table((), rows)
    output.remark(document.get("note"))


def get(
    key: Key = None,
    id: Id = None,
    space: Space = None,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Print one memory."""
    from holdfast.vocabularies.wire.entries import ENTRY

    meant = target(key, id, space)
    with opened(data, subject, "reading") as me:
        document = ENTRY.show(me.get(**meant))
    if as_json:
        output.emit(document)
    elif output.at_terminal():
        output.headed(
            f"{document['key']}  revision {document['revision']}  {_circumstances(document)}", _text(document)
        )
    elif "data" in document:
        output.raw(document["data"])
    else:
        output.body(_text(document))


def list_memories(
    prefix: Annotated[str, typer.Argument(help="What keys begin with, literally.")] = "",
    space: Space = None,
    category: Category = None,
    tag: Annotated[str | None, typer.Option("--tag", help="Only with this tag.")] = None,
    limit: Limit = 100,
    every: All = False,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """List memories, newest change first."""
    with opened(data, subject, "listing") as me:
        document = _pages(
            lambda cursor: me.list(
                prefix, space=space, category=category, tag=tag, limit=limit, cursor=cursor
            ),
            every,
        )
    _listed(document, "updated_at", as_json)


def trash(
    space: Space = None,
    limit: Limit = 100,
    every: All = False,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """List what lies in the trash, to be restored."""
    with opened(data, subject, "listing") as me:
        document = _pages(lambda cursor: me.trashed(space=space, limit=limit, cursor=cursor), every)
    _listed(document, "trashed_at", as_json)


def history(
    key: Key = None,
    id: Id = None,
    space: Space = None,
    limit: Limit = 100,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """List every state of a memory, the present one first."""
    from holdfast.vocabularies.wire.entries import REVISIONS

    meant = target(key, id, space)
    with opened(data, subject, "reading") as me:
        document = REVISIONS.show(me.history(**meant, limit=limit))
    if as_json:
        output.emit(document)
        return
    output.table(
        ("revision", "when", "change", "by", "text"),
        [
            (one["revision"], output.brief(one["at"]), one.get("change"), one.get("by"), _text(one))
            for one in document["revisions"]
        ],
    )


def readers(
    key: Key = None,
    id: Id = None,
    space: Space = None,
    limit: Limit = 100,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """List who was shown a memory of yours, newest first."""
    from holdfast.vocabularies.wire.answers import READINGS

    meant = target(key, id, space)
    with opened(data, subject, "reading") as me:
        document = READINGS.show(me.readers(**meant, limit=limit))
    if as_json:
        output.emit(document)
        return
    output.table(
        ("when", "by", "how"),
        [(output.brief(one["at"]), one["by"], one["operation"]) for one in document["readers"]],
    )


def context(
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="TOKENS", help="At most so long; default: 2,000.")
    ] = None,
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Print the context text, as an agent would get it."""
    from holdfast.vocabularies.wire.answers import CONTEXT

    with opened(data, subject, "building the context") as me:
        found = me.context() if budget is None else me.context(budget=budget)
    if as_json:
        output.emit(CONTEXT.show(found))
        return
    if found.text:
        output.body(found.text)
    output.remark(found.note)


def _pages(page_after: Callable[[str | None], Any], every: bool) -> Document:
    """One page, or all of them as one."""
    from holdfast.vocabularies.wire.entries import PAGE

    document = PAGE.show(page_after(None))
    while every and document["cursor"]:
        more = PAGE.show(page_after(document["cursor"]))
        document = more | {"entries": document["entries"] + more["entries"]}
    return document


def _listed(document: Document, when: str, as_json: bool) -> None:
    if as_json:
        output.emit(document)
        return
    output.table(
        ("key", when.removesuffix("_at"), "category", "tags", "text"),
        [
            (
                entry["key"],
                output.brief(entry.get(when)),
                entry["category"],
                ",".join(entry["tags"]),
                entry["hint"] or _text(entry),
            )
            for entry in document["entries"]
        ],
    )
    if document["cursor"]:
        output.remark("There are more: --all lists every page, --limit makes this one longer.")
    if document.get("locked"):
        output.remark(f"{document['locked']} more cannot be opened: their key is not configured.")
    output.remark(document.get("note"))


def _text(shown: Document) -> str:
    """What a memory says; bytes are not for eyes."""
    if shown.get("locked"):
        return "(locked: its key is not configured)"
    return shown["text"] if shown.get("text") is not None else "(bytes)"


def _circumstances(shown: Document) -> str:
    words = [output.brief(shown["updated_at"]), shown["category"], *(f"#{tag}" for tag in shown["tags"])]
    said = [shown.get("speaker"), output.brief(shown.get("at"))]
    expires = f"until {output.brief(shown['expires_at'])}" if shown.get("expires_at") else ""
    return "  ".join(word for word in (*words, *said, expires) if word)


def _parts(hit: Document) -> str:
    why = hit.get("why")
    if why is None:
        return ""
    factors = "".join(f" {name} {value:+.3f}" for name, value in why["factors"].items())
    return (
        f"words {why['words']:.3f}, meaning {why['meaning']:.3f}, conversation {why['conversation']:.3f},"
        f" factors{factors or ' none'}, role {why['role']:.2f}"
    )
