"""Commands that maintain a store: keys, audit, sweep, index, moving and scaling."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer
from typer.core import TyperCommand

from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.session import local_settings, opened, opened_store, settings_of

if TYPE_CHECKING:
    from holdfast.entrypoints.python.memory import Memory
    from holdfast.recall.index import IndexStatus

STALLED_SECONDS = 120
"""`reindex` gives up after so long without a new vector: the rest cannot be opened, or another process is stuck."""

keys = typer.Typer(help="The keys that encrypt memories.", no_args_is_help=True)


class RotateCommand(TyperCommand):
    """Reads `keys rotate --data` without a directory as `--data-keys`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for at, argument in enumerate(args):
            if argument == "--data" and (at + 1 == len(args) or args[at + 1].startswith("-")):
                args = [*args[:at], "--data-keys", *args[at + 1 :]]
        return super().parse_args(ctx, args)


@keys.command()
def status(context: typer.Context) -> None:
    """Show the master key in use, and data keys under other master keys."""
    with opened_store(context, "keys status") as memory:
        found = memory.keys.status()
    if context.obj.as_json:
        output.emit(asdict(found))
        return
    output.say(f"Master key {found.master}.")
    if found.wrapped_by_others:
        output.say(
            f"{output.counted(found.wrapped_by_others, 'data key')} under earlier masters; run: holdfast keys rotate"
        )
    if found.locked:
        output.say(
            f"{found.locked} of them cannot be opened with a configured key; set HOLDFAST_MEMORY_OLD_KEYS."
        )
    output.say(f"The most used data key has encrypted {output.counted(found.most_used, 'message')}.")
    if found.worn:
        output.say(
            f"{output.counted(found.worn, 'data key')} should be replaced; run: holdfast keys rotate --data-keys"
        )


@keys.command(cls=RotateCommand)
def rotate(
    context: typer.Context,
    data_keys: Annotated[
        bool,
        typer.Option(
            "--data-keys",
            help="Replace the data keys and re-encrypt every memory. `--data` without DIR does the same.",
        ),
    ] = False,
) -> None:
    """Re-wrap every data key under the current master key, or replace the data keys."""
    with opened_store(context, "keys rotate") as memory:
        if data_keys:
            with output.shown_count("rows re-encrypted") as report:
                done = memory.keys.rotate_data(progress=report)
        else:
            with output.status("wrapping keys"):
                done = memory.keys.rotate()
    if context.obj.as_json:
        output.emit(asdict(done))
    elif data_keys:
        memories = output.counted(done.entries, "memory", "memories")
        revisions = output.counted(done.revisions, "earlier revision")
        output.say(
            f"{output.counted(done.keys, 'space')} with new keys; re-encrypted {memories} and {revisions}."
        )
    else:
        output.say(f"Re-wrapped {output.counted(done.keys, 'data key')}.")
        if done.locked:
            output.say(f"{done.locked} could not be: no configured key opens them.")


@keys.command()
def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A new file; keep it apart from copies of the store.")],
) -> None:
    """Back up the wrapped data keys to a file; it is useless without the master key."""
    with opened_store(context, "keys backup") as memory:
        count = memory.keys.backup(file)
    if context.obj.as_json:
        output.emit({"file": str(file), "keys": count})
    else:
        output.say(
            f"Wrote {output.counted(count, 'wrapped key')} to {file}. Keep it apart from copies of the store."
        )


@keys.command()
def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file that `keys backup` wrote.")],
) -> None:
    """Restore the wrapped keys that the store lost and still needs."""
    from holdfast.entrypoints.python.maintenance import read_file
    from holdfast.wiring import put_back_keys

    done = put_back_keys(local_settings(context, "keys restore"), read_file(file))
    if context.obj.as_json:
        output.emit(asdict(done))
        return
    output.say(f"Restored {output.counted(done.restored, 'key')}; {done.present} already present.")
    if done.unneeded:
        output.say(f"{done.unneeded} no longer needed and skipped.")
    if done.locked:
        output.say(f"{done.locked} cannot be opened with a configured key; set HOLDFAST_MEMORY_OLD_KEYS.")


@keys.command()
def destroy(
    context: typer.Context,
    space: Annotated[UUID, typer.Argument(help="The space's id.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Destroy the keys of a space: nothing written there can ever be read again."""
    if not yes:
        typer.confirm(
            f"Nothing in space {space} will be readable again. Destroy its keys?", abort=True, err=True
        )
    with opened_store(context, "keys destroy") as memory:
        count = memory.keys.destroy(space)
    if context.obj.as_json:
        output.emit({"space": str(space), "destroyed": count})
    else:
        output.say(f"Destroyed {output.counted(count, 'key')}. Destroy key backups that hold them, too.")


audit = typer.Typer(help="Check the audit log.", no_args_is_help=True)


@audit.callback()
def _log() -> None:
    """Check the audit log."""


@audit.command()
def verify(
    context: typer.Context,
    anchor: Annotated[
        str | None,
        typer.Option("--anchor", help="The anchor of an earlier check; its entry must still be there."),
    ] = None,
) -> None:
    """Detect entries of the audit log that were changed, moved or removed."""
    with opened_store(context, "audit verify") as memory, output.shown_count("log entries checked") as report:
        found = memory.audit.verify(anchor, report)
    if context.obj.as_json:
        output.emit(asdict(found) | {"intact": found.intact})
    elif found.intact:
        entries = output.counted(found.lines, "entry", "entries")
        output.say(f"Audit log intact ({entries}). Store this anchor somewhere safe: {found.anchor}")
    else:
        output.say(f"Audit log damaged. {found.problem}")
    if not found.intact:
        raise typer.Exit(1)


def sweep(context: typer.Context) -> None:
    """Remove expired memories and old trash now."""
    with opened_store(context, "sweep") as memory, output.status("sweeping"):
        swept = memory.sweep()
    if context.obj.as_json:
        output.emit(asdict(swept))
    else:
        expired = output.counted(swept.expired, "expired memory", "expired memories")
        grants = output.counted(swept.grants, "grant")
        output.say(f"Removed {expired}, {swept.trash} from the trash, {grants}.")


def index(context: typer.Context) -> None:
    """Show the state of recall's index."""
    with opened(context, "reading the index") as me:
        found: IndexStatus = me.index()
    _show_index(found, context.obj.as_json)


def reindex(context: typer.Context) -> None:
    """Build missing vectors now."""
    with opened_store(context, "reindex") as memory:
        found = _settle(memory)
    _show_index(found, context.obj.as_json)


def _settle(memory: Memory) -> IndexStatus:
    """Waits a second at a time, to show what is left."""
    from holdfast.domain.errors import Unavailable

    least, since = memory.index().pending, time.monotonic()
    with output.shown_count("memories without a vector") as report:
        while True:
            report(least)
            try:
                return memory.settle(timeout=1)
            except Unavailable:
                found = memory.index()
                if found.pending < least:
                    least, since = found.pending, time.monotonic()
                if found.note is not None or time.monotonic() > since + STALLED_SECONDS:
                    raise


def _show_index(found: IndexStatus, as_json: bool) -> None:
    if as_json:
        output.emit(asdict(found))
        return
    pending = output.counted(found.pending, "memory", "memories")
    output.say(f"Recall uses {found.embedder or 'words alone'}; {pending} without a vector.")
    if found.following:
        output.say(f"{found.following} takes over when its vectors are built.")
    if found.held:
        output.say(f"{found.held} is held back; to use it: holdfast model use {found.held}")
    output.remark(found.note)


scale = typer.Typer(help="Scale a store on PostgreSQL.", no_args_is_help=True)


def migrate_store(
    context: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="A folder, a database file, sqlite:///… or postgresql://…")
    ],
    target: Annotated[str, typer.Argument(metavar="TO", help="An empty store, named the same way.")],
) -> None:
    """Move a store to another backend, and compare both.

    Rows are copied unchanged. Nothing may write to the store meanwhile. If interrupted, run it again to continue.
    """
    from holdfast.entrypoints.python.memory import move_store

    with output.shown_count("entries moved") as report:
        moved = move_store(source, target, progress=report)
    if context.obj.as_json:
        output.emit(asdict(moved))
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
    context: typer.Context,
    space: Annotated[
        str, typer.Argument(metavar="SPACE", help="Its id or kind:reference, as `holdfast spaces` shows it.")
    ],
    drop: Annotated[bool, typer.Option("--drop", help="Drop the index.")] = False,
) -> None:
    """Build an approximate index over the vectors of one huge space.

    It helps only spaces with too many vectors to open (docs/scaling.md). Reads and writes continue meanwhile.
    """
    owner = settings_of(context.obj.data, subject=context.obj.subject).subject
    with opened_store(context, "scale vectors") as memory, output.status("indexing vectors"):
        name = None if drop else memory.build_vector_index(owner, space)
        if drop:
            memory.drop_vector_index(owner, space)
    if context.obj.as_json:
        output.emit({"index": name})
    else:
        print(f"Built the index {name} over the vectors of {space}." if name else "Dropped the index.")


@scale.command()
def citus(
    context: typer.Context,
    database: Annotated[
        str | None, typer.Argument(metavar="URL", help="postgresql://…; default: HOLDFAST_DATABASE_URL.")
    ] = None,
) -> None:
    """Distribute the tables by space over a Citus cluster, and check that each statement goes to one shard."""
    from holdfast.domain.errors import InvalidField

    url = database or settings_of(context.obj.data).database_url or ""
    if not url.startswith(("postgresql://", "postgres://")):
        raise InvalidField("Name the database: postgresql://…, or set HOLDFAST_DATABASE_URL.")
    from holdfast.wiring import distribute

    spread = distribute(url)
    if context.obj.as_json:
        output.emit(asdict(spread))
        return
    for table, placement in spread.tables.items():
        print(f"{table:12} {placement}")
    if spread.not_routed:
        print(f"Not sent to one shard: {'; '.join(spread.not_routed)}.")
