"""AES-256-GCM with associated data: the tag covers it, so a ciphertext opens only beside the bytes it was sealed
with. `storage.row_codec` says what these are for an entry."""

from __future__ import annotations

import struct

from cryptography.exceptions import InvalidTag

from holdfast.crypto.keys import NONCE_BYTES, DataKey
from holdfast.domain.ids import fresh_bytes

_DERIVED = struct.Struct(">4sI16sIII")
_FORMAT = b"HFs1"
_DERIVED_FORMAT = b"HFd1"


def seal(key: DataKey, bound: bytes, plain: bytes) -> bytes:
    nonce = fresh_bytes(NONCE_BYTES)
    key.uses[0] += 1
    return nonce + key.seal.encrypt(nonce, plain, bound)


def unseal(key: DataKey, bound: bytes, sealed: bytes) -> bytes | None:
    """Returns the plain bytes, or None when they were not sealed under this key beside these bytes."""
    try:
        return key.seal.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], bound)
    except (InvalidTag, ValueError):
        return None


def seal_derived(key: DataKey, number: int, revision: int, model: int, plain: bytes) -> bytes:
    """Seals features and vector derived from one revision of an entry."""
    nonce = fresh_bytes(NONCE_BYTES)
    key.uses[0] += 1
    return nonce + key.vectors.encrypt(nonce, plain, _derived(key, number, revision, model))


def unseal_derived(key: DataKey, number: int, revision: int, model: int, sealed: bytes) -> bytes | None:
    try:
        bound = _derived(key, number, revision, model)
        return key.vectors.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], bound)
    except (InvalidTag, ValueError, struct.error):
        return None


def _derived(key: DataKey, number: int, revision: int, model: int) -> bytes:
    return _DERIVED.pack(_DERIVED_FORMAT, key.key_id, key.space_bytes, number, revision, model)


def seal_blob(key: DataKey, purpose: bytes, plain: bytes) -> bytes:
    """Seals bytes other than an entry (a name, a cursor), bound to a purpose."""
    return seal(key, _blob(key, purpose), plain)


def unseal_blob(key: DataKey, purpose: bytes, sealed: bytes) -> bytes | None:
    return unseal(key, _blob(key, purpose), sealed)


def _blob(key: DataKey, purpose: bytes) -> bytes:
    return _FORMAT + key.space_bytes + key.key_id.to_bytes(4) + purpose
