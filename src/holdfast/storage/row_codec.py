"""Encodes entries, revisions, spaces and grants as encrypted rows, and decodes them. A row that was changed outside
the engine does not open."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from holdfast.contracts.rows import (
    ALWAYS_INJECT,
    ENCRYPTED,
    QUARANTINED,
    AgentRow,
    EntryRow,
    GrantRow,
    MemberRow,
    RevisionRow,
)
from holdfast.crypto.blind import blind_label, blind_marks, mark_head, row_code
from holdfast.crypto.keys import DataKey
from holdfast.crypto.sealing import seal, unseal
from holdfast.domain.agent import ALL_OFF, ALL_ON, AgentSettings
from holdfast.domain.entry import TEXT, Change, Content, Entry, Provenance, Revision, Source
from holdfast.domain.errors import InvalidField
from holdfast.domain.file import folded
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Principal, PrincipalKind

PREFIX_LEVELS = 8
"""Slash-prefixes kept a key; deeper ones are found under the eighth and filtered after opening."""

_HEAD = struct.Struct(">4sI16sIB16sB16sBIQQqq?q?qII")
_HEAD_FORMAT = b"HFe1"
_REVISION = struct.Struct(">4sI16sIIQq?qI")
_REVISION_FORMAT = b"HFr1"
_GRANT = struct.Struct(">16s16s16sBqq")
_ROOMS = {partition.value: partition for partition in Partition}
_NEVER = -1
_SHOWN = ALWAYS_INJECT | ENCRYPTED | QUARANTINED
_FLAGS = [
    (flags & ALWAYS_INJECT != 0, flags & ENCRYPTED != 0, flags & QUARANTINED != 0)
    for flags in range(_SHOWN + 1)
]
_tuple = tuple.__new__
"""Makes a named tuple without the function Python puts before it, at half its price."""
_NAME_HEAD = mark_head(Partition.FILES, "name")
_MARK_HEADS = {
    room: (mark_head(room, "prefix"), mark_head(room, "category"), mark_head(room, "tag"))
    for room in Partition
}


def _head_bound(key: DataKey, columns: tuple[Any, ...]) -> bytes:
    """What the seal of a head is bound to: the space, and every column but the seal itself. An absent time is told from
    every time, and a short or long blind from the one that padding or cutting would make of it."""
    (
        number, partition, owner, name, revision, born, seq, created_us, updated_us, expires_us, trashed_us,
        flags, length, key_id, labels,
    ) = columns  # fmt: skip
    bound: bytes = _HEAD.pack(
        _HEAD_FORMAT,
        key_id,
        key.space_bytes,
        number,
        partition,
        owner,
        len(owner),
        name,
        len(name),
        revision,
        born,
        seq,
        created_us,
        updated_us,
        expires_us is not None,
        expires_us or 0,
        trashed_us is not None,
        trashed_us or 0,
        flags,
        length,
    )
    bound += labels
    return bound


def _revision_bound(key: DataKey, row: RevisionRow) -> bytes:
    return _REVISION.pack(
        _REVISION_FORMAT,
        row.key_id,
        key.space_bytes,
        row.number,
        row.revision,
        row.seq,
        row.updated_us,
        row.expires_us is not None,
        row.expires_us or 0,
        row.flags,
    )


def seal_entry(key: DataKey, row: EntryRow, owner: Principal, content: Content) -> EntryRow:
    """The row with its seal; after any change of a column it has to be sealed anew."""
    return sealed_row(key, row[:-1], owner, content)


def sealed_row(key: DataKey, columns: tuple[Any, ...], owner: Principal, content: Content) -> EntryRow:
    """The row that has these columns, which are all but its seal."""
    sealed: EntryRow = _tuple(
        EntryRow, (*columns, seal(key, _head_bound(key, columns), pack(owner, content)))
    )
    return sealed


def seal_revision(key: DataKey, row: RevisionRow, owner: Principal, content: Content) -> RevisionRow:
    return row._replace(sealed=seal(key, _revision_bound(key, row), pack(owner, content)))


def grant_code(store_key: DataKey, row: GrantRow) -> bytes:
    expires = _NEVER if row.expires_us is None else row.expires_us
    columns = (row.space.bytes, row.grantee, row.granted_by, row.level, row.created_us, expires)
    return row_code(store_key, _GRANT.pack(*columns))


def member_code(store_key: DataKey, space: UUID, row: MemberRow) -> bytes:
    return row_code(store_key, b"member" + space.bytes + row.member + bytes([row.level]))


def agent_code(store_key: DataKey, row: AgentRow) -> bytes:
    parts = (row.agent, row.owner, bytes(row[2:6]), row.default_ttl.to_bytes(8))
    return row_code(store_key, b"agent" + b"".join(len(part).to_bytes(2) + part for part in parts))


def open_agent(store_key: DataKey, row: AgentRow | None) -> AgentSettings:
    """A line that was changed outside the engine switches off what it was about."""
    if row is None:
        return ALL_ON
    return AgentSettings(*row[2:7]) if agent_code(store_key, row) == row.mac else ALL_OFF


def open_entry(key: DataKey, row: EntryRow) -> Entry | None:
    """The entry, or None when the row was changed or its body does not open."""
    try:
        plain = unseal(key, _head_bound(key, row[:-1]), row.sealed)
    except struct.error:
        return None  # values out of range were never written by the engine
    if plain is None:
        return None
    owner, content = unpack(plain)
    return entry_of(key.space, row, owner, content)


def entry_of(space: UUID, row: EntryRow, owner: Principal, content: Content) -> Entry:
    number, partition, _, _, revision, _, _, created_us, updated_us, expires_us, trashed_us, flags = row[:12]
    always_inject, encrypted, quarantined = _FLAGS[flags & _SHOWN]
    return _tuple(
        Entry,
        (
            space,
            number,
            owner,
            _ROOMS[partition],
            revision,
            content,
            created_us,
            updated_us,
            expires_us,
            trashed_us,
            always_inject,
            encrypted,
            quarantined,
        ),
    )


def open_revision(key: DataKey | None, row: RevisionRow) -> Revision:
    """What does not open is shown without content: it is locked, not absent."""
    whole = None if key is None else open_revision_whole(key, row)
    content = None if whole is None else whole[1]
    always, encrypted = row.flags & ALWAYS_INJECT != 0, row.flags & ENCRYPTED != 0
    quarantined = row.flags & QUARANTINED != 0
    return Revision(row.revision, row.updated_us, row.expires_us, always, encrypted, content, quarantined)


def open_revision_whole(key: DataKey, row: RevisionRow) -> tuple[Principal, Content] | None:
    try:
        bound = _revision_bound(key, row)
    except struct.error:
        return None
    plain = unseal(key, bound, row.sealed)
    return None if plain is None else unpack(plain)


def superseded(key: DataKey, row: EntryRow, entry: Entry) -> RevisionRow:
    """A head as it goes into history, sealed anew: history has columns of its own."""
    revision = RevisionRow(
        row.number, row.revision, row.seq, row.updated_us, row.expires_us, row.flags, row.key_id, b""
    )
    return seal_revision(key, revision, entry.owner, entry.content)


def labels_of(key: DataKey, partition: Partition, content: Content) -> bytes:
    prefix_head, category_head, tag_head = _MARK_HEADS[partition]
    prefixes = ["", *slash_prefixes(content.key)] if content.namespace else slash_prefixes(content.key)
    marks = [f"{prefix_head}{content.namespace}\0{prefix}" for prefix in prefixes]
    if content.category:
        marks.append(category_head + content.category)
    marks += [tag_head + tag for tag in content.tags]
    if partition is Partition.FILES:
        marks.append(_NAME_HEAD + folded(content.key))
    return blind_marks(key, marks)


def name_label(key: DataKey, name: str) -> bytes:
    """What all spellings of a file's name have in common."""
    return blind_marks(key, [_NAME_HEAD + folded(name)])


def prefix_label(key: DataKey, partition: int, namespace: str, prefix: str) -> bytes:
    return blind_label(key, partition, "prefix", f"{namespace}\0{prefix}")


def whole_namespace(namespace: str) -> str:
    """What the label of all that is in a namespace is made of; the unnamed one has none."""
    return f"{namespace}\0"


def slash_prefixes(name: str) -> list[str]:
    """`a/b/c` lies under `a/` and `a/b/`."""
    prefixes: list[str] = []
    end = name.find("/")
    while end >= 0 and len(prefixes) < PREFIX_LEVELS:
        prefixes.append(name[: end + 1])
        end = name.find("/", end + 1)
    return prefixes


_ENDS = struct.Struct(">II")
"""Where the two parts of the header end."""
_CHANGES = {change.value: change for change in Change}
_SOURCES = {source.value: source for source in Source}
_KINDS = {kind.value: kind for kind in PrincipalKind}
_BETWEEN = "\0"
_BETWEEN_TAGS = "\x1f"
_NO_CIRCUMSTANCES = (None, None, None, Change.CREATED, None, (), "")
"""What most notes have: neither conversation, speaker nor time, no change yet, no source. It is left out."""
_KNOWN_WRITERS = 1_024


def pack(owner: Principal, content: Content) -> bytes:
    (
        key, body, writer, namespace, hint, media_type, category, tags, conversation, speaker, at_us, change, restores,
        derived_from, removed_by,
    ) = content  # fmt: skip
    who = _who_part(owner, writer)
    media = "" if media_type == TEXT else media_type
    what = _joined(key, namespace, hint, media, category, _BETWEEN_TAGS.join(tags))
    if (conversation, speaker, at_us, change, restores, derived_from, removed_by) != _NO_CIRCUMSTANCES:
        what += _BETWEEN.encode() + _joined(
            conversation or "",
            speaker or "",
            "" if at_us is None else str(at_us),
            change.value,
            "" if restores is None else str(restores),
            _BETWEEN_TAGS.join(derived_from),
            removed_by,
        )
    who_ends = _ENDS.size + len(who)
    return _ENDS.pack(who_ends, who_ends + len(what)) + who + what + body


@lru_cache(_KNOWN_WRITERS)
def _who_part(owner: Principal, writer: Provenance) -> bytes:
    return _joined(
        owner.kind,
        owner.id,
        writer.by,
        writer.door,
        writer.source,
        writer.conversation or "",
        writer.run or "",
    )


def _joined(*fields: str) -> bytes:
    joined = _BETWEEN.join(fields)
    if joined.count(_BETWEEN) != len(fields) - 1:
        raise InvalidField("No field of an entry but its value may hold NUL characters.")
    return joined.encode()


def unpack(plain: bytes) -> tuple[Principal, Content]:
    who_ends, what_ends = _ENDS.unpack_from(plain)
    owner, provenance = _who(plain[_ENDS.size : who_ends])
    key, namespace, hint, media, category, tags, *others = plain[who_ends:what_ends].decode().split(_BETWEEN)
    circumstances = _circumstances(*others) if others else _NO_CIRCUMSTANCES
    content = _tuple(
        Content,
        (
            key,
            plain[what_ends:],
            provenance,
            namespace,
            hint,
            media or TEXT,
            category,
            tuple(tags.split(_BETWEEN_TAGS)) if tags else (),
            *circumstances,
        ),
    )
    return owner, content


@lru_cache(_KNOWN_WRITERS)
def _who(part: bytes) -> tuple[Principal, Provenance]:
    """Remembered, because the entries of a space have few writers."""
    kind, subject, by, door, source, conversation, run = part.decode().split(_BETWEEN)
    provenance = Provenance(by, door, _SOURCES[source], conversation or None, run or None)
    return Principal(_KINDS[kind], subject), provenance


def _circumstances(
    conversation: str,
    speaker: str,
    at: str,
    change: str,
    restores: str,
    derived_from: str = "",
    removed_by: str = "",
) -> tuple[str | None, str | None, int | None, Change, int | None, tuple[str, ...], str]:
    return (
        conversation or None,
        speaker or None,
        int(at) if at else None,
        _CHANGES[change],
        int(restores) if restores else None,
        tuple(derived_from.split(_BETWEEN_TAGS)) if derived_from else (),
        removed_by,
    )


class State(NamedTuple):
    expires_us: int | None = None
    always_inject: bool = False
    encrypted: bool = False
    quarantined: bool = False

    @classmethod
    def of(cls, entry: Entry) -> State:
        return cls(entry.expires_us, entry.always_inject, entry.encrypted, entry.quarantined)

    @property
    def flags(self) -> int:
        return (
            self.always_inject * ALWAYS_INJECT | self.encrypted * ENCRYPTED | self.quarantined * QUARANTINED
        )
