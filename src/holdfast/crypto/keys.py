"""The hierarchy of keys: a master wraps one random data key a space; each purpose gets an HKDF sub-key of it."""

from __future__ import annotations

import secrets
import struct
from hashlib import blake2b
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
NONCE_BYTES = 12
BLIND_BYTES = 16
_WRAP = struct.Struct(">8s16sI")
_WRAP_FORMAT = b"HFwrap01"


class Master:
    """A master key. Its id names it in the store without telling anything about it."""

    __slots__ = ("_cipher", "id")

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES:
            raise ValueError("a master key has 32 bytes")
        self.id = blake2b(b"master id", key=secret, digest_size=8).digest()
        self._cipher = AESGCM(secret)

    def wrap(self, space: UUID, key_id: int, data_key: bytes) -> bytes:
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, data_key, _WRAP.pack(_WRAP_FORMAT, space.bytes, key_id))

    def unwrap(self, space: UUID, key_id: int, wrapped: bytes) -> bytes | None:
        """The data key, or None when this master did not wrap it (or someone touched it)."""
        try:
            return self._cipher.decrypt(
                wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], _WRAP.pack(_WRAP_FORMAT, space.bytes, key_id)
            )
        except (InvalidTag, ValueError):
            return None


class DataKey:
    """A space's data key, spread into one sub-key for each purpose. `words` remembers blind terms: words recur.
    `naming` hashes lookups with the key already in it, to be copied: half the price of a hash made from the key."""

    __slots__ = (
        "fingerprints",
        "key_id",
        "labels",
        "lookups",
        "naming",
        "rotation",
        "rows",
        "seal",
        "space",
        "space_bytes",
        "terms",
        "vectors",
        "words",
    )

    def __init__(self, space: UUID, key_id: int, secret: bytes) -> None:
        self.space = space
        self.space_bytes = space.bytes
        self.key_id = key_id
        self.seal = AESGCM(_derive(secret, b"bodies"))
        self.lookups = _derive(secret, b"lookups")
        self.naming = blake2b(key=self.lookups, digest_size=BLIND_BYTES)
        self.labels = _derive(secret, b"labels")
        self.terms = _derive(secret, b"terms")
        self.fingerprints = _derive(secret, b"fingerprints")
        self.rows = _derive(secret, b"rows")
        self.vectors = AESGCM(_derive(secret, b"vectors"))
        self.rotation = _derive(secret, b"rotation")
        self.words: dict[str, str] = {}


def new_secret() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def _derive(secret: bytes, purpose: bytes) -> bytes:
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=b"holdfast/1/" + purpose).derive(secret)
