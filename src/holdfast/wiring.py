"""The only place that chooses: which store, which keys, which clock."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from holdfast.contracts.embedder import Embedder, EmbedderBroken
from holdfast.contracts.host import Clock, Directory
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
    own_key_file,
)
from holdfast.disk import on_disk
from holdfast.domain.errors import HoldfastError, InvalidField, Locked, Unavailable
from holdfast.operations.engine import Engine
from holdfast.operations.key_backup import PutBack, put_back
from holdfast.recall.index import Index
from holdfast.safety.scrub import scrub
from holdfast.settings import Settings
from holdfast.storage.key_files import leave_key_to_others
from holdfast.storage.sealed_store import SealedStore, check_canary, open_sealed_store

if TYPE_CHECKING:
    from holdfast.storage.postgres.citus import Spread

DATABASE = "holdfast.db"
MEMORY = "sqlite://"


@dataclass(frozen=True, slots=True)
class Opened:
    """An engine, or the reason why there is none."""

    engine: Engine | None
    masters: Masters | None = None
    path: Path | None = None
    reason: str | None = None
    failed: str | None = None
    """The code of what went wrong."""


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
    path = _embedded(settings)
    keys = _masters(settings, path)
    while True:
        try:
            return _open_with(keys, settings, path, clock, directory)
        except Locked:
            if keys.file is None:
                raise
            tried, keys = keys, _masters(settings, path)
            if [master.id for master in keys.all] == [master.id for master in tried.all]:
                raise  # else the key file was rotated between reading it and opening the store


def _open_with(
    keys: Masters, settings: Settings, path: Path | None, clock: Clock, directory: Directory | None
) -> Opened:
    store = _open_store(settings, path, keys)
    try:
        keys = _finish_rotation(store, keys, path)
        sealed = open_sealed_store(
            store, keys.all, clock(), ephemeral=keys.ephemeral, reload=lambda: _masters(settings, path).all
        )
        return Opened(_engine(settings, clock, directory, sealed), keys, path)
    except BaseException:
        store.close()
        raise


def _engine(settings: Settings, clock: Clock, directory: Directory | None, sealed: SealedStore) -> Engine:
    wanted = None if settings.embedder == "none" else partial(_open_embedder, settings)
    return Engine(
        sealed,
        clock,
        partial(scrub, cards=True) if settings.scrub_cards else scrub,
        Index(sealed, clock, wanted, settings.recall_cache_bytes),
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


def database_path(settings: Settings) -> Path | None:
    """The file of the embedded store; None for a store in memory."""
    url = settings.database_url
    if url is None:
        return _followed(settings.data_dir / DATABASE)
    if url in (MEMORY, MEMORY + "/:memory:"):
        return None
    if url.startswith("sqlite:///"):
        return _followed(Path(unquote(url.removeprefix("sqlite:///"))).expanduser())
    if is_postgres(settings):
        return None
    raise InvalidField(
        "HOLDFAST_DATABASE_URL is `sqlite:///path` (four slashes for an absolute path), `sqlite://`, or "
        "`postgresql://…`."
    )


def _followed(path: Path) -> Path:
    """Where it is from here on, whatever directory the process goes to. SQLite follows a link to a file: its log lies
    beside what is meant, and so do the key and everything else. By functions that fail nowhere: who opens is told."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else path.absolute()  # noqa: PTH114


def is_postgres(settings: Settings) -> bool:
    return (settings.database_url or "").startswith(("postgresql://", "postgres://"))


def _embedded(settings: Settings) -> Path | None:
    """The file of the embedded store: it may have this name, its folder is there, and what it holds is ours."""
    path = database_path(settings)
    if path is not None:
        refuse_name_of_key(settings, path)
        _make_folder(path.parent)
        look_first(path)
    return path


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


def _masters(settings: Settings, path: Path | None) -> Masters:
    if is_postgres(settings) and settings.memory_key is None:
        raise Locked(
            "A store on PostgreSQL has no key file: set HOLDFAST_MEMORY_KEY to the same key on every node. This makes "
            "one: python -c 'import secrets; print(secrets.token_hex(32))'"
        )
    key_file = None if path is None else key_file_of(path)
    unset = settings.memory_key is None and key_file is not None and not key_file.exists()
    if unset and path is not None and is_made(path):
        raise Locked(
            f"The key file {key_file_of(path).name} of this store is missing; put it back, or set HOLDFAST_MEMORY_KEY."
        )
    return masters(settings.memory_key, settings.memory_old_keys, key_file)


def _finish_rotation(store: Store, keys: Masters, path: Path | None) -> Masters:
    """A process that ended between wrapping every key anew and replacing the key file left the new key beside it."""
    if path is None or keys.file is None or len(keys.all) < 2 or not next_key_file(keys.file).exists():
        return keys
    waiting = keys.all[1]
    if any(row.master == waiting.id for row in store.keys.of(STORE)):
        own = own_key_file(path)
        if keys.file == own:
            leave_key_to_others(path)
            adopt_next_key(own)
        else:
            copy_key_file(next_key_file(keys.file), own)
        return replace(keys, all=(waiting, keys.all[0], *keys.all[2:]), file=own)
    return keys


def look_first(path: Path) -> None:
    """Refuses what is not a store of ours before a key is looked for."""
    from holdfast.storage.sqlite import migrate

    migrate.look_first(path, None)


def _open_store(settings: Settings, path: Path | None, keys: Masters) -> Store:
    def check(rows: list[KeyRow]) -> None:
        check_canary(rows, keys.all, ephemeral=keys.ephemeral)

    if is_postgres(settings):
        return _open_database(settings, check)
    from holdfast.storage.sqlite import store

    if path is None:
        return store.open_memory()
    return store.open_file(path, durable=settings.durable, check=check)


def distribute(url: str) -> Spread:
    """Spreads the tables over a Citus cluster."""
    try:
        from holdfast.storage.postgres import citus
    except ImportError as error:
        raise Unavailable(_NO_DRIVER) from error
    return citus.distribute(url)


_NO_DRIVER = "PostgreSQL needs its driver: install `holdfast[postgres]`."


def _open_database(settings: Settings, check: Callable[[list[KeyRow]], None]) -> Store:
    try:
        from holdfast.storage.postgres import store
    except ImportError as error:
        raise Unavailable(_NO_DRIVER) from error
    assert settings.database_url is not None
    return store.open_database(
        settings.database_url,
        connections=settings.pool_size,
        prepared=settings.prepared_statements,
        check=check,
    )


def put_back_keys(settings: Settings, rows: list[KeyRow]) -> PutBack:
    """For a store that may not open without them: its own key may be among them."""
    path = _embedded(settings)
    keys = _masters(settings, path)
    store = _open_store(settings, path, keys)
    try:
        return put_back(store, keys.all, rows)
    finally:
        store.close()


def open_store_for_moving(settings: Settings, source: Opened) -> Store:
    """A store that takes over the keys of another one: it needs none of its own, and gets that one's key file."""
    assert source.masters is not None
    path = _embedded(settings)
    if path is not None:
        if source.masters.file is not None and not key_file_of(path).exists():
            copy_key_file(source.masters.file, key_file_of(path))
    elif not is_postgres(settings):
        raise InvalidField("A store in memory is gone at the end; move to a file or a database.")
    return _open_store(settings, path, source.masters)
