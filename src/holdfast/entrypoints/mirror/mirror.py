"""The mirror of all users: one folder, one store, one process at a time, polled by a thread."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from holdfast.background import BackgroundWorker
from holdfast.crypto.blind import fingerprint
from holdfast.domain.context import seen
from holdfast.domain.errors import HoldfastError, Unavailable
from holdfast.domain.principal import Caller, PrincipalKind, principal
from holdfast.domain.space import SpaceKind
from holdfast.entrypoints.mirror.disk import make_folder, open_to_append, put_in_place
from holdfast.entrypoints.mirror.folder import STATE, OnStep, UserFolder, folder_of, user_of
from holdfast.entrypoints.mirror.frontmatter import Unreadable
from holdfast.entrypoints.mirror.sync import UserSync
from holdfast.entrypoints.python.running import Running
from holdfast.operations.engine import Engine

DOOR = "mirror"
POLL_SECONDS = 1.0
REMOTE_POLL_SECONDS = 5.0
"""The interval where reading a space is a round trip to a database."""
REST_FACTOR = 4
"""The thread rests at least so many times the duration of a pass."""
SETTLE_SECONDS = 0.3
"""A file is read when it has not changed for so long."""
DELETE_DELAY_SECONDS = 30.0
"""The memory of a deleted file is deleted after so long, if the file has not come back."""
SPACES_PER_PAGE = 1_000
MARKER = "store.json"
FORMAT = 1

log = logging.getLogger("holdfast")


def ignore_step(_: str) -> None:
    """Does nothing after a step; tests stop the mirror here."""


class Mirror:
    """Synchronises the folders of all users.

    Raises Unavailable when the folder belongs to another store, is in use, or cannot be written."""

    def __init__(
        self,
        memory: Running,
        root: Path,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        settle: float = SETTLE_SECONDS,
        delete_delay: float = DELETE_DELAY_SECONDS,
        on_step: OnStep = ignore_step,
    ) -> None:
        if memory.opened.engine is None:
            raise Unavailable(memory.reason)
        self._memory = memory
        self._engine: Engine = memory.opened.engine
        self._root = root.expanduser().absolute()
        self._monotonic, self._settle, self._delete_delay = monotonic, settle, delete_delay
        self._on_step = on_step
        self._users: dict[str, UserSync] = {}
        self._ignored: set[str] = set()
        self._least_pause = REMOTE_POLL_SECONDS if self._engine.sealed.store.remote else POLL_SECONDS
        self._worker = BackgroundWorker(
            "holdfast-mirror",
            self._sync_and_rest,
            failure="the mirror will try again",
            interval=self._least_pause,
        )
        self._store = fingerprint(self._engine.sealed.store_key, b"markdown mirror").hex()[:32]
        self._lock = self._claim()

    def start(self) -> None:
        self._worker.start()

    def stop(self) -> None:
        self._worker.stop()
        for user in self._users.values():
            user.close()
        self._lock.close()

    def sync(self) -> None:
        """Synchronises all users once. Logs the errors of a user; the next pass tries again."""
        if not self._is_ours():
            log.error("the mirror's folder %s is gone, or another store's; nothing is written", self._root)
            return
        for user in self._all_users():
            try:
                self._sync_of(user).run()
            except (HoldfastError, OSError, Unreadable) as error:
                log.warning("the mirror of %s could not be brought up to date: %s", folder_of(user), error)

    def _sync_and_rest(self) -> None:
        """Synchronizes once, and rests longer after a longer pass."""
        began = self._monotonic()
        try:
            self.sync()
        finally:
            self._worker.interval = max(self._least_pause, REST_FACTOR * (self._monotonic() - began))

    def _all_users(self) -> list[str]:
        """Returns users with a space, and users with a folder that a person made."""
        known = list(self._users_with_spaces())
        folders = self._root / "users"
        found = {item.name for item in folders.iterdir()} if folders.is_dir() else set()
        for name in sorted(found.difference(map(folder_of, known))):
            user = user_of(name)
            if user is not None:
                known.append(user)
            elif name not in self._ignored:
                self._ignored.add(name)
                log.warning(
                    "the mirror's folder `%s` is no user's; `alice` has the folder `alice`", seen(name)
                )
        return known

    def _users_with_spaces(self) -> Iterator[str]:
        sealed, after = self._engine.sealed, None
        while rows := sealed.store.spaces.all_after(after, SPACES_PER_PAGE):
            for row in rows:
                if row.kind == SpaceKind.USER:
                    with suppress(HoldfastError):  # a space that does not open is skipped
                        yield sealed.open_space(row).ref
            after = rows[-1].id

    def _sync_of(self, user: str) -> UserSync:
        sync = self._users.get(user)
        if sync is None:
            session = self._memory.session(Caller(principal(PrincipalKind.USER, user), door=DOOR))
            path = self._root / "users" / folder_of(user)
            folder = UserFolder(path, self._engine.limits.body_bytes, self._settle, self._on_step)
            sync = self._users[user] = UserSync(
                self._engine,
                session,
                folder,
                monotonic=self._monotonic,
                delete_delay=self._delete_delay,
                on_step=self._on_step,
            )
        return sync

    def _claim(self) -> IO[Any]:
        """Locks the folder and marks an empty one as this store's. Refuses that of another store, or other files."""
        try:
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
            state = self._root / STATE
            if not state.exists() and any(self._root.iterdir()):
                raise Unavailable(
                    f"{self._root} is not empty and no mirror of this store; choose an empty folder."
                )
            make_folder(state)
            lock = _locked(state / "lock")
            if not (state / MARKER).exists():
                marker = json.dumps({"store": self._store, "format": FORMAT}) + "\n"
                put_in_place(state / MARKER, marker.encode(), state / "marker.new")
        except (OSError, Unreadable) as error:
            raise Unavailable(f"The mirror cannot use the folder {self._root}: {error}.") from error
        if not self._is_ours():
            lock.close()
            raise Unavailable(f"{self._root} is the mirror of another store; choose an empty folder.")
        return lock

    def _is_ours(self) -> bool:
        try:
            marker = json.loads((self._root / STATE / MARKER).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return isinstance(marker, dict) and (marker.get("store"), marker.get("format")) == (
            self._store,
            FORMAT,
        )


def _locked(path: Path) -> IO[Any]:
    """Returns a locked file; closing it, or the end of the process, releases the lock."""
    file = open_to_append(path)
    try:
        import fcntl
    except ImportError:  # Windows
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise Unavailable(f"Another process mirrors into {path.parent.parent} already.") from None
    return file


@contextmanager
def mirrored(memory: Running, root: Path | None) -> Iterator[None]:
    """Runs a mirror beside a server. Without a folder, or while memory is off, there is none."""
    if root is None or not memory.enabled:
        yield
        return
    mirror = Mirror(memory, root)
    mirror.start()
    try:
        yield
    finally:
        mirror.stop()
