"""The Python door: `holdfast.open()` and `holdfast.aopen()`, two ways of waiting for the same calls."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar
from urllib.parse import quote

from holdfast.contracts.clock import Clock
from holdfast.contracts.directory import Directory
from holdfast.domain.errors import HoldfastError, InvalidField, Unavailable
from holdfast.domain.limits import check_list, check_mapping, check_words
from holdfast.domain.principal import Caller, Principal, PrincipalKind, principal
from holdfast.entrypoints.keys import Keys
from holdfast.entrypoints.waiting import (
    Door,
    awaiting,
    blocking,
    reading,
    reading_aside,
    reading_later,
    reading_there,
)
from holdfast.operations.answers import Swept
from holdfast.operations.change_model import drop_model, use_model
from holdfast.operations.engine import Engine
from holdfast.operations.index import IndexStatus
from holdfast.operations.settle import Settler, settle
from holdfast.operations.sweep import Sweeper, sweep
from holdfast.settings import Settings, load
from holdfast.surfaces.administration import AdministrationCalls
from holdfast.surfaces.core import CoreCalls
from holdfast.surfaces.facts import FactCalls
from holdfast.surfaces.handler import HandlerCalls
from holdfast.surfaces.seat import Seat
from holdfast.wiring import Opened, open_engine, system_clock

log = logging.getLogger("holdfast")


class Facts(Door):
    store = blocking(FactCalls.store)
    recall = reading_there(FactCalls.recall)
    get = reading(FactCalls.get)
    list = reading(FactCalls.list)
    history = reading(FactCalls.history)
    forget = blocking(FactCalls.forget)
    my_memory = reading(FactCalls.my_memory)


class AsyncFacts(Door):
    store = awaiting(FactCalls.store)
    recall = reading_aside(FactCalls.recall)
    get = reading_later(FactCalls.get)
    list = reading_later(FactCalls.list)
    history = reading_later(FactCalls.history)
    forget = awaiting(FactCalls.forget)
    my_memory = reading_later(FactCalls.my_memory)


class Administration(Door):
    set_participants = blocking(AdministrationCalls.set_participants)
    set_system_access = blocking(AdministrationCalls.set_system_access)
    set_rules = blocking(AdministrationCalls.set_rules)


class AsyncAdministration(Door):
    set_participants = awaiting(AdministrationCalls.set_participants)
    set_system_access = awaiting(AdministrationCalls.set_system_access)
    set_rules = awaiting(AdministrationCalls.set_rules)


class Own(Door):
    """One principal's door."""

    facts: Facts

    def __init__(self, seat: Seat) -> None:
        super().__init__(CoreCalls(seat), seat)
        self.facts = Facts(FactCalls(seat), seat)

    remember = blocking(CoreCalls.remember)
    remember_many = blocking(CoreCalls.remember_many)
    get = reading(CoreCalls.get)
    list = reading(CoreCalls.list)
    recall = reading(CoreCalls.recall)
    why_not = reading(CoreCalls.why_not)
    similar = reading(CoreCalls.similar)
    history = reading(CoreCalls.history)
    edit = blocking(CoreCalls.edit)
    replace = blocking(CoreCalls.replace)
    rename = blocking(CoreCalls.rename)
    flag = blocking(CoreCalls.flag)
    undo = blocking(CoreCalls.undo)
    trash = blocking(CoreCalls.trash)
    trashed = reading(CoreCalls.trashed)
    locked = reading(CoreCalls.locked)
    restore = blocking(CoreCalls.restore)
    purge = blocking(CoreCalls.purge)
    forget = blocking(CoreCalls.forget)
    share = blocking(CoreCalls.share)
    unshare = blocking(CoreCalls.unshare)
    grants = reading(CoreCalls.grants)
    spaces = reading(CoreCalls.spaces)
    create_space = blocking(CoreCalls.create_space)


class AsyncOwn(Door):
    """One principal's door, awaited."""

    facts: AsyncFacts

    def __init__(self, seat: Seat) -> None:
        super().__init__(CoreCalls(seat), seat)
        self.facts = AsyncFacts(FactCalls(seat), seat)

    remember = awaiting(CoreCalls.remember)
    remember_many = awaiting(CoreCalls.remember_many)
    get = reading_later(CoreCalls.get)
    list = reading_later(CoreCalls.list)
    recall = reading_aside(CoreCalls.recall)
    why_not = reading_aside(CoreCalls.why_not)
    similar = reading_aside(CoreCalls.similar)
    history = reading_later(CoreCalls.history)
    edit = awaiting(CoreCalls.edit)
    replace = awaiting(CoreCalls.replace)
    rename = awaiting(CoreCalls.rename)
    flag = awaiting(CoreCalls.flag)
    undo = awaiting(CoreCalls.undo)
    trash = awaiting(CoreCalls.trash)
    trashed = reading_later(CoreCalls.trashed)
    locked = reading_later(CoreCalls.locked)
    restore = awaiting(CoreCalls.restore)
    purge = awaiting(CoreCalls.purge)
    forget = awaiting(CoreCalls.forget)
    share = awaiting(CoreCalls.share)
    unshare = awaiting(CoreCalls.unshare)
    grants = reading_later(CoreCalls.grants)
    spaces = reading_later(CoreCalls.spaces)
    create_space = awaiting(CoreCalls.create_space)


class Handle(Door):
    """What tool code keeps for one subject, or one session of it."""

    _calls: HandlerCalls

    def __init__(self, seat: Seat, subject: Principal, session: str | None) -> None:
        super().__init__(HandlerCalls(seat, subject, session), seat)
        self._subject = subject

    store = blocking(HandlerCalls.store)
    recall = reading_there(HandlerCalls.recall)
    list = reading_there(HandlerCalls.list)
    delete = blocking(HandlerCalls.delete)
    context = reading_there(HandlerCalls.context)

    def namespace(self) -> str:
        return self._calls.namespace()

    def across_sessions(self) -> Handle:
        """The subject's own namespace: for what the next session is to find again."""
        return Handle(self._seat, self._subject, None)


class AsyncHandle(Door):
    """What tool code keeps for one subject, or one session of it, awaited."""

    _calls: HandlerCalls

    def __init__(self, seat: Seat, subject: Principal, session: str | None) -> None:
        super().__init__(HandlerCalls(seat, subject, session), seat)
        self._subject = subject

    store = awaiting(HandlerCalls.store)
    recall = reading_later(HandlerCalls.recall)
    list = reading_later(HandlerCalls.list)
    delete = awaiting(HandlerCalls.delete)
    context = reading_later(HandlerCalls.context)

    def namespace(self) -> str:
        return self._calls.namespace()

    def across_sessions(self) -> AsyncHandle:
        return AsyncHandle(self._seat, self._subject, None)


OwnDoor = TypeVar("OwnDoor")
AdministrationDoor = TypeVar("AdministrationDoor")
HandleDoor = TypeVar("HandleDoor")


class Opening(Generic[OwnDoor, AdministrationDoor, HandleDoor]):
    """A store that is open, or the reason why it is not. The two memories differ only in the doors they give."""

    _own: Callable[[Seat], OwnDoor]
    _administration: Callable[[AdministrationCalls, Seat], AdministrationDoor]
    _handle: Callable[[Seat, Principal, str | None], HandleDoor]

    def __init__(self, opened: Opened, settings: Settings, clock: Clock) -> None:
        self._opened = opened
        self._settings = settings
        self._clock = clock
        self._sweeper: Sweeper | None = None
        self._settler: Settler | None = None
        if opened.engine is not None:
            self._settler = Settler(opened.engine)
            self._settler.start()
            if settings.sweep_seconds:
                self._sweeper = Sweeper(self._sweep_quietly, settings.sweep_seconds)
                self._sweeper.start()

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

    def sweep(self) -> Swept:
        """Removes what has expired and old trash now, instead of waiting for the next turn."""
        return Swept() if self._opened.engine is None else sweep(self._opened.engine)

    def _sweep_quietly(self) -> None:
        try:
            self.sweep()
        except HoldfastError as error:
            log.warning("the sweep failed and will try again: %s", error.message)

    def index(self) -> IndexStatus:
        """How far recall's index is: what still waits for its vector, and which model serves."""
        if self._opened.engine is None:
            return IndexStatus(0, None, note=self.reason)
        return self._opened.engine.index.status()

    def use_model(self, name: str) -> IndexStatus:
        """Lets another model serve whose vectors are kept: the former one, or one that was held back."""
        return use_model(self._engine(), name)

    def drop_model(self, name: str) -> int:
        """Removes the vectors of a model that does not serve; says how many there were."""
        return drop_model(self._engine(), name)

    def _engine(self) -> Engine:
        if self._opened.engine is None:
            raise Unavailable(self.reason)
        return self._opened.engine

    def _settle(self, timeout: float) -> IndexStatus:
        return self.index() if self._opened.engine is None else settle(self._opened.engine, timeout)

    def _close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.stop()
        if self._settler is not None:
            self._settler.stop()
        if self._opened.engine is not None:
            self._opened.engine.sealed.close()

    def _seat(self, caller: Caller) -> Seat:
        return Seat(self._opened.engine, caller, self._settings.limits, self._clock, self.reason or "")

    def user(
        self,
        id: str,
        *,
        roles: Iterable[str] = ("member",),
        teams: Iterable[str] = (),
        systems: Mapping[str, str] | None = None,
    ) -> OwnDoor:
        """A user's door."""
        caller = Caller(
            principal(PrincipalKind.USER, id),
            roles=frozenset(check_list("roles", roles)),
            teams=frozenset(check_list("teams", teams)),
            systems=_systems(systems),
        )
        return self._own(self._seat(caller))

    def agent(
        self,
        id: str,
        *,
        user: str | None = None,
        chat: str | None = None,
        systems: Mapping[str, str] | None = None,
    ) -> OwnDoor:
        """An agent's door; `user` and `chat` are those it works for and in right now."""
        caller = Caller(
            principal(PrincipalKind.AGENT, id),
            session_user=None if user is None else principal(PrincipalKind.USER, user),
            chats=frozenset() if chat is None else frozenset({check_words("chat", chat)}),
            systems=_systems(systems),
        )
        return self._own(self._seat(caller))

    def service(
        self, id: str, *, run: str | None = None, systems: Mapping[str, str] | None = None
    ) -> OwnDoor:
        """The door of an unattended caller."""
        caller = Caller(
            principal(PrincipalKind.SERVICE, id), run=run, unattended=True, systems=_systems(systems)
        )
        return self._own(self._seat(caller))

    def administration(self, id: str) -> AdministrationDoor:
        """What administrators set, as this user."""
        seat = self._seat(Caller(principal(PrincipalKind.USER, id), roles=frozenset({"admin"})))
        return self._administration(AdministrationCalls(seat), seat)

    def handle(self, subject: str = "", *, session: str | None = None) -> HandleDoor | None:
        """What tool code keeps for a subject; None when memory is off."""
        if not self.enabled:
            return None
        who = principal(PrincipalKind.USER, subject)
        return self._handle(self._seat(Caller(who, door="handler")), who, session)


class Memory(Opening[Own, Administration, Handle]):
    """An open store. Ask it for someone's door: `memory.user("alice")`."""

    _own = Own
    _administration = Administration
    _handle = Handle

    def settle(self, timeout: float = 60) -> IndexStatus:
        """Returns when every committed entry has its vector; Unavailable when that takes longer, or cannot be."""
        return self._settle(timeout)

    def close(self) -> None:
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncMemory(Opening[AsyncOwn, AsyncAdministration, AsyncHandle]):
    """An open store whose doors are awaited."""

    _own = AsyncOwn
    _administration = AsyncAdministration
    _handle = AsyncHandle

    async def settle(self, timeout: float = 60) -> IndexStatus:
        return await asyncio.to_thread(self._settle, timeout)

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def open_memory(
    where: str | os.PathLike[str] | None = None,
    *,
    required: bool = True,
    key: str | None = None,
    old_keys: str | None = None,
    durability: str | None = None,
    sweep_seconds: float | None = None,
    embedder: str | None = None,
    clock: Clock = system_clock,
    directory: Directory | None = None,
) -> Memory:
    """Opens the store: `where` is a folder, a database file, a URL, or nothing for the configured one. With
    `required=False` a store that cannot be opened gives a memory that is off, with its `reason`."""
    return Memory(
        *_open(where, required, key, old_keys, durability, sweep_seconds, embedder, clock, directory)
    )


async def open_memory_async(
    where: str | os.PathLike[str] | None = None,
    *,
    required: bool = True,
    key: str | None = None,
    old_keys: str | None = None,
    durability: str | None = None,
    sweep_seconds: float | None = None,
    embedder: str | None = None,
    clock: Clock = system_clock,
    directory: Directory | None = None,
) -> AsyncMemory:
    """`open_memory`, awaited; its doors are awaited too."""
    return AsyncMemory(
        *await asyncio.to_thread(
            _open, where, required, key, old_keys, durability, sweep_seconds, embedder, clock, directory
        )
    )


def _open(
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
    settings = load(
        memory_key=key,
        memory_old_keys=old_keys,
        durability=durability,
        sweep_seconds=sweep_seconds,
        embedder=embedder,
        **place_of(where),
    )
    return open_engine(settings, clock, directory, required=required), settings, clock


def _systems(systems: object) -> dict[str, str]:
    return {} if systems is None else check_mapping("systems", systems)


def place_of(where: str | os.PathLike[str] | None) -> dict[str, str]:
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
    if path.is_file() or (not path.is_dir() and path.suffix):
        return {
            "database_url": f"sqlite:///{quote(str(path.absolute()))}",
            "data_dir": str(path.absolute().parent),
        }
    return {"data_dir": str(path.absolute())}
