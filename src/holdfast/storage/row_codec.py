"""Encodes entries, revisions, spaces and grants as encrypted rows, and decodes them. A row that was changed outside
the engine does not open."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import NamedTuple
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
from holdfast.domain.access import ALL_OFF, ALL_ON, AgentSettings
from holdfast.domain.entry import TEXT, Change, Content, Entry, Provenance, Revision, Source
from holdfast.domain.errors import InvalidField
from holdfast.domain.file import folded
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Principal, PrincipalKind

PREFIX_LEVELS = 8
"""Slash-prefixes stored for each key; deeper ones are found under the eighth and filtered after opening."""

_HEAD = struct.Struct(">4sI16sIB16sB16sBIQQqq?q?qII")
_HEAD_FORMAT = b"HFe1"
_REVISION = struct.Struct(">4sI16sIIQq?qI")
_REVISION_FORMAT = b"HFr1"
_GRANT = struct.Struct(">16s16s16sBqq")
_PARTITIONS = {partition.value: partition for partition in Partition}
_NEVER = -1
_SHOWN = ALWAYS_INJECT | ENCRYPTED | QUARANTINED
_FLAGS = [
    (flags & ALWAYS_INJECT != 0, flags & ENCRYPTED != 0, flags & QUARANTINED != 0)
    for flags in range(_SHOWN + 1)
]
_NAME_HEAD = mark_head(Partition.FILES, "name")
_MARK_HEADS = {
    room: (mark_head(room, "prefix"), mark_head(room, "category"), mark_head(room, "tag"))
    for room in Partition
}


def _entry_aad(key: DataKey, row: EntryRow) -> bytes:
    """The associated data of an entry's seal: the space, and every column but the seal. Flags tell absent times from
    every time, and lengths tell blinds from padded or cut ones."""
    packed = _HEAD.pack(
        _HEAD_FORMAT,
        row.key_id,
        key.space_bytes,
        row.number,
        row.partition,
        row.owner,
        len(row.owner),
        row.key,
        len(row.key),
        row.revision,
        row.born,
        row.seq,
        row.created_us,
        row.updated_us,
        row.expires_us is not None,
        row.expires_us or 0,
        row.trashed_us is not None,
        row.trashed_us or 0,
        row.flags,
        row.length,
    )
    return packed + row.labels


def _revision_aad(key: DataKey, row: RevisionRow) -> bytes:
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
    """Returns the row with its seal. A change of any column needs a new seal."""
    return row._replace(sealed=seal(key, _entry_aad(key, row), pack(owner, content)))


def seal_revision(key: DataKey, row: RevisionRow, owner: Principal, content: Content) -> RevisionRow:
    return row._replace(sealed=seal(key, _revision_aad(key, row), pack(owner, content)))


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
    """Opens the settings of an agent: all on without a row, all off when the row was changed outside the engine."""
    if row is None:
        return ALL_ON
    return AgentSettings(*row[2:7]) if agent_code(store_key, row) == row.mac else ALL_OFF


def open_entry(key: DataKey, row: EntryRow) -> Entry | None:
    """Returns the entry, or None when the row was changed or its body does not open."""
    try:
        plain = unseal(key, _entry_aad(key, row), row.sealed)
    except struct.error:
        return None  # values out of range were never written by the engine
    if plain is None:
        return None
    owner, content = unpack(plain)
    return entry_of(key.space, row, owner, content)


def entry_of(space: UUID, row: EntryRow, owner: Principal, content: Content) -> Entry:
    always_inject, encrypted, quarantined = _FLAGS[row.flags & _SHOWN]
    # By position, in this module alone: with keywords a list of 1,000 entries takes 8 % longer (`bench reads`).
    return Entry(
        space,
        row.number,
        owner,
        _PARTITIONS[row.partition],
        row.revision,
        content,
        row.created_us,
        row.updated_us,
        row.expires_us,
        row.trashed_us,
        always_inject,
        encrypted,
        quarantined,
    )


def open_revision(key: DataKey | None, row: RevisionRow) -> Revision:
    """Opens a revision; one that does not open is locked and has no content."""
    whole = None if key is None else open_revision_whole(key, row)
    content = None if whole is None else whole[1]
    always_inject, encrypted, quarantined = _FLAGS[row.flags & _SHOWN]
    return Revision(
        revision=row.revision,
        updated_us=row.updated_us,
        expires_us=row.expires_us,
        always_inject=always_inject,
        encrypted=encrypted,
        content=content,
        quarantined=quarantined,
    )


def open_revision_whole(key: DataKey, row: RevisionRow) -> tuple[Principal, Content] | None:
    try:
        aad = _revision_aad(key, row)
    except struct.error:
        return None
    plain = unseal(key, aad, row.sealed)
    return None if plain is None else unpack(plain)


def superseded(key: DataKey, row: EntryRow, entry: Entry) -> RevisionRow:
    """The row of a former head in the history, with a seal over the columns of a revision."""
    revision = RevisionRow(
        number=row.number,
        revision=row.revision,
        seq=row.seq,
        updated_us=row.updated_us,
        expires_us=row.expires_us,
        flags=row.flags,
        key_id=row.key_id,
        sealed=b"",
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
    """The label that all spellings of a file's name share."""
    return blind_marks(key, [_NAME_HEAD + folded(name)])


def prefix_label(key: DataKey, partition: int, namespace: str, prefix: str) -> bytes:
    return blind_label(key, partition, "prefix", f"{namespace}\0{prefix}")


def whole_namespace(namespace: str) -> str:
    """The mark behind the label of a whole namespace; the unnamed namespace has none."""
    return f"{namespace}\0"


def slash_prefixes(name: str) -> list[str]:
    """The prefixes `a/` and `a/b/` of `a/b/c`."""
    prefixes: list[str] = []
    end = name.find("/")
    while end >= 0 and len(prefixes) < PREFIX_LEVELS:
        prefixes.append(name[: end + 1])
        end = name.find("/", end + 1)
    return prefixes


_ENDS = struct.Struct(">II")
"""The ends of the two parts of the header."""
_CHANGES = {change.value: change for change in Change}
_SOURCES = {source.value: source for source in Source}
_KINDS = {kind.value: kind for kind in PrincipalKind}
_BETWEEN = "\0"
_BETWEEN_TAGS = "\x1f"
_NO_CIRCUMSTANCES = (None, None, None, Change.CREATED, None, (), "")
"""The circumstances of most notes, which are left out: no conversation, speaker or time, no change yet, no source."""
_FIRST_CIRCUMSTANCE = Content._fields.index("conversation")
_KNOWN_WRITERS = 1_024


def pack(owner: Principal, content: Content) -> bytes:
    """The plain bytes of a body: two offsets, the author, the fields, then the value."""
    author = _packed_author(owner, content.provenance)
    media_type = "" if content.media_type == TEXT else content.media_type
    tags = _BETWEEN_TAGS.join(content.tags)
    fields = _joined(content.key, content.namespace, content.hint, media_type, content.category, tags)
    if content[_FIRST_CIRCUMSTANCE:] != _NO_CIRCUMSTANCES:
        fields += _BETWEEN.encode() + _joined(
            content.conversation or "",
            content.speaker or "",
            "" if content.at_us is None else str(content.at_us),
            content.change.value,
            "" if content.restores is None else str(content.restores),
            _BETWEEN_TAGS.join(content.derived_from),
            content.removed_by,
        )
    author_ends = _ENDS.size + len(author)
    return _ENDS.pack(author_ends, author_ends + len(fields)) + author + fields + content.body


@lru_cache(_KNOWN_WRITERS)
def _packed_author(owner: Principal, writer: Provenance) -> bytes:
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
    author_ends, fields_end = _ENDS.unpack_from(plain)
    owner, provenance = _author(plain[_ENDS.size : author_ends])
    key, namespace, hint, media, category, tags, *others = (
        plain[author_ends:fields_end].decode().split(_BETWEEN)
    )
    # By position, as in `entry_of`.
    content = Content(
        key,
        plain[fields_end:],
        provenance,
        namespace,
        hint,
        media or TEXT,
        category,
        tuple(tags.split(_BETWEEN_TAGS)) if tags else (),
    )
    return owner, _with_circumstances(content, *others) if others else content


@lru_cache(_KNOWN_WRITERS)
def _author(part: bytes) -> tuple[Principal, Provenance]:
    """Unpacks owner and provenance. Cached, because the entries of a space have few writers."""
    kind, subject, by, door, source, conversation, run = part.decode().split(_BETWEEN)
    provenance = Provenance(by, door, _SOURCES[source], conversation or None, run or None)
    return Principal(_KINDS[kind], subject), provenance


def _with_circumstances(
    content: Content,
    conversation: str,
    speaker: str,
    at: str,
    change: str,
    restores: str,
    derived_from: str,
    removed_by: str,
) -> Content:
    return content._replace(
        conversation=conversation or None,
        speaker=speaker or None,
        at_us=int(at) if at else None,
        change=_CHANGES[change],
        restores=int(restores) if restores else None,
        derived_from=tuple(derived_from.split(_BETWEEN_TAGS)) if derived_from else (),
        removed_by=removed_by,
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
