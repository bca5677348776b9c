"""The interpreter, its libraries, the clock, the embedder's model, and the store's folder and disk."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import stat
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from holdfast.entrypoints.cli.doctor.finding import NO_STORE, Finding, Scene, fail, ok, warn

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


GIB = 1 << 30
NEARLY_FULL = 64 << 20
TRIES = 5
TOO_QUICK_SECONDS = 10e-6
"""No disk is this fast: fsync did not wait for one."""
TOO_SLOW_SECONDS = 0.1
MOVE = "put the store on a local disk: set HOLDFAST_DATA_DIR"


def directory(scene: Scene) -> Finding:
    folder = scene.folder
    if not folder.exists():
        parent = _nearest_existing(folder)
        if not os.access(parent, os.W_OK | os.X_OK):
            return fail(
                f"{folder} cannot be created: {parent} is not writable",
                "set HOLDFAST_DATA_DIR to a folder you own",
            )
        return ok(f"{folder}: {NO_STORE}")
    if not folder.is_dir():
        return fail(f"{folder} is not a folder", "set HOLDFAST_DATA_DIR to a folder")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return fail(f"this user cannot write in {folder}", f"sudo chown -R $(id -u) {folder}")
    if os.name == "posix" and (mode := stat.S_IMODE(folder.stat().st_mode)) & 0o077:
        return warn(f"{folder} is open to others ({mode:04o})", f"chmod 700 {folder}")
    return ok(f"{folder}: {'the store is here' if scene.has_store else NO_STORE}")


def fsync(scene: Scene) -> Finding:
    """Syncs a temporary file."""
    if not scene.folder.is_dir():
        return ok("no folder to write to yet")
    try:
        took = _sync_seconds(scene.folder)
    except OSError as error:
        if error.errno == errno.EROFS:
            return fail(f"the file system of {scene.folder} is read-only", f"mount it for writing, or {MOVE}")
        return fail(f"a file in {scene.folder} cannot be written and synced: {error.strerror}", MOVE)
    if took < TOO_QUICK_SECONDS:
        return warn(
            "fsync returns without waiting for a disk: a power failure may lose acknowledged writes", MOVE
        )
    if took > TOO_SLOW_SECONDS:
        return warn(f"fsync takes {took * 1e3:.0f} ms, and every write waits for it", MOVE)
    return ok(f"fsync takes {took * 1e3:.2f} ms")


def disk(scene: Scene) -> Finding:
    free = shutil.disk_usage(_nearest_existing(scene.folder)).free
    size = sum(file.stat().st_size for file in _files(scene))
    found = f"{free / GIB:.1f} GiB free, the store uses {size / (1 << 20):.1f} MiB"
    remedy = "free some space, or `holdfast forget` and `holdfast sweep`"
    if free < NEARLY_FULL:
        return fail(found, remedy)
    if free < max(GIB, 2 * size):
        return warn(found, remedy)
    return ok(found)


def _nearest_existing(folder: Path) -> Path:
    """Returns the folder, or its nearest parent that exists."""
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.is_dir())


def _files(scene: Scene) -> list[Path]:
    if scene.database is None:
        return []
    named = (scene.database.with_name(scene.database.name + end) for end in ("", "-wal", "-shm"))
    return [file for file in named if file.exists()]


def _sync_seconds(folder: Path) -> float:
    handle, name = tempfile.mkstemp(prefix=".doctor-", dir=folder)
    try:
        took = []
        for _ in range(TRIES):
            os.write(handle, b"x" * 4_096)
            began = time.perf_counter()
            os.fsync(handle)
            took.append(time.perf_counter() - began)
        return median(took)
    finally:
        os.close(handle)
        Path(name).unlink()
