"""An open store, or the reason why it is not open, for every interface that serves it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote
from uuid import UUID

from holdfast.background import BackgroundWorker
from holdfast.contracts.host import Clock, Directory
from holdfast.disk import on_disk
from holdfast.domain.errors import HoldfastError, InvalidField, Locked, Unavailable
from holdfast.domain.limits import check_list, check_mapping, check_words
from holdfast.domain.principal import Caller, Principal, PrincipalKind, principal
from holdfast.domain.space import Space
from holdfast.entrypoints.python.maintenance import Audit, Keys
from holdfast.operations.agents import note_owner
from holdfast.operations.engine import Engine
from holdfast.operations.results import Swept
from holdfast.operations.rotate_keys import count_uses, rotate_worn
from holdfast.operations.session import Session
from holdfast.operations.spaces import managed_space
from holdfast.operations.sweep import sweep
from holdfast.operations.tool_runs import SECONDS as RECORD_SECONDS
from holdfast.operations.tool_runs import record
from holdfast.recall.embed_pending import EmbeddingWorker, wait_until_embedded
from holdfast.recall.index import IndexStatus
from holdfast.recall.models import build_vector_index, drop_model, drop_vector_index, use_model
from holdfast.settings import Settings, load, load_without_file
from holdfast.wiring import Opened, locate_store, open_engine, shut, system_clock

log = logging.getLogger("holdfast")


class Running:
    """A store with its background workers, or the reason why there is none."""

    def __init__(self, opened: Opened, settings: Settings, clock: Clock) -> None:
        self.opened = opened
        self.limits = settings.limits
        self._clock = clock
        self._sweeper: BackgroundWorker | None = None
        self._embedding_worker: EmbeddingWorker | None = None
        self._recorder: BackgroundWorker | None = None
        if opened.engine is not None:
            self._embedding_worker = EmbeddingWorker(opened.engine.index)
            self._embedding_worker.start()
            opened.engine.reads.start()
            if settings.sweep_seconds:
                self._sweeper = BackgroundWorker(
                    "holdfast-sweeper",
                    self.sweep,
                    failure="the sweep failed and will try again",
                    interval=settings.sweep_seconds,
                )
                self._sweeper.start()

    @property
    def enabled(self) -> bool:
        return self.opened.engine is not None

    @property
    def reason(self) -> str | None:
        return self.opened.reason

    def session(self, caller: Caller) -> Session:
        """Returns the session of an authenticated caller."""
        session = Session(self.opened.engine, caller, self.limits, self._clock, self.opened.reason or "")
        if caller.owner is not None and not session.is_off:
            note_owner(session)
        return session

    def warm(self) -> None:
        """Loads the embedder before the first query. A broken one is reported by every answer."""
        if self.opened.engine is not None:
            self.opened.engine.index.ready()

    def readiness(self) -> dict[str, str]:
        """Returns `ok` or the problem of each part. Keys and schema were checked when the store was opened."""
        engine, reason = self.opened.engine, self.reason or "unknown"
        if engine is None:
            failed = "keys" if self.opened.failed == Locked.code else "store"
            return {"store": "unknown", "keys": "unknown", "schema": "unknown"} | {failed: reason}
        try:
            engine.sealed.store.models.all()
        except HoldfastError as error:
            return {"store": error.message, "keys": "ok", "schema": "unknown"}
        return {"store": "ok", "keys": "ok", "schema": "ok"}

    def record(self) -> None:
        """Starts to record runs of tools, in the background."""
        engine = self.opened.engine
        if self._recorder is None and engine is not None:
            self._recorder = BackgroundWorker(
                "holdfast-recorder",
                partial(record, engine),
                failure="runs could not be recorded yet",
                delay=RECORD_SECONDS,
                signal=engine.runs.work,
            )
            self._recorder.start()

    def sweep(self) -> Swept:
        if self.opened.engine is None:
            return Swept()
        swept = sweep(self.opened.engine)
        rotate_worn(self.opened.engine)
        return swept

    def stop(self) -> None:
        """Finishes submitted jobs, then closes the store."""
        if self._sweeper is not None:
            self._sweeper.stop()
        if self._recorder is not None and self.opened.engine is not None:
            self._recorder.stop()
            record(self.opened.engine)
        if self._embedding_worker is not None:
            self._embedding_worker.stop()
        if self.opened.engine is not None:
            self.opened.engine.reads.stop()
            try:
                count_uses(self.opened.engine)
            except HoldfastError as error:
                log.warning("how often keys were used could not be counted: %s", error.message)
            self.opened.engine.sealed.close()


OwnFacade = TypeVar("OwnFacade")
AdministrationFacade = TypeVar("AdministrationFacade")
HandleFacade = TypeVar("HandleFacade")


class Opening(Generic[OwnFacade, AdministrationFacade, HandleFacade]):
    """The Python interface of a store. The two memories differ in the facades they return."""

    _own: Callable[[Any], OwnFacade]
    _administration: Callable[[Any], AdministrationFacade]
    _handle: Callable[[Session, Principal, str | None], HandleFacade]
    _transport: Callable[[Session], Any]

    def __init__(self, opened: Opened, settings: Settings, clock: Clock) -> None:
        self._running = Running(opened, settings, clock)
        self._opened = opened

    @property
    def reason(self) -> str | None:
        """Why memory is off; None when it is on."""
        return self._opened.reason

    @property
    def enabled(self) -> bool:
        return self._opened.engine is not None

    @property
    def path(self) -> Path | None:
        """The store's file; None for a store in memory."""
        return self._opened.path

    @property
    def keys(self) -> Keys:
        return Keys(self._opened)

    @property
    def audit(self) -> Audit:
        return Audit(self._opened)

    @property
    def running(self) -> Running:
        """The open store, for another interface such as a host's own server."""
        return self._running

    def sweep(self) -> Swept:
        """Removes expired memories and old trash now, instead of at the next sweep."""
        return self._running.sweep()

    def index(self) -> IndexStatus:
        """Returns the state of recall's index: memories without a vector, and the model that serves."""
        if self._opened.engine is None:
            return IndexStatus(0, None, note=self.reason)
        return self._opened.engine.index.status()

    def use_model(self, name: str) -> IndexStatus:
        """Switches to another model whose vectors are stored: the former one, or one that was held back."""
        return use_model(self._engine().index, name)

    def drop_model(self, name: str) -> int:
        """Removes the vectors of a model that does not serve, and returns their number."""
        return drop_model(self._engine().index, name)

    def build_vector_index(self, owner: str, space: str | UUID) -> str:
        """Builds an approximate index over the vectors of one huge space on PostgreSQL, and returns its name. `owner`
        is a user who may manage the space."""
        return build_vector_index(self._engine().index, self._managed(owner, space))

    def drop_vector_index(self, owner: str, space: str | UUID) -> None:
        """Drops the index, so that all vectors of the space are compared again."""
        drop_vector_index(self._engine().index, self._managed(owner, space))

    def _managed(self, owner: str, space: str | UUID) -> Space:
        session = self._running.session(Caller(principal(PrincipalKind.USER, owner)))
        return managed_space(session, space)

    def _engine(self) -> Engine:
        if self._opened.engine is None:
            raise Unavailable(self.reason)
        return self._opened.engine

    def _settle(self, timeout: float) -> IndexStatus:
        if self._opened.engine is None:
            return self.index()
        return wait_until_embedded(self._opened.engine.index, timeout)

    def user(
        self,
        id: str,
        *,
        roles: Iterable[str] = ("member",),
        teams: Iterable[str] = (),
        systems: Mapping[str, str] | None = None,
    ) -> OwnFacade:
        """Returns the calls of a user."""
        caller = Caller(
            principal(PrincipalKind.USER, id),
            roles=frozenset(check_list("roles", roles)),
            teams=frozenset(check_list("teams", teams)),
            systems=_systems(systems),
        )
        return self._own(self._transport(self._running.session(caller)))

    def agent(
        self,
        id: str,
        *,
        user: str | None = None,
        chat: str | None = None,
        systems: Mapping[str, str] | None = None,
        owner: str | None = None,
    ) -> OwnFacade:
        """Returns the calls of an agent. It works for `user` in `chat` right now, and belongs to `owner`."""
        caller = Caller(
            principal(PrincipalKind.AGENT, id),
            session_user=None if user is None else principal(PrincipalKind.USER, user),
            chats=frozenset() if chat is None else frozenset({check_words("chat", chat)}),
            systems=_systems(systems),
            owner=None if owner is None else principal(PrincipalKind.USER, owner),
        )
        return self._own(self._transport(self._running.session(caller)))

    def service(
        self, id: str, *, run: str | None = None, systems: Mapping[str, str] | None = None
    ) -> OwnFacade:
        """Returns the calls of an unattended caller."""
        caller = Caller(
            principal(PrincipalKind.SERVICE, id), run=run, unattended=True, systems=_systems(systems)
        )
        return self._own(self._transport(self._running.session(caller)))

    def administration(self, id: str) -> AdministrationFacade:
        """Returns the calls of an administrator, made as this user."""
        session = self._running.session(Caller(principal(PrincipalKind.USER, id), roles=frozenset({"admin"})))
        return self._administration(self._transport(session))

    def handle(self, subject: str = "", *, session: str | None = None) -> HandleFacade | None:
        """Returns the handle with which tool code stores values for a subject; None when memory is off."""
        if not self.enabled:
            return None
        who = principal(PrincipalKind.USER, subject)
        return self._handle(self._running.session(Caller(who, door="handler")), who, session)


def open_where(
    where: str | os.PathLike[str] | None,
    required: bool,
    key: str | None,
    old_keys: str | None,
    durability: str | None,
    sweep_seconds: float | None,
    embedder: str | None,
    clock: Clock,
    directory: Directory | None,
) -> tuple[Opened, Settings, Clock]:
    options = {
        "memory_key": key,
        "memory_old_keys": old_keys,
        "durability": durability,
        "sweep_seconds": sweep_seconds,
        "embedder": embedder,
    }
    try:
        settings = load(**options, **settings_for(where))
    except Unavailable as error:
        if required:
            raise
        return shut(error), load_without_file(**options), clock
    return open_engine(settings, clock, directory, required=required), settings, clock


def open_settings(settings: Settings) -> Running:
    """Opens the store for a server, which serves one that cannot be opened as memory that is off. A node of a shared
    store without a key does not start, because it will never have one."""
    required = settings.memory_key is None and locate_store(settings).is_shared
    return Running(open_engine(settings, system_clock, None, required=required), settings, system_clock)


def _systems(systems: object) -> dict[str, str]:
    levels = {} if systems is None else check_mapping("systems", systems)
    if not all(isinstance(name, str) and level in ("read", "manage") for name, level in levels.items()):
        raise InvalidField("A system is open to `read` or to `manage`.")
    return levels


def settings_for(where: str | os.PathLike[str] | None) -> dict[str, str]:
    if where is None:
        return {}
    text = os.fspath(where)
    if not isinstance(text, str) or not text:
        raise InvalidField("Name a folder, a database file or a URL.")
    if "://" in text:
        return {"database_url": text}
    if "dbname=" in text:
        raise InvalidField("Name a database by its URL: postgresql://…")
    if text == ":memory:":
        return {"database_url": "sqlite://"}
    path = Path(text).expanduser()
    with on_disk(path):
        is_database = path.is_file() or (not path.is_dir() and path.suffix)
    if is_database:
        return {
            "database_url": f"sqlite:///{quote(str(path.absolute()))}",
            "data_dir": str(path.absolute().parent),
        }
    return {"data_dir": str(path.absolute())}
