"""The table of checks. Each one returns one finding with its remedy, changes nothing, and does not need another one to
succeed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from holdfast.domain.errors import HoldfastError, Unavailable
from holdfast.entrypoints.cli.doctor import (
    clients,
    machine,
    network,
    store,
)
from holdfast.entrypoints.cli.doctor.finding import Check, Finding, Scene, fail
from holdfast.entrypoints.cli.session import settings_of
from holdfast.wiring import locate_store

Where = Callable[[Scene], bool]
READABLE = "check that this user can read it"


def anywhere(_scene: Scene) -> bool:
    return True


def at_a_server(scene: Scene) -> bool:
    return scene.settings.url is not None


def here(scene: Scene) -> bool:
    """A user of a server has no local store to check, unless its file exists."""
    return scene.settings.url is None or (scene.database is not None and scene.database.exists())


def here_in_a_file(scene: Scene) -> bool:
    return here(scene) and scene.database is not None


def here_on_postgres(scene: Scene) -> bool:
    return here(scene) and scene.is_shared


CHECKS: tuple[tuple[str, Where, Check], ...] = (
    ("python", anywhere, machine.python),
    ("sqlite", anywhere, machine.sqlite),
    ("clock", anywhere, machine.clock),
    ("directory", here, machine.directory),
    ("fsync", here_in_a_file, machine.fsync),
    ("disk", here_in_a_file, machine.disk),
    ("key", here, store.key),
    ("store", here_in_a_file, store.canary),
    ("schema", here_in_a_file, store.schema),
    ("recovery", here_in_a_file, store.recovery),
    ("postgresql", here_on_postgres, store.postgresql),
    ("model", here, machine.model),
    ("port", here, network.port),
    ("secret", here, network.secret),
    ("server", at_a_server, network.server),
    ("token", at_a_server, network.token),
    ("clients", anywhere, clients.clients),
    ("mcp", anywhere, clients.mcp),
)


def examine(data: Path | None, subject: str | None) -> list[Finding]:
    try:
        settings = settings_of(data, subject=subject)
        scene = Scene(settings, locate_store(settings).file, time.time())
    except Unavailable as error:
        return [fail(error.message, READABLE).named("settings")]
    except HoldfastError as error:
        return [
            fail(error.message, "correct this setting in the environment or in holdfast.toml").named(
                "settings"
            )
        ]
    return [_run(check, scene).named(name) for name, where, check in CHECKS if where(scene)]


def _run(check: Check, scene: Scene) -> Finding:
    """Turns an error of the check into its finding."""
    try:
        return check(scene)
    except HoldfastError as error:
        return fail(error.message, f"see `{error.code}` in docs/errors.md")
    except OSError as error:
        return fail(f"{error.filename or scene.folder}: {error.strerror or error}", READABLE)
