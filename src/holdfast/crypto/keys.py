"""The hierarchy of keys: a master wraps one random data key a space; each purpose gets an HKDF sub-key of it."""

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

KEY_BYTES = 32
NONCE_BYTES = 12
TERM_BYTES = 6
"""48 bits: within one space's vocabulary two words meet about never, and the index stays small."""
_TERMS_BY_CIPHER = b"\x02"
"""What a data key begins with whose space blinds words as blocks of a cipher; those made before have no such byte."""
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
    """A space's data key, spread into one sub-key for each purpose. The hashes have taken their key already and are
    copied for each use, which costs two thirds of starting one. `marks` remembers what was blinded."""

    __slots__ = (
        "blocks",
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
        """One number: messages sealed in this process and not yet counted in the store."""
        by_cipher, secret = len(secret) > KEY_BYTES, secret[-KEY_BYTES:]
        self.space = space
        self.space_bytes = space.bytes
        self.key_id = key_id
        self.seal = AESGCM(_derive(secret, b"bodies"))
        self.lookups = blake2b(key=_derive(secret, b"lookups"), digest_size=16)
        self.labels = blake2b(key=_derive(secret, b"labels"), digest_size=8)
        terms = _derive(secret, b"terms")
        self.blocks = Cipher(AES(terms), ECB()).encryptor().update if by_cipher else None
        """Enciphers the digests of many words at once, each a block of its own; equal ones are meant to stay equal."""
        self.terms = None if by_cipher else blake2b(key=terms, digest_size=TERM_BYTES)
        """For keys from before, a word at a time."""
        self.fingerprints = blake2b(key=_derive(secret, b"fingerprints"), digest_size=16)
        rows = _derive(secret, b"rows")
        self.rows = blake2b(key=rows, digest_size=16)
        self.links = blake2b(key=rows, digest_size=20)
        self.vectors = AESGCM(_derive(secret, b"vectors"))
        self.rotation = _derive(secret, b"rotation")
        self.marks: dict[str, bytes] = {}


def new_secret() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def new_data_secret() -> bytes:
    return _TERMS_BY_CIPHER + new_secret()


def _derive(secret: bytes, purpose: bytes) -> bytes:
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=b"holdfast/1/" + purpose).derive(secret)
