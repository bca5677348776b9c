"""AES-256-GCM. What a ciphertext is bound to goes in as associated data: the tag covers it, so a ciphertext opens only
beside the very bytes it was sealed beside. What these are for an entry is said in `storage.codec`."""

from __future__ import annotations

from os import urandom

from cryptography.exceptions import InvalidTag

from holdfast.crypto.keys import NONCE_BYTES, DataKey

_FORMAT = b"HFs1"


def seal(key: DataKey, bound: bytes, plain: bytes) -> bytes:
    nonce = urandom(NONCE_BYTES)
    return nonce + key.seal.encrypt(nonce, plain, bound)


def unseal(key: DataKey, bound: bytes, sealed: bytes) -> bytes | None:
    """The plain bytes, or None when they were not sealed under this key beside these bytes."""
    try:
        return key.seal.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], bound)
    except (InvalidTag, ValueError):
        return None


def seal_blob(key: DataKey, purpose: bytes, plain: bytes) -> bytes:
    """Seals something that is no entry (a name, a cursor), bound to what it is for."""
    return seal(key, _blob(key, purpose), plain)


def unseal_blob(key: DataKey, purpose: bytes, sealed: bytes) -> bytes | None:
    return unseal(key, _blob(key, purpose), sealed)


def _blob(key: DataKey, purpose: bytes) -> bytes:
    return _FORMAT + key.space_bytes + key.key_id.to_bytes(4) + purpose
