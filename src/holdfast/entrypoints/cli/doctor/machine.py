"""The interpreter, the library, the clock."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from holdfast.entrypoints.cli.doctor.finding import Finding, Scene, fail, ok

OLDEST_PYTHON = (3, 11)
OLDEST_SQLITE = (3, 51, 3)
"""Before it, a write-ahead log could damage a database."""
SANE_YEARS = range(2025, 2100)
SKEW_SECONDS = 120
SET_CLOCK = "set the clock, for example: timedatectl set-ntp true"


def python(_scene: Scene) -> Finding:
    found = f"Python {platform.python_version()} at {sys.executable}"
    if sys.version_info < OLDEST_PYTHON:
        return fail(found, "install Python 3.11 or newer")
    return ok(found)


def sqlite(_scene: Scene) -> Finding:
    """apsw's version is that of the SQLite it carries, and a number of its own."""
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
    """When the store's file or its log was written last, by the clock of then."""
    if scene.database is None:
        return 0.0
    files = [scene.database, scene.database.with_name(scene.database.name + "-wal")]
    return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)
