"""Commands that read memories."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import typer

from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.options import (
    Category,
    Id,
    Key,
    Limit,
    Space,
    Tags,
    moment,
    target,
)
from holdfast.entrypoints.cli.session import opened

Document = dict[str, Any]
All = Annotated[bool, typer.Option("--all", help="List every page.")]


def recall(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="A question, in words.")],
    limit: Limit = 10,
    spaces: Annotated[
        list[str] | None, typer.Option("--space", help="Only this space; may be repeated.")
    ] = None,
    category: Category = None,
    tags: Tags = None,
    since: Annotated[
        datetime | None,
        typer.Option("--since", metavar="TIME", help="From this time on.", parser=moment),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option("--until", metavar="TIME", help="Before this time.", parser=moment),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show every part of each score.")] = False,
) -> None:
    """Find the memories that answer a question, best first."""
    from holdfast.vocabularies.entries import HITS

    with opened(context, "recalling") as me:
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
        document = HITS.encode(hits)
    if context.obj.as_json:
        output.emit(document)
        return
    if output.at_terminal():
        for hit in document["hits"]:
            output.headed(f"{hit['score']:.3f}  {hit['key']}  {_details(hit)}", _text(hit), _parts(hit))
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
    context: typer.Context,
    key: Key = None,
    id: Id = None,
    space: Space = None,
) -> None:
    """Print one memory."""
    from holdfast.vocabularies.entries import ENTRY

    memory = target(key, id, space)
    with opened(context, "reading") as me:
        document = ENTRY.encode(me.get(**memory))
    if context.obj.as_json:
        output.emit(document)
    elif output.at_terminal():
        output.headed(
            f"{document['key']}  revision {document['revision']}  {_details(document)}", _text(document)
        )
    elif "data" in document:
        output.raw(document["data"])
    else:
        output.body(_text(document))


def list_memories(
    context: typer.Context,
    prefix: Annotated[str, typer.Argument(help="List only keys that begin with this.")] = "",
    space: Space = None,
    category: Category = None,
    tag: Annotated[str | None, typer.Option("--tag", help="Only with this tag.")] = None,
    limit: Limit = 100,
    every: All = False,
) -> None:
    """List memories, newest change first."""
    with opened(context, "listing") as me:
        document = _pages(
            lambda cursor: me.list(
                prefix, space=space, category=category, tag=tag, limit=limit, cursor=cursor
            ),
            every,
        )
    _show_page(document, "updated_at", context.obj.as_json)


def trash(
    context: typer.Context,
    space: Space = None,
    limit: Limit = 100,
    every: All = False,
) -> None:
    """List trashed memories."""
    with opened(context, "listing") as me:
        document = _pages(lambda cursor: me.trashed(space=space, limit=limit, cursor=cursor), every)
    _show_page(document, "trashed_at", context.obj.as_json)


def history(
    context: typer.Context,
    key: Key = None,
    id: Id = None,
    space: Space = None,
    limit: Limit = 100,
) -> None:
    """Show a memory's history, newest first."""
    from holdfast.vocabularies.entries import REVISIONS

    memory = target(key, id, space)
    with opened(context, "reading") as me:
        document = REVISIONS.encode(me.history(**memory, limit=limit))
    if context.obj.as_json:
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
    context: typer.Context,
    key: Key = None,
    id: Id = None,
    space: Space = None,
    limit: Limit = 100,
) -> None:
    """Show who has read a memory."""
    from holdfast.vocabularies.answers import READINGS

    memory = target(key, id, space)
    with opened(context, "reading") as me:
        document = READINGS.encode(me.readers(**memory, limit=limit))
    if context.obj.as_json:
        output.emit(document)
        return
    output.table(
        ("when", "by", "how"),
        [(output.brief(one["at"]), one["by"], one["operation"]) for one in document["readers"]],
    )


def context(
    context: typer.Context,
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="TOKENS", help="Maximum length; default: 2,000.")
    ] = None,
) -> None:
    """Print the context text as an agent gets it."""
    from holdfast.vocabularies.answers import CONTEXT

    with opened(context, "building the context") as me:
        found = me.context() if budget is None else me.context(budget=budget)
    if context.obj.as_json:
        output.emit(CONTEXT.encode(found))
        return
    if found.text:
        output.body(found.text)
    output.remark(found.note)


def _pages(page_after: Callable[[str | None], Any], every: bool) -> Document:
    """Returns one page, or all pages as one."""
    from holdfast.vocabularies.entries import PAGE

    document = PAGE.encode(page_after(None))
    while every and document["cursor"]:
        more = PAGE.encode(page_after(document["cursor"]))
        document = more | {"entries": document["entries"] + more["entries"]}
    return document


def _show_page(document: Document, when: str, as_json: bool) -> None:
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
        output.remark("More results: use --all or raise --limit.")
    if document.get("locked"):
        output.remark(f"{document['locked']} more cannot be opened: their key is not configured.")
    output.remark(document.get("note"))


def _text(shown: Document) -> str:
    """Returns the text of a memory, or a placeholder."""
    if shown.get("locked"):
        return "(locked: its key is not configured)"
    return shown["text"] if shown.get("text") is not None else "(bytes)"


def _details(shown: Document) -> str:
    words = [output.brief(shown["updated_at"]), shown["category"], *(f"#{tag}" for tag in shown["tags"])]
    spoken = [shown.get("speaker"), output.brief(shown.get("at"))]
    expires = f"until {output.brief(shown['expires_at'])}" if shown.get("expires_at") else ""
    return "  ".join(word for word in (*words, *spoken, expires) if word)


def _parts(hit: Document) -> str:
    why = hit.get("why")
    if why is None:
        return ""
    factors = "".join(f" {name} {value:+.3f}" for name, value in why["factors"].items())
    return (
        f"words {why['words']:.3f}, meaning {why['meaning']:.3f}, conversation {why['conversation']:.3f},"
        f" factors{factors or ' none'}, role {why['role']:.2f}"
    )
