"""Entries as JSON: by themselves, in pages, as hits, as near duplicates, and their revisions."""

from __future__ import annotations

import base64
from typing import Any
from uuid import UUID

from holdfast.domain.entry import BYTES, Change, Content, Entry, Provenance, Revision, Source
from holdfast.domain.ids import entry_id_text, number_of
from holdfast.domain.partition import Partition
from holdfast.domain.principal import parse_grantee
from holdfast.operations.results import Hit, Hits, Page, Similar
from holdfast.vocabularies import encoding
from holdfast.vocabularies.encoding import (
    ID,
    MAYBE_MOMENT,
    MAYBE_TEXT,
    MOMENT,
    NOTE,
    NUMBER,
    SWITCH,
    TEXT,
    TEXTS,
    WHOLE,
    Answer,
    Codec,
    Json,
    Part,
    Schema,
    micros,
    moment,
    rows,
    space_text,
)

_PROVENANCE: Schema = {
    "type": "object",
    "description": "Who wrote this state and through which door; set by the engine.",
    "properties": {
        "by": TEXT,
        "door": TEXT,
        "source": {"type": "string", "enum": [source.value for source in Source]},
        "conversation": MAYBE_TEXT,
        "run": MAYBE_TEXT,
    },
}
_CHANGE: Schema = {
    "type": "string",
    "description": "Why this revision exists.",
    "enum": [change.value for change in Change],
}
_WHY: Schema = {
    "type": "object",
    "description": "score = (words + meaning + conversation) * (1 + sum of factors) * role",
    "properties": {
        **dict.fromkeys(("score", "words", "meaning", "conversation", "role"), NUMBER),
        "factors": {"type": "object", "additionalProperties": NUMBER},
    },
}


def _content_parts(text: str = "text", at: str = "at") -> tuple[Part, ...]:
    return (
        Part("key", TEXT),
        Part("namespace", TEXT, optional=True),
        Part("hint", TEXT),
        Part(text, MAYBE_TEXT),
        Part("data", encoding.BYTES, optional=True),
        Part("media_type", TEXT),
        Part("category", TEXT),
        Part("tags", TEXTS),
        Part("conversation", MAYBE_TEXT),
        Part("speaker", MAYBE_TEXT),
        Part(at, MAYBE_MOMENT),
        Part("provenance", _PROVENANCE),
        Part("derived_from", TEXTS, optional=True),
        Part("removed_by", TEXT, optional=True),
    )


def _entry_parts(text: str = "text") -> tuple[Part, ...]:
    return (
        Part("id", ID),
        Part("space", ID),
        Part("owner", TEXT),
        Part("partition", TEXT),
        *_content_parts(text),
        Part("revision", WHOLE),
        Part("change", _CHANGE),
        Part("created_at", MOMENT),
        Part("updated_at", MOMENT),
        Part("expires_at", MAYBE_MOMENT),
        Part("trashed_at", MAYBE_MOMENT, optional=True),
        Part("always_inject", SWITCH),
        Part("in_context", SWITCH),
        Part("encrypted", SWITCH),
        Part("quarantined", SWITCH, optional=True),
    )


def _encode_content(content: Content, text: str = "text", at: str = "at") -> Json:
    provenance, is_text = content.provenance, content.media_type != BYTES
    encoded: Json = {
        "key": content.key,
        "hint": content.hint,
        text: content.body.decode() if is_text else None,
        "media_type": content.media_type,
        "category": content.category,
        "tags": content.tags,
        "conversation": content.conversation,
        "speaker": content.speaker,
        at: moment(content.at_us),
        "provenance": {
            "by": provenance.by,
            "door": provenance.door,
            "source": provenance.source._value_,
            "conversation": provenance.conversation,
            "run": provenance.run,
        },
    }
    if content.namespace:
        encoded["namespace"] = content.namespace
    if not is_text:
        encoded["data"] = base64.b64encode(content.body).decode()
    if content.derived_from:
        encoded["derived_from"] = content.derived_from
    if content.removed_by:
        encoded["removed_by"] = content.removed_by
    return encoded


def _encode_entry(entry: Entry, text: str = "text") -> Json:
    """Written by hand, because it runs for every entry that is read: the generic encoder costs twice as much, which
    `bench http` shows in long lists."""
    space, owner = space_text(entry.space), entry.owner
    encoded: Json = {
        "id": entry_id_text(space, entry.number),
        "space": space,
        "owner": f"{owner.kind}:{owner.id}",
        "partition": entry.partition.label,
        **_encode_content(entry.content, text),
        "revision": entry.revision,
        "change": entry.content.change._value_,
        "created_at": moment(entry.created_us),
        "updated_at": moment(entry.updated_us),
        "expires_at": moment(entry.expires_us),
        "always_inject": entry.always_inject,
        "in_context": entry.in_context,
        "encrypted": entry.encrypted,
    }
    if entry.trashed_us is not None:
        encoded["trashed_at"] = moment(entry.trashed_us)
    if entry.quarantined:
        encoded["quarantined"] = True
    return encoded


def _decode_content(
    encoded: Json, text: str = "text", at: str = "at", restores: int | None = None
) -> Content:
    origin = encoded["provenance"]
    return Content(
        key=encoded["key"],
        body=base64.b64decode(encoded["data"]) if encoded["media_type"] == BYTES else encoded[text].encode(),
        provenance=Provenance(
            origin["by"], origin["door"], Source(origin["source"]), origin["conversation"], origin["run"]
        ),
        namespace=encoded.get("namespace", ""),
        hint=encoded["hint"],
        media_type=encoded["media_type"],
        category=encoded["category"],
        tags=tuple(encoded["tags"]),
        conversation=encoded.get("conversation"),
        speaker=encoded.get("speaker"),
        at_us=micros(encoded.get(at)),
        change=Change(encoded["change"]),
        restores=restores,
        derived_from=tuple(encoded.get("derived_from", ())),
        removed_by=encoded.get("removed_by", ""),
    )


def _decode_entry(encoded: Json, text: str = "text") -> Entry:
    created, updated = micros(encoded["created_at"]), micros(encoded["updated_at"])
    assert created is not None
    assert updated is not None
    return Entry(
        space=UUID(encoded["space"]),
        number=number_of(UUID(encoded["id"])),
        owner=parse_grantee(encoded["owner"]),
        partition=Partition[encoded["partition"].upper()],
        revision=encoded["revision"],
        content=_decode_content(encoded, text),
        created_us=created,
        updated_us=updated,
        expires_us=micros(encoded["expires_at"]),
        trashed_us=micros(encoded.get("trashed_at")),
        always_inject=encoded["always_inject"],
        encrypted=encoded["encrypted"],
        quarantined=encoded.get("quarantined", False),
    )


ENTRY: Answer[Entry] = Answer("Entry", lambda: Codec(_entry_parts(), _encode_entry, _decode_entry))
FACT: Answer[Entry] = Answer(
    "Fact",
    lambda: Codec(
        _entry_parts("value"),
        lambda entry: _encode_entry(entry, "value"),
        lambda encoded: _decode_entry(encoded, "value"),
    ),
)
_CURSOR, _LOCKED = Part("cursor", MAYBE_TEXT), Part("locked", WHOLE, optional=True)
PAGE = rows("Page", "entries", ENTRY, _CURSOR, _LOCKED, NOTE, kind=Page)
FACT_PAGE = rows("FactPage", "facts", FACT, _CURSOR, _LOCKED, NOTE, kind=Page)
FACTS = rows("Facts", "facts", FACT, _CURSOR._replace(optional=True), NOTE, kind=Page)


def _similar() -> Codec[Similar]:
    parts = (
        *_entry_parts(),
        Part("verdict", {"type": "string", "enum": ["same", "merge", "similar"]}),
        Part("jaccard", NUMBER),
        Part("guard", MAYBE_TEXT),
    )

    def encode(one: Similar) -> Json:
        return _encode_entry(one.entry) | {
            "verdict": one.verdict,
            "jaccard": one.jaccard,
            "guard": one.guard,
        }

    def decode(encoded: Json) -> Similar:
        return Similar(_decode_entry(encoded), encoded["verdict"], encoded["jaccard"], encoded["guard"])

    return Codec(parts, encode, decode)


SIMILAR = Answer("Similar", _similar)
SIMILARS = rows("Similars", "similar", SIMILAR)


def _hit() -> Codec[Hit]:
    def encode(hit: Hit) -> Json:
        encoded = _encode_entry(hit.entry)
        encoded["score"] = hit.score
        if hit.why is not None:
            encoded["why"] = {name: getattr(hit.why, name) for name in hit.why.__slots__}
        return encoded

    def decode(encoded: Json) -> Hit:
        why: Any = encoded.get("why")
        if why is not None:
            from holdfast.recall.fusion import Explanation  # numpy

            why = Explanation(**why)
        return Hit(_decode_entry(encoded), encoded["score"], why)

    return Codec((*_entry_parts(), Part("score", NUMBER), Part("why", _WHY, optional=True)), encode, decode)


HIT = Answer("Hit", _hit)
HITS = rows("Hits", "hits", HIT, Part("degraded", SWITCH, optional=True), NOTE, kind=Hits)


def _revision() -> Codec[Revision]:
    """A locked revision has none of the parts of its content."""
    of_content = [part._replace(optional=True) for part in _content_parts(at="said_at")]
    parts = (
        Part("revision", WHOLE),
        Part("at", MOMENT),
        Part("by", TEXT, optional=True),
        Part("change", TEXT, optional=True),
        Part("restores", WHOLE, optional=True),
        *of_content,
        Part("expires_at", MAYBE_MOMENT),
        Part("always_inject", SWITCH),
        Part("encrypted", SWITCH),
        Part("quarantined", SWITCH, optional=True),
        Part("locked", SWITCH),
    )

    def encode(revision: Revision) -> Json:
        encoded: Json = {"revision": revision.revision, "at": moment(revision.updated_us)}
        if (content := revision.content) is not None:
            encoded |= {"by": content.provenance.by, "change": content.change._value_}
            if content.restores is not None:
                encoded["restores"] = content.restores
            values = _encode_content(content, at="said_at")
            encoded |= {name: value for name, value in values.items() if value is not None}
        encoded |= {
            "expires_at": moment(revision.expires_us),
            "always_inject": revision.always_inject,
            "encrypted": revision.encrypted,
            "locked": revision.locked,
        }
        return encoded | {"quarantined": True} if revision.quarantined else encoded

    def decode(encoded: Json) -> Revision:
        at = micros(encoded["at"])
        assert at is not None
        return Revision(
            encoded["revision"],
            at,
            micros(encoded["expires_at"]),
            encoded["always_inject"],
            encoded["encrypted"],
            None
            if encoded["locked"]
            else _decode_content(encoded, at="said_at", restores=encoded.get("restores")),
            encoded.get("quarantined", False),
        )

    return Codec(parts, encode, decode)


REVISION = Answer("Revision", _revision)
REVISIONS = rows("Revisions", "revisions", REVISION)
