"""The row of the corpus."""

from __future__ import annotations

from dataclasses import replace

from holdfast.vocabularies.corpus import KINDS, MOST, MOST_COLLECTIONS, CorpusCalls, Document, Documents
from holdfast.vocabularies.wire.call import NO_VALUE, Call
from holdfast.vocabularies.wire.fields import Kind
from holdfast.vocabularies.wire.shape import NUMBER, TEXT, Part, Shape, many
from holdfast.vocabularies.wire.words import LIMIT, field

_ROW = {"docid": TEXT, "score": NUMBER, "snippet": TEXT, "collection": TEXT, "file": TEXT}


def _of(name: str) -> Part:
    return Part(name, _ROW[name], lambda row: getattr(row, name))


DOCUMENT = Shape("Document", tuple(map(_of, _ROW)), lambda shown: Document(**shown))
DOCUMENTS = Shape(
    "Documents",
    (
        Part(
            "results", many(DOCUMENT), lambda rows: [DOCUMENT.show(row) for row in rows], shapes=(DOCUMENT,)
        ),
        Part("note", TEXT, lambda rows: rows.note, optional=True),
    ),
    lambda shown: Documents(map(DOCUMENT.read, shown["results"]), shown.get("note")),
)
QUERY = Call(
    CorpusCalls,
    CorpusCalls.query,
    (
        field("query", Kind.TEXT, "A question, in words.", "how do we deploy?"),
        field(
            "searches",
            Kind.ROWS,
            'In place of `query`: `[{"type": "lex", "query": "…"}]`, type lex, vec or hyde.',
            of=(
                field(
                    "type", Kind.TEXT, "How a search program means it.", "lex", bounds={"enum": list(KINDS)}
                ),
                field("query", Kind.TEXT, "A question, in words.", "deploy"),
            ),
        ),
        field(
            "collections",
            Kind.TEXTS,
            "Only these, as `holdfast-<category>`.",
            ["holdfast-preferences"],
            bounds={"maxItems": MOST_COLLECTIONS},
        ),
        replace(LIMIT, sentence=f"At most so many, 1 to {MOST}."),
    ),
    DOCUMENTS,
    aside=True,
    rules={"anyOf": [{"properties": {"query": NO_VALUE}}, {"properties": {"searches": NO_VALUE}}]},
)
