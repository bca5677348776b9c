"""Whose key a key file is. Earlier versions had one for all databases of a folder that differ in their suffix alone;
nobody may lose theirs because another store gets a new one."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from holdfast.crypto.keyfile import copy_key_file, key_file_of, master_in, own_key_file, shared_key_file
from holdfast.crypto.keys import Master
from holdfast.domain.errors import HoldfastError, Unavailable
from holdfast.storage.sealed_store import check_canary

OF_SQLITE = ("-wal", "-shm", "-journal")

log = logging.getLogger("holdfast")


def key_file_to_replace(path: Path) -> Path:
    """That of this store, once it has one and nobody else opens with it."""
    own, used = own_key_file(path), key_file_of(path)
    if used != own:
        copy_key_file(used, own)
        log.warning(
            "the memory key of %s is in %s from now on; %s stays, remove it once no other store opens with it",
            path.name,
            own.name,
            used.name,
        )
    leave_key_to_others(path)
    return own


def leave_key_to_others(path: Path) -> None:
    """Stores of earlier versions that go on with the key file of this one get theirs."""
    own = own_key_file(path)
    if own != shared_key_file(path) or not own.exists():
        return
    master = master_in(own)
    for other in _sharing(path):
        if key_file_of(other) == own and _may_open(other, master):
            copy_key_file(own, own_key_file(other))
            log.warning("the memory key of %s is in %s from now on", other.name, own_key_file(other).name)


def _sharing(path: Path) -> Iterator[Path]:
    """Files beside a database that differ in their suffix alone. Those of SQLite itself are not touched: closing one
    would drop the locks that this process holds on it."""
    for other in path.parent.glob("*"):
        alike = shared_key_file(other) == shared_key_file(path) and not other.name.endswith(OF_SQLITE)
        if alike and other.is_file() and not other.samefile(path):
            yield other


def _may_open(path: Path, master: Master) -> bool:
    """Whether a key may be that of a store; who cannot be asked keeps it."""
    from holdfast.storage.sqlite import migrate

    try:
        migrate.look_first(path, lambda rows: check_canary(rows, (master,), ephemeral=False))
    except Unavailable:
        return True
    except HoldfastError:
        return False
    return True
