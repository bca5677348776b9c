"""Puts the parts together: chooses the storage backend, the keys, the embedder and the clock."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast
from urllib.parse import unquote

from holdfast.contracts.host import Clock, Directory, Embedder, EmbedderBroken
from holdfast.contracts.rows import STORE, KeyRow
from holdfast.contracts.storage import Store
from holdfast.crypto.keyfile import (
    ENDING,
    OFF,
    SUFFIX,
    Masters,
    adopt_next_key,
    copy_key_file,
    is_made,
    key_file_of,
    masters,
    next_key_file,
)
from holdfast.disk import on_disk
from holdfast.domain.errors import HoldfastError, InvalidField, Locked, Unavailable
from holdfast.operations.engine import Engine
from holdfast.operations.key_backup import PutBack, put_back
from holdfast.recall.index import Index
from holdfast.safety.scrub import scrub
from holdfast.settings import Settings
from holdfast.storage.sealed_store import SealedStore, check_canary, open_sealed_store

if TYPE_CHECKING:
    from holdfast.storage.postgres.citus import Spread

DATABASE = "holdfast.db"
MEMORY = "sqlite://"

CheckKeys = Callable[[list[KeyRow]], None]


class Backend(Protocol):
    """The functions that the `store` module of a storage backend offers."""

    def look_first(self, file: Path, check: CheckKeys | None) -> None:
        """Refuses a file that is not a store of this backend, without changing it. Embedded backends alone have it."""
        ...

    def open_store(self, settings: Settings, file: Path | None, check: CheckKeys) -> Store:
        """Opens or makes the store. `check` sees the store's own keys before anything is changed, and may refuse."""
        ...


class BackendRow(NamedTuple):
    title: str
    module: str
    is_shared: bool
    """True for a database server, which many nodes use at once; False for a file or the memory of this process."""
    extra: str = ""
    """The extra of the distribution that installs the driver."""


BACKENDS = {
    "sqlite": BackendRow("SQLite", "holdfast.storage.sqlite.store", is_shared=False),
    "postgresql": BackendRow(
        "PostgreSQL", "holdfast.storage.postgres.store", is_shared=True, extra="postgres"
    ),
    "postgres": BackendRow("PostgreSQL", "holdfast.storage.postgres.store", is_shared=True, extra="postgres"),
}
"""Storage backends by the scheme of their URLs."""


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """The place of a store: a backend, and the database file of an embedded one (None: in memory)."""

    backend: BackendRow
    file: Path | None

    @property
    def is_shared(self) -> bool:
        return self.backend.is_shared

    @property
    def is_in_memory(self) -> bool:
        return self.file is None and not self.is_shared


@dataclass(frozen=True, slots=True)
class Opened:
    """An engine, or the reason why there is none."""

    engine: Engine | None
    masters: Masters | None = None
    path: Path | None = None
    reason: str | None = None
    failed: str | None = None
    """The error code of the reason."""


def system_clock() -> int:
    return time.time_ns() // 1_000


def open_engine(settings: Settings, clock: Clock, directory: Directory | None, *, required: bool) -> Opened:
    if settings.memory_key == OFF:
        return Opened(None, reason="Memory is off (HOLDFAST_MEMORY_KEY=off); nothing is kept.")
    try:
        return _open(settings, clock, directory)
    except HoldfastError as error:
        if required:
            raise
        return shut(error)


def shut(error: HoldfastError) -> Opened:
    return Opened(None, reason=error.message, failed=error.code)


def _open(settings: Settings, clock: Clock, directory: Directory | None) -> Opened:
    location = _prepared(settings)
    keys = _masters(settings, location)
    while True:
        try:
            return _open_with(keys, settings, location, clock, directory)
        except Locked:
            if keys.file is None:
                raise
            tried, keys = keys, _masters(settings, location)
            if [master.id for master in keys.all] == [master.id for master in tried.all]:
                raise  # else the key file was rotated between reading it and opening the store


def _open_with(
    keys: Masters, settings: Settings, location: StoreLocation, clock: Clock, directory: Directory | None
) -> Opened:
    store = _open_store(settings, location, keys)
    try:
        keys = _finish_rotation(store, keys)
        sealed = open_sealed_store(
            store,
            keys.all,
            clock(),
            ephemeral=keys.ephemeral,
            reload=lambda: _masters(settings, location).all,
        )
        return Opened(_engine(settings, clock, directory, sealed), keys, location.file)
    except BaseException:
        store.close()
        raise


def _engine(settings: Settings, clock: Clock, directory: Directory | None, sealed: SealedStore) -> Engine:
    embedder = None if settings.embedder == "none" else partial(_open_embedder, settings)
    scrubber = partial(scrub, cards=True) if settings.scrub_cards else scrub
    return Engine(
        sealed,
        clock,
        scrubber,
        Index(sealed, clock, scrubber, embedder, settings.recall_cache_bytes),
        settings.limits,
        directory,
        model_may_share=settings.model_sharing,
        audit_reads=settings.audit_reads,
    )


def _open_embedder(settings: Settings) -> Embedder:
    from holdfast.recall.embedding.choose import choose_embedder

    choice = choose_embedder(settings)
    if choice.embedder is None:
        raise EmbedderBroken(choice.reason)
    return choice.embedder


def locate_store(settings: Settings) -> StoreLocation:
    url = settings.database_url
    if url is None:
        return StoreLocation(BACKENDS["sqlite"], _followed(settings.data_dir / DATABASE))
    scheme, _, rest = url.partition("://")
    backend = BACKENDS.get(scheme)
    if backend is not None and (backend.is_shared or rest in ("", "/:memory:")):
        return StoreLocation(backend, None)
    if backend is not None and rest.startswith("/"):
        return StoreLocation(backend, _followed(Path(unquote(rest[1:])).expanduser()))
    raise InvalidField(
        "HOLDFAST_DATABASE_URL is `sqlite:///path` (four slashes for an absolute path), `sqlite://`, or "
        "`postgresql://…`."
    )


def _followed(path: Path) -> Path:
    """Returns the absolute path of a file, or of the file a link leads to: SQLite puts its log there, so the key goes
    there too. Uses functions that never fail; opening the file reports what is wrong with it."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else path.absolute()  # noqa: PTH114


def _prepared(settings: Settings) -> StoreLocation:
    """Locates the store. Refuses a database file with the name of a key file, and one of another program before a key
    is made for it; makes its folder."""
    location = locate_store(settings)
    if location.file is not None:
        refuse_name_of_key(settings, location.file)
        _make_folder(location.file.parent)
        _backend(location).look_first(location.file, None)
    return location


def refuse_name_of_key(settings: Settings, path: Path) -> None:
    name = path.name.lower().removesuffix(".next").removesuffix(".lock")
    if settings.memory_key is None and name.endswith((SUFFIX, ENDING)):
        better = path.name.split(".")[0].removesuffix(ENDING) or "notes"
        raise InvalidField(
            f"{path.name} is the name of a key file, not of a database; choose another, for example {better}.db."
        )


def _make_folder(folder: Path) -> None:
    with on_disk(folder):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except FileExistsError:
            raise Unavailable(f"{folder} is not a folder; name another, or move that file away.") from None


def _masters(settings: Settings, location: StoreLocation) -> Masters:
    if location.is_shared and settings.memory_key is None:
        raise Locked(
            f"A store on {location.backend.title} has no key file: set HOLDFAST_MEMORY_KEY to the same key on every "
            "node. This makes one: python -c 'import secrets; print(secrets.token_hex(32))'"
        )
    key_file = None if location.file is None else key_file_of(location.file)
    if location.file is not None and key_file is not None and settings.memory_key is None:
        with on_disk(key_file):
            missing = is_made(location.file) and not key_file.exists()
        if missing:
            raise Locked(
                f"The key file {key_file.name} of this store is missing; put it back, or set HOLDFAST_MEMORY_KEY."
            )
    return masters(settings.memory_key, settings.memory_old_keys, key_file)


def _finish_rotation(store: Store, keys: Masters) -> Masters:
    """Adopts the next key where a process ended after wrapping every data key with it and before replacing the file."""
    if keys.file is None or len(keys.all) < 2 or not next_key_file(keys.file).exists():
        return keys
    current, waiting, *old = keys.all
    if any(row.master == waiting.id for row in store.keys.of(STORE)):
        adopt_next_key(keys.file)
        return replace(keys, all=(waiting, current, *old))
    return keys


def _open_store(settings: Settings, location: StoreLocation, keys: Masters) -> Store:
    def check(rows: list[KeyRow]) -> None:
        check_canary(rows, keys.all, ephemeral=keys.ephemeral)

    return _backend(location).open_store(settings, location.file, check)


def _backend(location: StoreLocation) -> Backend:
    return cast(Backend, _imported(location.backend, location.backend.module))


def _imported(backend: BackendRow, module: str) -> ModuleType:
    try:
        return import_module(module)
    except ImportError as error:
        if not backend.extra:
            raise
        raise Unavailable(
            f"{backend.title} needs its driver: install `holdfast-memory[{backend.extra}]`."
        ) from error


def distribute(url: str) -> Spread:
    """Spreads the tables of a PostgreSQL store over a Citus cluster."""
    spread: Spread = _imported(BACKENDS["postgresql"], "holdfast.storage.postgres.citus").distribute(url)
    return spread


def put_back_keys(settings: Settings, rows: list[KeyRow]) -> PutBack:
    """Puts keys back into a store that may not open without them: its own key may be among them."""
    location = _prepared(settings)
    keys = _masters(settings, location)
    store = _open_store(settings, location, keys)
    try:
        return put_back(store, keys.all, rows)
    finally:
        store.close()


def open_store_for_moving(settings: Settings, source: Opened) -> Store:
    """Opens the target of a move. It takes over the keys of the source, and gets a copy of its key file."""
    assert source.masters is not None
    location = _prepared(settings)
    if location.is_in_memory:
        raise InvalidField("A store in memory is gone at the end; move to a file or a database.")
    if location.file is not None and source.masters.file is not None:
        copy_key_file(source.masters.file, key_file_of(location.file))
    return _open_store(settings, location, source.masters)
