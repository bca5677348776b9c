"""Features: facts about an entry that ranking uses besides its words, sealed beside it. Conversation, time and
speaker, the kind of sentence, the lengths of its parts; behind them its vector, when a model made one."""

from __future__ import annotations

import struct
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from holdfast.contracts.rows import DerivedRow, EntryRow
from holdfast.crypto.keys import DataKey
from holdfast.crypto.sealing import seal_derived, unseal_derived
from holdfast.domain.entry import Content, Entry
from holdfast.storage.index_terms import label_terms
from holdfast.storage.sealed_store import SealedStore
from holdfast.text.analyser import analyse
from holdfast.text.traits import chunks, traits_of

if TYPE_CHECKING:
    from holdfast.storage.vector_codec import Floats

NO_CONVERSATION = bytes(8)
NEVER = -(1 << 63)

_HEAD = struct.Struct(">B8sqBIIHH")
_FORMAT = 1


class Features(NamedTuple):
    conversation: bytes
    """A hash that tells conversations apart."""
    at_us: int
    """NEVER when the note has no time."""
    traits: int
    characters: int
    label_terms: int
    """Terms of hint, tags and key together."""
    chunk_terms: tuple[int, ...]
    """Terms of each chunk of the body."""
    speaker: str


def features_of(content: Content) -> Features:
    text = content.text
    return Features(
        conversation_id(content.conversation),
        NEVER if content.at_us is None else content.at_us,
        traits_of(text),
        len(text),
        sum(map(len, label_terms(content))),
        tuple(len(analyse(chunk)) for chunk in chunks(text)),
        content.speaker or "",
    )


def conversation_id(conversation: str | None) -> bytes:
    if not conversation:
        return NO_CONVERSATION
    return blake2b(conversation.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def pack_features(signals: Features, vector: bytes) -> bytes:
    speaker = signals.speaker.encode("utf-8", "surrogatepass")
    lengths = signals.chunk_terms
    head = _HEAD.pack(_FORMAT, *signals[:5], len(lengths), len(speaker))
    return head + struct.pack(f">{len(lengths)}I", *lengths) + speaker + vector


def unpack_features(plain: bytes) -> tuple[Features, bytes] | None:
    """The features and the bytes of the vector (none for model 0); None for a format of another version."""
    if not plain or plain[0] != _FORMAT:
        return None
    _, conversation, at_us, traits, characters, labels, count, letters = _HEAD.unpack_from(plain)
    middle = _HEAD.size + 4 * count
    end = middle + letters
    lengths = struct.unpack_from(f">{count}I", plain, _HEAD.size)
    speaker = plain[middle:end].decode("utf-8", "surrogatepass")
    return Features(conversation, at_us, traits, characters, labels, lengths, speaker), plain[end:]


def seal_features(
    sealed: SealedStore, key: DataKey, row: EntryRow, model: int, entry: Entry, vector: Floats | None
) -> DerivedRow:
    """Seals features and vector of a head together. Where the store compares vectors, adds the rotated vector."""
    inside = outside = b""
    if vector is not None:
        from holdfast.storage.vector_codec import stored_vector

        inside = stored_vector(vector)
        if sealed.store.vectors is not None:
            outside = _rotated(key, inside)
    plain = pack_features(features_of(entry.content), inside)
    closed = seal_derived(key, row.number, row.revision, model, plain)
    return DerivedRow(row.number, model, row.revision, key.key_id, closed, outside)


def reseal_features(
    old: DataKey, new: DataKey, row: DerivedRow, *, compared_there: bool
) -> DerivedRow | None:
    """Seals a row under another key of the space, or for another backend; None when it does not open."""
    plain = unseal_derived(old, row.number, row.revision, row.model, row.sealed)
    opened = None if plain is None else unpack_features(plain)
    if plain is None or opened is None:
        return None
    closed = row.sealed if old is new else seal_derived(new, row.number, row.revision, row.model, plain)
    outside = _rotated(new, opened[1]) if compared_there and opened[1] else b""
    return row._replace(key_id=new.key_id, sealed=closed, vector=outside)


def _rotated(key: DataKey, inside: bytes) -> bytes:
    from holdfast.storage.vector_codec import opened_vector, rotated, stored_vector

    return stored_vector(rotated(key, opened_vector(inside)))
