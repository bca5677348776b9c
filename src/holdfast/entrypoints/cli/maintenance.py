"""Commands for whoever keeps a store: keys, audit, sweep, index, moving and scaling."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer
from typer.core import TyperCommand

from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.options import As, Data, Json
from holdfast.entrypoints.cli.session import local_settings, opened, opened_store, settings_of

if TYPE_CHECKING:
    from holdfast.entrypoints.python.memory import Memory
    from holdfast.recall.index import IndexStatus

STALLED_SECONDS = 120
"""No vector was made for so long: nothing that waits can be opened, or another process does not get on."""

keys = typer.Typer(help="The keys that memories are sealed with.", no_args_is_help=True)


class RotateCommand(TyperCommand):
    """`keys rotate --data` without a directory means the data keys."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for at, argument in enumerate(args):
            if argument == "--data" and (at + 1 == len(args) or args[at + 1].startswith("-")):
                args = [*args[:at], "--data-keys", *args[at + 1 :]]
        return super().parse_args(ctx, args)


@keys.command()
def status(as_json: Json = False, data: Data = None, _subject: As = None) -> None:
    """Show which master key is in use, and what others still wrap."""
    with opened_store(data, "keys status") as memory:
        found = memory.keys.status()
    if as_json:
        output.emit(asdict(found))
        return
    output.say(f"Master key {found.master}.")
    if found.wrapped_by_others:
        output.say(
            f"{found.wrapped_by_others} data keys are wrapped by earlier masters; run: holdfast keys rotate"
        )
    if found.locked:
        output.say(f"{found.locked} of them no configured key opens; set HOLDFAST_MEMORY_OLD_KEYS.")
    output.say(f"The most used data key has sealed {found.most_used:,} messages.")
    if found.worn:
        output.say(f"{found.worn} data keys have sealed enough; run: holdfast keys rotate --data-keys")


@keys.command(cls=RotateCommand)
def rotate(
    data_keys: Annotated[
        bool,
        typer.Option(
            "--data-keys",
            help="New data keys: every memory is sealed anew. `--data` without DIR says the same.",
        ),
    ] = False,
    as_json: Json = False,
    data: Data = None,
    _subject: As = None,
) -> None:
    """Wrap every data key under a new master key; or make new data keys and seal all memories anew."""
    from holdfast.entrypoints.cli.output import patiently, shown_count

    with opened_store(data, "keys rotate") as memory:
        if data_keys:
            with shown_count("rows sealed anew") as tell:
                done = memory.keys.rotate_data(progress=tell)
        else:
            with patiently("wrapping keys"):
                done = memory.keys.rotate()
    if as_json:
        output.emit(asdict(done))
    elif data_keys:
        output.say(
            f"{done.keys} spaces have new keys; {done.entries} memories and {done.revisions} earlier states were "
            "sealed anew."
        )
    else:
        output.say(f"{done.keys} data keys are wrapped anew.")
        if done.locked:
            output.say(f"{done.locked} could not be: no configured key opens them.")


@keys.command()
def backup(
    file: Annotated[Path, typer.Argument(help="A new file, to be kept apart from copies of the store.")],
    as_json: Json = False,
    data: Data = None,
    _subject: As = None,
) -> None:
    """Write all wrapped data keys into a file of their own; without the master key it opens nothing."""
    with opened_store(data, "keys backup") as memory:
        count = memory.keys.backup(file)
    if as_json:
        output.emit({"file": str(file), "keys": count})
    else:
        output.say(f"{count} wrapped keys are in {file}. Keep it apart from copies of the store.")


@keys.command()
def restore(
    file: Annotated[Path, typer.Argument(help="What `keys backup` wrote.")],
    as_json: Json = False,
    data: Data = None,
    _subject: As = None,
) -> None:
    """Put back the wrapped keys that the store misses and still needs, its own among them."""
    from holdfast.entrypoints.python.keys import read_file
    from holdfast.wiring import put_back_keys

    done = put_back_keys(local_settings(data, "keys restore"), read_file(file))
    if as_json:
        output.emit(asdict(done))
        return
    output.say(f"{done.restored} keys were put back; {done.present} were there.")
    if done.unneeded:
        output.say(f"{done.unneeded} are of no use any more and were left out.")
    if done.locked:
        output.say(f"{done.locked} no configured key opens; set HOLDFAST_MEMORY_OLD_KEYS.")


@keys.command()
def destroy(
    space: Annotated[UUID, typer.Argument(help="The space's id.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
    data: Data = None,
    _subject: As = None,
) -> None:
    """Destroy the keys of a space: nothing that was written there can ever be read again."""
    if not yes:
        typer.confirm(
            f"Nothing in space {space} will be readable again. Destroy its keys?", abort=True, err=True
        )
    with opened_store(data, "keys destroy") as memory:
        count = memory.keys.destroy(space)
    if as_json:
        output.emit({"space": str(space), "destroyed": count})
    else:
        output.say(f"{count} keys are destroyed. Destroy key backups that hold them, too.")


audit = typer.Typer(help="The log of who did and read what.", no_args_is_help=True)


@audit.callback()
def _log() -> None:
    """The log of who did and read what."""


@audit.command()
def verify(
    anchor: Annotated[
        str | None,
        typer.Option("--anchor", help="What an earlier check printed: its line must still be there."),
    ] = None,
    as_json: Json = False,
    data: Data = None,
    _subject: As = None,
) -> None:
    """Find every line of the log that was changed, moved, taken out or cut off."""
    from holdfast.entrypoints.cli.output import shown_count

    with opened_store(data, "audit verify") as memory, shown_count("lines of the log checked") as tell:
        found = memory.audit.verify(anchor, tell)
    if as_json:
        output.emit(asdict(found) | {"intact": found.intact})
    elif found.intact:
        output.say(f"The log is whole: {found.lines} lines. Keep this anchor elsewhere: {found.anchor}")
    else:
        output.say(f"The log is not whole. {found.problem}")
    if not found.intact:
        raise typer.Exit(1)


def sweep(as_json: Json = False, data: Data = None, _subject: As = None) -> None:
    """Remove what has expired and old trash now."""
    from holdfast.entrypoints.cli.output import patiently

    with opened_store(data, "sweep") as memory, patiently("sweeping"):
        swept = memory.sweep()
    if as_json:
        output.emit(asdict(swept))
    else:
        output.say(
            f"Removed {swept.expired} expired memories, {swept.trash} from the trash, {swept.grants} grants."
        )


def index(as_json: Json = False, subject: As = None, data: Data = None) -> None:
    """Show how far recall's index is."""
    with opened(data, subject, "looking") as me:
        found: IndexStatus = me.index()
    _told(found, as_json)


def reindex(as_json: Json = False, data: Data = None, _subject: As = None) -> None:
    """Make every missing vector now, not in the background."""
    with opened_store(data, "reindex") as memory:
        found = _settled(memory)
    _told(found, as_json)


def _settled(memory: Memory) -> IndexStatus:
    """Waits a second at a time, so that what is left can be shown."""
    from holdfast.domain.errors import Unavailable
    from holdfast.entrypoints.cli.output import shown_count

    least, since = memory.index().pending, time.monotonic()
    with shown_count("memories wait for their vector") as tell:
        while True:
            tell(least)
            try:
                return memory.settle(timeout=1)
            except Unavailable:
                found = memory.index()
                if found.pending < least:
                    least, since = found.pending, time.monotonic()
                if found.note is not None or time.monotonic() > since + STALLED_SECONDS:
                    raise


def _told(found: IndexStatus, as_json: bool) -> None:
    if as_json:
        output.emit(asdict(found))
        return
    model = found.embedder or "words alone"
    output.say(f"Recall uses {model}; {found.pending} memories wait for their vector.")
    if found.following:
        output.say(f"{found.following} takes over once its vectors are made.")
    if found.held:
        output.say(f"{found.held} is held back; to use it: holdfast model use {found.held}")
    output.remark(found.note)


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
    from holdfast.entrypoints.cli.output import shown_count
    from holdfast.entrypoints.python.migrate_store import move_store

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
    from holdfast.entrypoints.cli.output import patiently

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
