"""Between an entry and its row: sealing, blinding, and the code over visible columns that shows any change."""

from __future__ import annotations

import re
import struct
from hmac import compare_digest
from uuid import UUID

from holdfast.contracts.rows import (
    ALWAYS_INJECT,
    ENCRYPTED,
    QUARANTINED,
    EntryRow,
    GrantRow,
    IndexText,
    MemberRow,
    RevisionRow,
)
from holdfast.crypto.blind import blind_label, blind_terms, row_code
from holdfast.crypto.keys import DataKey
from holdfast.crypto.sealing import unseal
from holdfast.domain.entry import Content, Entry, Revision
from holdfast.domain.key import is_made
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Principal
from holdfast.search.analyser import analyse, analyse_chunk
from holdfast.storage.payload import unpack

PREFIX_LEVELS = 8
"""Slash-prefixes kept a key; deeper ones are found under the eighth and filtered after opening."""

_ENTRY = struct.Struct(">16sIB16s16sIQQqq?q?qIIIBB")
_REVISION = struct.Struct(">16sIIQq?qII")
_GRANT = struct.Struct(">16s16s16sBqq")
_SIGNS = re.compile(r"[/_\-.:]+")
"""A key is indexed by its words: whole it is found by name, and every whole key is new to the analyser."""
_ROOMS = {partition.value: partition for partition in Partition}
_NEVER = -1
_LONG_TEXT = 4_096
"""Up to here a text is analysed word by word: it cannot reach the analyser's cap on terms."""
KNOWN_WORDS = 512
"""Words remembered a key: one costs a tenth of a new one."""


def entry_code(key: DataKey, row: EntryRow) -> bytes:
    """Over every column but the code itself and the seal, which is bound to the entry by its own means."""
    *columns, expires_us, trashed_us, flags, length, key_id, labels, _, _ = row
    packed = _ENTRY.pack(
        key.space_bytes,
        *columns,
        expires_us is not None,
        expires_us or 0,
        trashed_us is not None,
        trashed_us or 0,
        flags,
        length,
        key_id,
        len(row.owner),
        len(row.key),
    )
    return row_code(key, packed + labels)


def revision_code(key: DataKey, row: RevisionRow) -> bytes:
    columns = (row.number, row.revision, row.seq, row.updated_us)
    expires = (row.expires_us is not None, row.expires_us or 0)
    return row_code(key, _REVISION.pack(key.space_bytes, *columns, *expires, row.flags, row.key_id))


def grant_code(store_key: DataKey, row: GrantRow) -> bytes:
    expires = _NEVER if row.expires_us is None else row.expires_us
    columns = (row.space.bytes, row.grantee, row.granted_by, row.level, row.created_us, expires)
    return row_code(store_key, _GRANT.pack(*columns))


def member_code(store_key: DataKey, space: UUID, row: MemberRow) -> bytes:
    return row_code(store_key, b"member" + space.bytes + row.member + bytes([row.level]))


def open_entry(key: DataKey, row: EntryRow) -> Entry | None:
    """The entry, or None when the row was changed or its body does not open."""
    try:
        whole = compare_digest(entry_code(key, row), row.mac)
    except struct.error:
        return None  # values out of range were never written by the engine
    if not whole:
        return None
    plain = unseal(key, row.number, row.revision, row.sealed)
    if plain is None:
        return None
    owner, content = unpack(plain)
    return entry_of(key.space, row, owner, content)


def entry_of(space: UUID, row: EntryRow, owner: Principal, content: Content) -> Entry:
    flags = row.flags
    return Entry(
        space,
        row.number,
        owner,
        _ROOMS[row.partition],
        row.revision,
        content,
        row.created_us,
        row.updated_us,
        row.expires_us,
        row.trashed_us,
        flags & ALWAYS_INJECT != 0,
        flags & ENCRYPTED != 0,
        flags & QUARANTINED != 0,
    )


def open_revision(key: DataKey | None, row: RevisionRow) -> Revision:
    """What does not open is shown without content: it is locked, not absent."""
    whole = None if key is None else open_revision_whole(key, row)
    content = None if whole is None else whole[1]
    always, encrypted = row.flags & ALWAYS_INJECT != 0, row.flags & ENCRYPTED != 0
    return Revision(row.revision, row.updated_us, row.expires_us, always, encrypted, content)


def open_revision_whole(key: DataKey, row: RevisionRow) -> tuple[Principal, Content] | None:
    try:
        whole = compare_digest(revision_code(key, row), row.mac)
    except struct.error:
        return None
    if not whole:
        return None
    plain = unseal(key, row.number, row.revision, row.sealed)
    return None if plain is None else unpack(plain)


def superseded(key: DataKey, row: EntryRow) -> RevisionRow:
    """A head as it goes into history; the seal stays, because it is bound to the revision and not to the place."""
    revision = RevisionRow(
        row.number,
        row.revision,
        row.seq,
        row.updated_us,
        row.expires_us,
        row.flags,
        row.key_id,
        b"",
        row.sealed,
    )
    return revision._replace(mac=revision_code(key, revision))


def labels_of(key: DataKey, partition: Partition, content: Content) -> bytes:
    namespace = content.namespace
    labels = [prefix_label(key, partition, namespace, prefix) for prefix in slash_prefixes(content.key)]
    if content.category:
        labels.append(blind_label(key, partition, "category", content.category))
    labels += [blind_label(key, partition, "tag", tag) for tag in content.tags]
    return b"".join(labels)


def prefix_label(key: DataKey, partition: int, namespace: str, prefix: str) -> bytes:
    return blind_label(key, partition, "prefix", f"{namespace}\0{prefix}")


def slash_prefixes(name: str) -> list[str]:
    """`a/b/c` lies under `a/` and `a/b/`."""
    prefixes: list[str] = []
    end = name.find("/")
    while end >= 0 and len(prefixes) < PREFIX_LEVELS:
        prefixes.append(name[: end + 1])
        end = name.find("/", end + 1)
    return prefixes


def blind_words(key: DataKey, text: str) -> list[str]:
    """The blind terms of a text. Words recur, so those of a space are remembered, blinded, as they were written."""
    if len(text) > _LONG_TEXT:
        return blind_terms(key, analyse(text))
    known = key.words
    terms: list[str] = []
    for word in text.split():
        terms += known.get(word) or _new_word(key, word)
    return terms


def _new_word(key: DataKey, word: str) -> list[str]:
    terms = blind_terms(key, analyse_chunk(word))
    if word.isalpha():  # numbers seldom come again
        if len(key.words) >= KNOWN_WORDS:
            key.words.clear()
        key.words[word] = terms
    return terms


def index_text(key: DataKey, content: Content, body_terms: list[str] | None) -> tuple[IndexText, int]:
    """Blind terms of each field, and how many there are. Sorted, so that the index does not keep the order of words."""
    body = blind_words(key, content.text) if body_terms is None else body_terms
    hint = blind_words(key, content.hint) if content.hint else []
    tags = blind_words(key, " ".join(content.tags)) if content.tags else []
    name = [] if is_made(content.key) else blind_words(key, _SIGNS.sub(" ", content.key))
    text = IndexText(_field(hint), _field(tags), _field(name), _field(body))
    return text, len(hint) + len(tags) + len(name) + len(body)


def _field(terms: list[str]) -> str:
    return " ".join(sorted(terms)) if len(terms) > 1 else "".join(terms)
