"""Entries as JSON: by themselves, in pages, as hits, as likenesses, and their revisions."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

from holdfast.domain.entry import BYTES, Change, Content, Entry, Provenance, Revision, Source
from holdfast.domain.ids import entry_id_text, number_of
from holdfast.domain.partition import Partition
from holdfast.domain.principal import parse_grantee
from holdfast.operations.results import Hit, Hits, Page, Similar
from holdfast.vocabularies.wire.shape import (
    ID,
    MAYBE_MOMENT,
    MAYBE_TEXT,
    MOMENT,
    NUMBER,
    SWITCH,
    TEXT,
    TEXTS,
    WHOLE,
    Json,
    Part,
    Shape,
    listed,
    many,
    micros,
    moment,
    space_text,
)

_INTERNAL = Partition.INTERNAL


def _text(content: Content) -> str | None:
    return content.text if content.is_text else None


def _data(content: Content) -> str | None:
    return None if content.is_text else base64.b64encode(content.body).decode()


def _provenance(content: Content) -> Json:
    by, door, source, conversation, run = content.provenance
    return {"by": by, "door": door, "source": source.value, "conversation": conversation, "run": run}


PROVENANCE = {
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


CHANGE = {
    "type": "string",
    "description": "Why this revision exists.",
    "enum": [change.value for change in Change],
}


def _content_parts(of: Callable[[Any], Content], text: str = "text") -> tuple[Part, ...]:
    return (
        Part("key", TEXT, lambda value: of(value).key),
        Part("namespace", TEXT, lambda value: of(value).namespace or None, optional=True),
        Part("hint", TEXT, lambda value: of(value).hint),
        Part(text, MAYBE_TEXT, lambda value: _text(of(value))),
        Part("data", {"type": "string", "format": "byte"}, lambda value: _data(of(value)), optional=True),
        Part("media_type", TEXT, lambda value: of(value).media_type),
        Part("category", TEXT, lambda value: of(value).category),
        Part("tags", TEXTS, lambda value: of(value).tags),
        Part("conversation", MAYBE_TEXT, lambda value: of(value).conversation),
        Part("speaker", MAYBE_TEXT, lambda value: of(value).speaker),
        Part("at", MAYBE_MOMENT, lambda value: moment(of(value).at_us)),
        Part("provenance", PROVENANCE, lambda value: _provenance(of(value))),
        Part("derived_from", TEXTS, lambda value: of(value).derived_from or None, optional=True),
        Part("removed_by", TEXT, lambda value: of(value).removed_by or None, optional=True),
    )


def _read_content(
    shown: Json, text: str = "text", change: str = "created", restores: int | None = None
) -> Content:
    origin = shown["provenance"]
    return Content(
        key=shown["key"],
        body=base64.b64decode(shown["data"]) if shown["media_type"] == BYTES else shown[text].encode(),
        provenance=Provenance(
            origin["by"], origin["door"], Source(origin["source"]), origin["conversation"], origin["run"]
        ),
        namespace=shown.get("namespace", ""),
        hint=shown["hint"],
        media_type=shown["media_type"],
        category=shown["category"],
        tags=tuple(shown["tags"]),
        conversation=shown.get("conversation"),
        speaker=shown.get("speaker"),
        at_us=micros(shown.get("at")),
        change=Change(change),
        restores=restores,
        derived_from=tuple(shown.get("derived_from", ())),
        removed_by=shown.get("removed_by", ""),
    )


def _entry_parts(of: Callable[[Any], Entry], text: str = "text") -> tuple[Part, ...]:
    return (
        Part("id", ID, lambda value: str(of(value).id)),
        Part("space", ID, lambda value: str(of(value).space)),
        Part("owner", TEXT, lambda value: str(of(value).owner)),
        Part("partition", TEXT, lambda value: of(value).partition.label),
        *_content_parts(lambda value: of(value).content, text),
        Part("revision", WHOLE, lambda value: of(value).revision),
        Part("change", CHANGE, lambda value: of(value).content.change.value),
        Part("created_at", MOMENT, lambda value: moment(of(value).created_us)),
        Part("updated_at", MOMENT, lambda value: moment(of(value).updated_us)),
        Part("expires_at", MAYBE_MOMENT, lambda value: moment(of(value).expires_us)),
        Part("trashed_at", MAYBE_MOMENT, lambda value: moment(of(value).trashed_us), optional=True),
        Part("always_inject", SWITCH, lambda value: of(value).always_inject),
        Part("in_context", SWITCH, lambda value: of(value).in_context),
        Part("encrypted", SWITCH, lambda value: of(value).encrypted),
        Part("quarantined", SWITCH, lambda value: of(value).quarantined or None, optional=True),
    )


def _read_entry(shown: Json, text: str = "text") -> Entry:
    created, updated = micros(shown["created_at"]), micros(shown["updated_at"])
    assert created is not None
    assert updated is not None
    return Entry(
        space=UUID(shown["space"]),
        number=number_of(UUID(shown["id"])),
        owner=parse_grantee(shown["owner"]),
        partition=Partition[shown["partition"].upper()],
        revision=shown["revision"],
        content=_read_content(shown, text, shown["change"]),
        created_us=created,
        updated_us=updated,
        expires_us=micros(shown["expires_at"]),
        trashed_us=micros(shown.get("trashed_at")),
        always_inject=shown["always_inject"],
        encrypted=shown["encrypted"],
        quarantined=shown.get("quarantined", False),
    )


def _show_entry(entry: Entry) -> Json:
    """What the parts say, in one go: it is shown for every entry that is read."""
    (
        space, number, owner, partition, revision, content, created, updated, expires, trashed, always_inject,
        encrypted, quarantined,
    ) = entry  # fmt: skip
    (
        key, body, provenance, namespace, hint, media_type, category, tags, conversation, speaker, at_us, change, _,
        derived_from, removed_by,
    ) = content  # fmt: skip
    space_id, is_text = space_text(space), media_type != BYTES
    by, door, source, said_in, run = provenance
    shown: Json = {
        "id": entry_id_text(space_id, number),
        "space": space_id,
        "owner": f"{owner.kind}:{owner.id}",
        "partition": partition.label,
        "key": key,
        "hint": hint,
        "text": body.decode() if is_text else None,
        "media_type": media_type,
        "category": category,
        "tags": tags,
        "conversation": conversation,
        "speaker": speaker,
        "at": moment(at_us),
        "provenance": {"by": by, "door": door, "source": source._value_, "conversation": said_in, "run": run},
        "revision": revision,
        "change": change._value_,
        "created_at": moment(created),
        "updated_at": moment(updated),
        "expires_at": moment(expires),
        "always_inject": always_inject,
        "in_context": partition is not _INTERNAL,
        "encrypted": encrypted,
    }
    if namespace:
        shown["namespace"] = namespace
    if not is_text:
        shown["data"] = _data(content)
    if trashed is not None:
        shown["trashed_at"] = moment(trashed)
    if derived_from:
        shown["derived_from"] = derived_from
    if removed_by:
        shown["removed_by"] = removed_by
    if quarantined:
        shown["quarantined"] = True
    return shown


ENTRY = Shape("Entry", _entry_parts(lambda entry: cast(Entry, entry)), _read_entry, _show_entry)
FACT = Shape(
    "Fact", _entry_parts(lambda entry: cast(Entry, entry), "value"), lambda shown: _read_entry(shown, "value")
)


def _page(name: str, rows: str, row: Shape[Entry]) -> Shape[Page]:
    return Shape(
        name,
        (
            Part(rows, many(row), lambda page: [row.show(entry) for entry in page], shapes=(row,)),
            Part("cursor", MAYBE_TEXT, lambda page: page.cursor),
            Part("locked", WHOLE, lambda page: page.locked or None, optional=True),
            Part("note", TEXT, lambda page: page.note, optional=True),
        ),
        lambda shown: Page(
            [row.read(entry) for entry in shown[rows]],
            shown["cursor"],
            shown.get("locked", 0),
            shown.get("note"),
        ),
    )


PAGE = _page("Page", "entries", ENTRY)
FACT_PAGE = _page("FactPage", "facts", FACT)


FACTS: Shape[Page] = Shape(
    "Facts",
    (
        Part("facts", many(FACT), lambda page: [FACT.show(entry) for entry in page], shapes=(FACT,)),
        Part("cursor", MAYBE_TEXT, lambda page: page.cursor, optional=True),
        Part("note", TEXT, lambda page: page.note, optional=True),
    ),
    lambda shown: Page(
        [FACT.read(fact) for fact in shown["facts"]], shown.get("cursor"), note=shown.get("note")
    ),
)


def _similar_entry(value: Any) -> Entry:
    return cast(Similar, value).entry


SIMILAR = Shape(
    "Similar",
    (
        *_entry_parts(_similar_entry),
        Part(
            "verdict", {"type": "string", "enum": ["same", "merge", "similar"]}, lambda value: value.verdict
        ),
        Part("jaccard", NUMBER, lambda value: value.jaccard),
        Part("guard", MAYBE_TEXT, lambda value: value.guard),
    ),
    lambda shown: Similar(_read_entry(shown), shown["verdict"], shown["jaccard"], shown["guard"]),
)
SIMILARS = listed("Similars", "similar", SIMILAR)


def _hit_entry(value: Any) -> Entry:
    return cast(Hit, value).entry


def _why(hit: Hit) -> Json | None:
    if hit.why is None:
        return None
    return {name: getattr(hit.why, name) for name in hit.why.__slots__}


def _read_hit(shown: Json) -> Hit:
    why = shown.get("why")
    if why is not None:
        from holdfast.recall.fusion import Explanation

        why = Explanation(**why)
    return Hit(_read_entry(shown), shown["score"], why)


WHY = {
    "type": "object",
    "description": "score = (words + meaning + conversation) * (1 + sum of factors) * role",
    "properties": {
        **dict.fromkeys(("score", "words", "meaning", "conversation", "role"), NUMBER),
        "factors": {"type": "object", "additionalProperties": NUMBER},
    },
}


def _show_hit(hit: Hit) -> Json:
    shown = _show_entry(hit.entry)
    shown["score"] = hit.score
    if hit.why is not None:
        shown["why"] = _why(hit)
    return shown


HIT = Shape(
    "Hit",
    (
        *_entry_parts(_hit_entry),
        Part("score", NUMBER, lambda hit: hit.score),
        Part("why", WHY, _why, optional=True),
    ),
    _read_hit,
    _show_hit,
)


def _read_hits(shown: Json) -> Hits:
    hits = Hits([HIT.read(hit) for hit in shown["hits"]], shown.get("note"))
    hits.degraded = shown.get("degraded", False)
    return hits


HITS = Shape(
    "Hits",
    (
        Part("hits", many(HIT), lambda hits: [HIT.show(hit) for hit in hits], shapes=(HIT,)),
        Part("degraded", SWITCH, lambda hits: hits.degraded or None, optional=True),
        Part("note", TEXT, lambda hits: hits.note, optional=True),
    ),
    _read_hits,
)


def _of_content(part: Part) -> Part:
    def of(revision: Any) -> Any:
        return None if revision.content is None else part.of(revision)

    return Part(part.name, part.schema, of, optional=True)


def _read_revision(shown: Json) -> Revision:
    at = micros(shown["at"])
    assert at is not None
    content = None
    if not shown["locked"]:
        content = _read_content(
            shown | {"at": shown.get("said_at")}, change=shown["change"], restores=shown.get("restores")
        )
    return Revision(
        shown["revision"],
        at,
        micros(shown["expires_at"]),
        shown["always_inject"],
        shown["encrypted"],
        content,
        shown.get("quarantined", False),
    )


REVISION = Shape(
    "Revision",
    (
        Part("revision", WHOLE, lambda state: state.revision),
        Part("at", MOMENT, lambda state: moment(state.updated_us)),
        Part("by", TEXT, lambda state: state.by, optional=True),
        Part("change", TEXT, lambda state: state.change and state.change.value, optional=True),
        Part("restores", WHOLE, lambda state: state.content and state.content.restores, optional=True),
        *(
            _of_content(Part("said_at" if part.name == "at" else part.name, part.schema, part.of))
            for part in _content_parts(lambda state: cast(Content, state.content))
        ),
        Part("expires_at", MAYBE_MOMENT, lambda state: moment(state.expires_us)),
        Part("always_inject", SWITCH, lambda state: state.always_inject),
        Part("encrypted", SWITCH, lambda state: state.encrypted),
        Part("quarantined", SWITCH, lambda state: state.quarantined or None, optional=True),
        Part("locked", SWITCH, lambda state: state.locked),
    ),
    _read_revision,
)
REVISIONS = listed("Revisions", "revisions", REVISION)
