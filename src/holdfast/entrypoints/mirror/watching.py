"""The mirror of all users: one folder, one store, one process at a time, looked at again and again."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import IO, Any

from holdfast.crypto.blind import fingerprint
from holdfast.domain.context import seen
from holdfast.domain.errors import HoldfastError, Unavailable
from holdfast.domain.principal import Caller, PrincipalKind, principal
from holdfast.domain.space import SpaceKind
from holdfast.entrypoints.mirror.disk import make_folder, open_to_append, put_in_place
from holdfast.entrypoints.mirror.folder import STATE, Reached, UserFolder
from holdfast.entrypoints.mirror.frontmatter import Unreadable
from holdfast.entrypoints.mirror.names import folder_of, user_of
from holdfast.entrypoints.mirror.sync import UserSync
from holdfast.entrypoints.python.running import Running
from holdfast.operations.engine import Engine

DOOR = "mirror"
POLL_SECONDS = 1.0
REMOTE_POLL_SECONDS = 5.0
"""Where every look at a space is a trip to a database."""
REST = 4
"""A look that takes long is followed by so many times its length of rest."""
SETTLE_SECONDS = 0.3
"""A file is taken over when nobody has written to it for so long."""
LOOK_AGAIN_SECONDS = 30.0
"""A file that is gone takes its memory along when it is still gone after so long."""
SPACES = 1_000
MARKER = "store.json"
FORMAT = 1

log = logging.getLogger("holdfast")


def nothing(_: str) -> None:
    """Tests stop the mirror here."""


class Mirror:
    """Raises Unavailable when the folder is another store's, is used already, or cannot be written."""

    def __init__(
        self,
        memory: Running,
        root: Path,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        settle: float = SETTLE_SECONDS,
        look_again: float = LOOK_AGAIN_SECONDS,
        reached: Reached = nothing,
    ) -> None:
        if memory.opened.engine is None:
            raise Unavailable(memory.reason)
        self._memory = memory
        self._engine: Engine = memory.opened.engine
        self._root = root.expanduser().absolute()
        self._monotonic, self._settle, self._look_again = monotonic, settle, look_again
        self._reached = reached
        self._users: dict[str, UserSync] = {}
        self._odd: set[str] = set()
        self._stop = Event()
        self._thread = Thread(target=self._serve, name="holdfast-mirror", daemon=True)
        self._store = fingerprint(self._engine.sealed.store_key, b"markdown mirror").hex()[:32]
        self._lock = self._claim()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        for user in self._users.values():
            user.close()
        self._lock.close()

    def look(self) -> None:
        """Once over all users. What goes wrong for one of them is logged and tried again at the next look."""
        if not self._is_ours():
            log.error("the mirror's folder %s is gone, or another store's; nothing is written", self._root)
            return
        for user in self._who():
            try:
                self._sync_of(user).look()
            except (HoldfastError, OSError, Unreadable) as error:
                log.warning("the mirror of %s could not be brought up to date: %s", folder_of(user), error)

    def _serve(self) -> None:
        least = REMOTE_POLL_SECONDS if self._engine.sealed.store.remote else POLL_SECONDS
        pause = least
        while not self._stop.wait(pause):
            began = self._monotonic()
            try:
                self.look()
            except HoldfastError as error:
                log.warning("the mirror will look again: %s", error.message)
            except Exception:
                log.exception("the mirror failed in a way it did not expect")
            pause = max(least, REST * (self._monotonic() - began))

    def _who(self) -> list[str]:
        """Users with a space, and those for whom somebody made a folder."""
        known = list(self._with_spaces())
        folders = self._root / "users"
        made = {item.name for item in folders.iterdir()} if folders.is_dir() else set()
        for name in sorted(made.difference(map(folder_of, known))):
            user = user_of(name)
            if user is not None:
                known.append(user)
            elif name not in self._odd:
                self._odd.add(name)
                log.warning(
                    "the mirror's folder `%s` is no user's; `alice` has the folder `alice`", seen(name)
                )
        return known

    def _with_spaces(self) -> Iterator[str]:
        sealed, after = self._engine.sealed, None
        while rows := sealed.store.spaces.all_after(after, SPACES):
            for row in rows:
                if row.kind == SpaceKind.USER:
                    with suppress(HoldfastError):  # one that does not open is nobody's
                        yield sealed.open_space(row).ref
            after = rows[-1].id

    def _sync_of(self, user: str) -> UserSync:
        sync = self._users.get(user)
        if sync is None:
            session = self._memory.session(Caller(principal(PrincipalKind.USER, user), door=DOOR))
            path = self._root / "users" / folder_of(user)
            folder = UserFolder(path, self._engine.limits.body_bytes, self._settle, self._reached)
            sync = self._users[user] = UserSync(
                self._engine,
                session,
                folder,
                monotonic=self._monotonic,
                look_again=self._look_again,
                reached=self._reached,
            )
        return sync

    # The folder

    def _claim(self) -> IO[Any]:
        """An empty folder becomes this store's; one that another store wrote, or somebody filled, is left alone."""
        try:
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
            state = self._root / STATE
            if not state.exists() and any(self._root.iterdir()):
                raise Unavailable(
                    f"{self._root} is not empty and no mirror of this store; name an empty folder."
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
            raise Unavailable(f"{self._root} is the mirror of another store; name an empty folder.")
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
    """Held until it is closed, or its process ends."""
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
    """A mirror beside a server, for as long as it serves; none without a folder or while memory is off."""
    if root is None or not memory.enabled:
        yield
        return
    mirror = Mirror(memory, root)
    mirror.start()
    try:
        yield
    finally:
        mirror.stop()
