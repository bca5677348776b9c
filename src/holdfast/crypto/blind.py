"""Keyed hashes that let a store compare without reading: keys, labels, terms, fingerprints, and row codes.

BLAKE2b in its keyed mode is the pseudo-random function; for terms, of which a text has many, it is AES over their
digests. Every purpose has its own sub-key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from struct import Struct

from holdfast.crypto.keys import TERM_BYTES, DataKey

BLOCK_BYTES = 16
_MANY_TERMS = 100
KNOWN_MARKS = 512
"""Blind labels remembered a key: prefixes, categories and tags recur."""


def blind_key(key: DataKey, namespace: str, name: str) -> bytes:
    lookup = key.lookups.copy()
    lookup.update(f"{namespace}\0{name}".encode())
    return lookup.digest()


def mark_head(partition: int, kind: str) -> str:
    """How the mark of every label of a room and a kind begins; the value follows."""
    return f"{partition}\0{kind}\0"


def blind_label(key: DataKey, partition: int, kind: str, value: str) -> bytes:
    return blind_marks(key, [mark_head(partition, kind) + value])


def blind_marks(key: DataKey, marks: Iterable[str]) -> bytes:
    """The blind labels that have these marks, one after the other."""
    known = key.marks.get
    return b"".join([known(mark) or _new_mark(key, mark) for mark in marks])


def _new_mark(key: DataKey, mark: str) -> bytes:
    label = key.labels.copy()
    label.update(mark.encode())
    if len(key.marks) >= KNOWN_MARKS:
        key.marks.clear()
    blind = key.marks[mark] = label.digest()
    return blind


def blind_terms(key: DataKey, terms: Iterable[str]) -> list[str]:
    if key.blocks is not None:
        return written(blind_digests(key, b"".join(map(term_digest, terms)))).split()
    assert key.terms is not None
    blinds = []
    for term in terms:
        blind = key.terms.copy()
        blind.update(_encoded(term))
        blinds.append(blind.hexdigest())
    return blinds


def term_digest(term: str) -> bytes:
    """What is enciphered in a term's place. It is the same in every space: never store it."""
    return blake2b(_encoded(term), digest_size=BLOCK_BYTES).digest()


def blind_digests(key: DataKey, digests: bytes) -> Sequence[bytes]:
    """The blind terms that have these digests, which come one after the other. One call for all of them, and nothing to
    remember for each space, where a keyed hash would be started for each."""
    assert key.blocks is not None
    blocks, many = key.blocks(digests), len(digests) // BLOCK_BYTES
    if many <= _MANY_TERMS:
        return _cutting(many)(blocks)
    return [blocks[at : at + TERM_BYTES] for at in range(0, len(blocks), BLOCK_BYTES)]


@lru_cache
def _cutting(blocks: int) -> Callable[[bytes], tuple[bytes, ...]]:
    """What cuts each of so many blocks to the length of a term, all at once, at a third of the price of one by one."""
    return Struct(f"{TERM_BYTES}s{BLOCK_BYTES - TERM_BYTES}x" * blocks).unpack


def written(blinds: Iterable[bytes]) -> str:
    """As the word index holds them: bytes sort like this does."""
    return b"".join(blinds).hex(" ", TERM_BYTES)


def _encoded(term: str) -> bytes:
    return term.encode("utf-8", "surrogatepass")


def blind_name(key: DataKey, *parts: str) -> bytes:
    """Principals and spaces, under the store's own key; parts stay apart whatever they hold."""
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
