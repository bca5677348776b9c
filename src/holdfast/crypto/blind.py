"""Keyed hashes that let a store compare without reading: keys, labels, terms, fingerprints, and row codes.

BLAKE2b in its keyed mode is the pseudo-random function. Terms, of which a text has many, are enciphered by AES over
their digests instead. Every purpose has its own sub-key."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from holdfast.crypto.keys import TERM_BYTES, DataKey

BLOCK_BYTES = 16


def blind_key(key: DataKey, namespace: str, name: str) -> bytes:
    lookup = key.lookups.copy()
    lookup.update(f"{namespace}\0{name}".encode())
    return lookup.digest()


def mark_head(partition: int, kind: str) -> str:
    """The beginning of the mark of every label of one partition and kind; the value follows."""
    return f"{partition}\0{kind}\0"


def blind_label(key: DataKey, partition: int, kind: str, value: str) -> bytes:
    return blind_marks(key, [mark_head(partition, kind) + value])


def blind_marks(key: DataKey, marks: Iterable[str]) -> bytes:
    """The concatenated blind labels of these marks."""
    known = key.marks.get
    return b"".join([known(mark) or _new_mark(key, mark) for mark in marks])


def _new_mark(key: DataKey, mark: str) -> bytes:
    label = key.labels.copy()
    label.update(mark.encode())
    blind = key.marks[mark] = label.digest()
    return blind


def blind_terms(key: DataKey, terms: Iterable[str]) -> list[str]:
    return written(blind_digests(key, b"".join(map(term_digest, terms)))).split()


def term_digest(term: str) -> bytes:
    """The digest that is enciphered to make a blind term. It is equal in every space: never store it."""
    return blake2b(term.encode("utf-8", "surrogatepass"), digest_size=BLOCK_BYTES).digest()


def blind_digests(key: DataKey, digests: bytes) -> list[bytes]:
    """The blind terms of concatenated digests, in one call of the cipher."""
    blocks = key.terms(digests)
    return [blocks[at : at + TERM_BYTES] for at in range(0, len(blocks), BLOCK_BYTES)]


def written(blinds: Iterable[bytes]) -> str:
    """The blind terms as the word index holds them, in hexadecimal, which sorts like the bytes."""
    return b"".join(blinds).hex(" ", TERM_BYTES)


def blind_name(key: DataKey, *parts: str) -> bytes:
    """The blind id of a principal or a space under the store's own key. Parts cannot run into each other."""
    lookup = key.lookups.copy()
    lookup.update("".join(f"{len(part)}:{part}" for part in parts).encode())
    return lookup.digest()


def fingerprint(key: DataKey, value: bytes) -> bytes:
    code = key.fingerprints.copy()
    code.update(value)
    return code.digest()


def row_code(key: DataKey, columns: bytes) -> bytes:
    code = key.rows.copy()
    code.update(columns)
    return code.digest()
