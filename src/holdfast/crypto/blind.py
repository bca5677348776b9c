"""Keyed hashes that let a store compare without reading: keys, labels, terms, fingerprints, and row codes.

BLAKE2b in its keyed mode is the pseudo-random function throughout; every purpose has its own sub-key."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from holdfast.crypto.keys import DataKey

TERM_BYTES = 6
"""48 bits: within one space's vocabulary two words meet about never, and the index stays small."""

KNOWN_WORDS = 512
"""Blind terms remembered a key: a remembered one costs a tenth."""


def blind_key(key: DataKey, namespace: str, name: str) -> bytes:
    keyed = key.naming.copy()
    keyed.update(f"{namespace}\0{name}".encode())
    return keyed.digest()


def blind_label(key: DataKey, partition: int, kind: str, value: str) -> bytes:
    return blake2b(f"{partition}\0{kind}\0{value}".encode(), key=key.labels, digest_size=8).digest()


def blind_terms(key: DataKey, terms: Iterable[str]) -> list[str]:
    known = key.words
    if len(known) > KNOWN_WORDS:
        known.clear()
    return [known.get(term) or _blind_term(key, term) for term in terms]


def _blind_term(key: DataKey, term: str) -> str:
    blind = blake2b(term.encode("utf-8", "surrogatepass"), key=key.terms, digest_size=TERM_BYTES).hexdigest()
    key.words[term] = blind
    return blind


def blind_name(key: DataKey, *parts: str) -> bytes:
    """Principals and spaces, under the store's own key; parts stay apart whatever they hold."""
    keyed = key.naming.copy()
    keyed.update("".join(f"{len(part)}:{part}" for part in parts).encode())
    return keyed.digest()


def fingerprint(key: DataKey, value: bytes) -> bytes:
    return blake2b(value, key=key.fingerprints, digest_size=16).digest()


def row_code(key: DataKey, columns: bytes) -> bytes:
    return blake2b(columns, key=key.rows, digest_size=16).digest()
