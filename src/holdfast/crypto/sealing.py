"""AES-256-GCM over one revision of one entry. The associated data binds format, key, space, entry and revision, so
an exchanged ciphertext, or an older one under the current revision, does not open."""

from __future__ import annotations

import struct
from os import urandom

from cryptography.exceptions import InvalidTag

from holdfast.crypto.keys import NONCE_BYTES, DataKey

_BOUND = struct.Struct(">4sI16sII")
_DERIVED = struct.Struct(">4sI16sIII")
_FORMAT = b"HFs1"
_DERIVED_FORMAT = b"HFd1"


def seal(key: DataKey, number: int, revision: int, plain: bytes) -> bytes:
    nonce = urandom(NONCE_BYTES)
    return nonce + key.seal.encrypt(nonce, plain, _bound(key, number, revision))


def unseal(key: DataKey, number: int, revision: int, sealed: bytes) -> bytes | None:
    """The plain bytes, or None when they were not sealed as this revision of this entry under this key."""
    try:
        return key.seal.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], _bound(key, number, revision))
    except (InvalidTag, ValueError):
        return None


def _bound(key: DataKey, number: int, revision: int) -> bytes:
    return _BOUND.pack(_FORMAT, key.key_id, key.space_bytes, number, revision)


def seal_derived(key: DataKey, number: int, revision: int, model: int, plain: bytes) -> bytes:
    """Seals what a model derived from one revision of an entry."""
    nonce = urandom(NONCE_BYTES)
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
    """Seals something that is no entry (a name, a cursor), bound to what it is for."""
    nonce = urandom(NONCE_BYTES)
    return nonce + key.seal.encrypt(nonce, plain, _blob(key, purpose))


def unseal_blob(key: DataKey, purpose: bytes, sealed: bytes) -> bytes | None:
    try:
        return key.seal.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], _blob(key, purpose))
    except (InvalidTag, ValueError):
        return None


def _blob(key: DataKey, purpose: bytes) -> bytes:
    return _FORMAT + key.space_bytes + key.key_id.to_bytes(4) + purpose
