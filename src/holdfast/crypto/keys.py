"""The hierarchy of keys: a master key wraps the random data keys of spaces; each purpose has an HKDF sub-key."""

from __future__ import annotations

import secrets
import struct
from hashlib import blake2b
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from holdfast.bounded_cache import BoundedCache

KEY_BYTES = 32
NONCE_BYTES = 12
TERM_BYTES = 6
"""48 bits: collisions within one space's vocabulary are negligible, and the index stays small."""
KNOWN_MARKS = 512
"""Blind labels cached for each key: prefixes, categories and tags recur."""
_DATA_KEY_FORMAT = b"\x02"
"""The first byte of a data key's secret."""
_WRAP = struct.Struct(">8s16sI")
_WRAP_FORMAT = b"HFwrap01"


class Master:
    """A master key. Its id names it in the store and reveals nothing about the secret."""

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
        """Returns the data key, or None when this master did not wrap it or the bytes were changed."""
        try:
            return self._cipher.decrypt(
                wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], _WRAP.pack(_WRAP_FORMAT, space.bytes, key_id)
            )
        except (InvalidTag, ValueError):
            return None


class DataKey:
    """The data key of a space, as one sub-key for each purpose. The hashes are keyed already and copied for each use,
    which takes two thirds of the time of keying one. `marks` caches the blind labels that were made."""

    __slots__ = (
        "fingerprints",
        "key_id",
        "labels",
        "links",
        "lookups",
        "marks",
        "rotation",
        "rows",
        "seal",
        "space",
        "space_bytes",
        "terms",
        "uses",
        "vectors",
    )

    def __init__(self, space: UUID, key_id: int, secret: bytes, uses: list[int] | None = None) -> None:
        self.uses = [0] if uses is None else uses
        """A counter in a list: messages sealed in this process and not yet counted in the store."""
        secret = secret[-KEY_BYTES:]
        self.space = space
        self.space_bytes = space.bytes
        self.key_id = key_id
        self.seal = AESGCM(_derive(secret, b"bodies"))
        self.lookups = blake2b(key=_derive(secret, b"lookups"), digest_size=16)
        self.labels = blake2b(key=_derive(secret, b"labels"), digest_size=8)
        self.terms = Cipher(AES(_derive(secret, b"terms")), ECB()).encryptor().update
        """Enciphers the digests of many terms at once, each a block of its own: equal terms must give equal blinds."""
        self.fingerprints = blake2b(key=_derive(secret, b"fingerprints"), digest_size=16)
        rows = _derive(secret, b"rows")
        self.rows = blake2b(key=rows, digest_size=16)
        self.links = blake2b(key=rows, digest_size=20)
        self.vectors = AESGCM(_derive(secret, b"vectors"))
        self.rotation = _derive(secret, b"rotation")
        self.marks: BoundedCache[str, bytes] = BoundedCache(KNOWN_MARKS)


def new_secret() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def new_data_secret() -> bytes:
    return _DATA_KEY_FORMAT + new_secret()


def _derive(secret: bytes, purpose: bytes) -> bytes:
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=b"holdfast/1/" + purpose).derive(secret)
