"""The table of commands. The parameters of a command are worked out when it is called, so that `holdfast --help` stays
quick."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import MarkupMode, TyperCommand, TyperGroup

from holdfast.entrypoints.cli import (
    call,
    connect,
    doctor,
    maintenance,
    model,
    reading,
    serving,
    sharing,
    writing,
)
from holdfast.entrypoints.cli.options import global_parameters

MEMORIES, SPACES, SERVER, STORE = "Memories", "Spaces", "Server", "Store"

COMMANDS: tuple[tuple[str, str, Callable[..., Any] | typer.Typer], ...] = (
    ("remember", MEMORIES, writing.remember),
    ("recall", MEMORIES, reading.recall),
    ("get", MEMORIES, reading.get),
    ("list", MEMORIES, reading.list_memories),
    ("edit", MEMORIES, writing.edit),
    ("rename", MEMORIES, writing.rename),
    ("history", MEMORIES, reading.history),
    ("readers", MEMORIES, reading.readers),
    ("undo", MEMORIES, writing.undo),
    ("delete", MEMORIES, writing.delete),
    ("trash", MEMORIES, reading.trash),
    ("restore", MEMORIES, writing.restore),
    ("forget", MEMORIES, writing.forget),
    ("context", MEMORIES, reading.context),
    ("call", MEMORIES, call.call),
    ("proposals", MEMORIES, sharing.proposals),
    ("quarantine", MEMORIES, sharing.quarantine),
    ("undo-by", MEMORIES, sharing.undo_by),
    ("spaces", SPACES, sharing.spaces),
    ("share", SPACES, sharing.share),
    ("unshare", SPACES, sharing.unshare),
    ("grants", SPACES, sharing.grants),
    ("serve", SERVER, serving.serve),
    ("mcp", SERVER, serving.mcp),
    ("connect", SERVER, connect.connect),
    ("token", SERVER, serving.token),
    ("doctor", STORE, doctor.doctor),
    ("keys", STORE, maintenance.keys),
    ("audit", STORE, maintenance.audit),
    ("sweep", STORE, maintenance.sweep),
    ("index", STORE, maintenance.index),
    ("reindex", STORE, maintenance.reindex),
    ("model", STORE, model.app),
    ("migrate-store", STORE, maintenance.migrate_store),
    ("scale", STORE, maintenance.scale),
)


class ReaderGone(Exception):
    """The reader closed the pipe."""


class Commands(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: _outline(name, panel, command) for name, panel, command in COMMANDS}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, outline, rest = super().resolve_command(ctx, args)
        return name, outline and built(name or "", self.rich_markup_mode), rest

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with broken_pipe_is_no_error():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with broken_pipe_is_no_error():
            return super().invoke(ctx)


@contextmanager
def broken_pipe_is_no_error() -> Iterator[None]:
    """Keeps Typer from reporting a closed pipe as a failure."""
    try:
        yield
    except BrokenPipeError:
        raise ReaderGone from None


def built(name: str, markup: MarkupMode = None) -> Any:
    """Returns a command with all its parameters."""
    command = next(command for named, _, command in COMMANDS if named == name)
    if isinstance(command, typer.Typer):
        command.rich_markup_mode = markup
        group = typer.main.get_group(command)
        group.name = name
        for each in (group, *group.commands.values()):
            if each is not group or group.invoke_without_command:
                each.params = [*each.params, *global_parameters()]
        return group
    alone = typer.Typer(add_completion=False, rich_markup_mode=markup)
    alone.command(name)(command)
    built_command = typer.main.get_command(alone)
    built_command.params = [*built_command.params, *global_parameters()]
    return built_command


def _outline(name: str, panel: str, command: Callable[..., Any] | typer.Typer) -> TyperCommand:
    """Returns a command without parameters, for the list of commands."""
    sentence = command.info.help if isinstance(command, typer.Typer) else command.__doc__
    return TyperCommand(name=name, help=(sentence or "").partition("\n")[0], rich_help_panel=panel)
