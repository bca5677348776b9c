"""The interpreter, its libraries, the clock and the embedder's model."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from holdfast.entrypoints.cli.doctor.finding import Finding, Scene, fail, ok, warn

OLDEST_PYTHON = (3, 11)
OLDEST_SQLITE = (3, 51, 3)
"""Older versions could damage a database in WAL mode."""
SANE_YEARS = range(2025, 2100)
SKEW_SECONDS = 120
FETCH = "holdfast model fetch"
SET_CLOCK = "set the clock, for example: timedatectl set-ntp true"


def python(_scene: Scene) -> Finding:
    found = f"Python {platform.python_version()} at {sys.executable}"
    if sys.version_info < OLDEST_PYTHON:
        return fail(found, "install Python 3.11 or newer")
    return ok(found)


def sqlite(_scene: Scene) -> Finding:
    """Reads the version of apsw: that of its SQLite, and one more number."""
    try:
        found = version("apsw")
    except PackageNotFoundError:
        return fail("apsw is not installed", "pip install 'apsw>=3.54'")
    if tuple(int(part) for part in found.split(".")[:3] if part.isdecimal()) < OLDEST_SQLITE:
        return fail(f"SQLite {found} may damage a database in WAL mode", "pip install --upgrade 'apsw>=3.54'")
    return ok(f"SQLite {'.'.join(found.split('.')[:3])}, from apsw {found}")


def clock(scene: Scene) -> Finding:
    now = datetime.fromtimestamp(scene.now, UTC)
    if now.year not in SANE_YEARS:
        return fail(f"the clock says {now:%Y-%m-%d}", SET_CLOCK)
    written = _last_written(scene)
    if written > scene.now + SKEW_SECONDS:
        last = datetime.fromtimestamp(written, UTC)
        return fail(
            f"the clock says {now:%Y-%m-%d %H:%M}, but the store was written at {last:%Y-%m-%d %H:%M} UTC",
            SET_CLOCK,
        )
    return ok(f"{now:%Y-%m-%d %H:%M:%S} UTC")


def _last_written(scene: Scene) -> float:
    """Returns the last modification time of the store's file and its log."""
    if scene.database is None:
        return 0.0
    files = [scene.database, scene.database.with_name(scene.database.name + "-wal")]
    return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)


def model(scene: Scene) -> Finding:
    match scene.settings.embedder:
        case "none":
            return ok("HOLDFAST_EMBEDDER=none: words only")
        case "default":
            return _default(scene)
        case "openai":
            return ok(f"{scene.settings.embedder_model} at {scene.settings.embedder_url}; not tried")
        case name if all(name.partition(":")):
            module = name.partition(":")[0]
            if find_spec(module.partition(".")[0]) is None:
                return fail(
                    f"the module {module} is not installed",
                    f"install {module}, or set HOLDFAST_EMBEDDER=default",
                )
            return ok(f"{name}; not loaded")
        case name:
            return fail(
                f"HOLDFAST_EMBEDDER={name} is not known", "set it to default, none, openai or module:factory"
            )


def _default(scene: Scene) -> Finding:
    from holdfast.recall.embedding.models import files_are_whole, installed

    found = installed(scene.settings.model_dir)
    if not found:
        return warn("not fetched: recall uses words only", FETCH)
    folder, manifest = found[0]
    if not files_are_whole(folder, manifest):
        return fail(f"{manifest.model_id} in {folder} is damaged: recall uses words only", FETCH)
    if missing := [name for name in ("onnxruntime", "tokenizers") if find_spec(name) is None]:
        return warn(
            f"{manifest.model_id} is fetched, but {missing[0]} is not installed",
            "pip install 'holdfast-memory[embedder]'",
        )
    return ok(f"{manifest.model_id} verified")
