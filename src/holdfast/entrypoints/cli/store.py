"""`holdfast migrate-store` and `holdfast scale`: where a store lies."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from holdfast.entrypoints.cli.door import opened_store, settings_of
from holdfast.entrypoints.cli.options import As, Data, Json

scale = typer.Typer(help="Spread a store on PostgreSQL over many machines.", no_args_is_help=True)


def migrate_store(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="A folder, a database file, sqlite:///… or postgresql://…")
    ],
    target: Annotated[str, typer.Argument(metavar="TO", help="The same, and empty.")],
    as_json: Json = False,
    _data: Data = None,
    _subject: As = None,
) -> None:
    """Move a store to another backend, and compare both.

    Every row moves as it is. Nobody may write to it meanwhile. Stopped in the middle, it goes on when it is run again.
    """
    from holdfast.entrypoints.cli.progress import shown_count
    from holdfast.entrypoints.moving import move_store

    with shown_count("entries over") as tell:
        moved = move_store(source, target, progress=tell)
    if as_json:
        print(json.dumps(asdict(moved)))
        return
    print(
        f"Moved and compared {moved.spaces} spaces, {moved.entries} entries, {moved.revisions} earlier revisions and "
        f"{moved.grants} grants."
    )
    if moved.unreadable:
        print(
            f"{moved.unreadable} entries could not be opened (their key is not configured) and are not indexed."
        )


@scale.command()
def vectors(
    space: Annotated[
        str, typer.Argument(metavar="SPACE", help="Its id or kind:reference, as `holdfast spaces` shows it.")
    ],
    drop: Annotated[bool, typer.Option("--drop", help="Take the index away again.")] = False,
    as_json: Json = False,
    data: Data = None,
    subject: As = None,
) -> None:
    """Make an index over the vectors of one huge space; it finds nearly all of the nearest.

    Only spaces whose vectors are too many to be opened (docs/scaling.md) gain by it. Everything goes on meanwhile.
    """
    from holdfast.entrypoints.cli.progress import patiently

    owner = settings_of(data, subject=subject).subject
    with opened_store(data, "scale vectors") as memory, patiently("indexing vectors"):
        name = None if drop else memory.build_vector_index(owner, space)
        if drop:
            memory.drop_vector_index(owner, space)
    if as_json:
        print(json.dumps({"index": name}))
    else:
        print(f"Vectors of {space} are found by the index {name}." if name else "The index is gone.")


@scale.command()
def citus(
    database: Annotated[
        str | None, typer.Argument(metavar="URL", help="postgresql://…; default: HOLDFAST_DATABASE_URL.")
    ] = None,
    as_json: Json = False,
    data: Data = None,
    _subject: As = None,
) -> None:
    """Distribute the tables by space over a Citus cluster, and check that each statement goes to one shard."""
    from holdfast.domain.errors import InvalidField

    url = database or settings_of(data).database_url or ""
    if not url.startswith(("postgresql://", "postgres://")):
        raise InvalidField("Name the database: postgresql://…, or set HOLDFAST_DATABASE_URL.")
    from holdfast.wiring import distribute

    spread = distribute(url)
    if as_json:
        print(json.dumps(asdict(spread)))
        return
    for table, place in spread.tables.items():
        print(f"{table:12} {place}")
    if spread.not_routed:
        print(f"Not sent to one shard: {'; '.join(spread.not_routed)}.")
