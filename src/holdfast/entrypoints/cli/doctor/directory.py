"""The store's folder: permissions, durability of its disk, and free space."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path
from statistics import median

from holdfast.entrypoints.cli.doctor.finding import NO_STORE, Finding, Scene, fail, ok, warn

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
