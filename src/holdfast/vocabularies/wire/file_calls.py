"""The rows of the files vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from holdfast.domain.errors import InvalidName, InvalidType, MissingField
from holdfast.domain.file import NAME_PATTERN, TYPES
from holdfast.vocabularies.files import ACTIONS, DELETE, UPSERT, FileCalls, FileChange, FileMemory
from holdfast.vocabularies.wire.answers import ADVISED, COUNTS, read_advice
from holdfast.vocabularies.wire.call import Call
from holdfast.vocabularies.wire.fields import Field, Kind
from holdfast.vocabularies.wire.shape import (
    ID,
    MAYBE_ID,
    MOMENT,
    SWITCH,
    TEXT,
    WHOLE,
    Json,
    Part,
    Shape,
    micros,
    moment,
    text_shape,
)
from holdfast.vocabularies.wire.words import LINE, NOT_BLANK, REVISION, field

_NAME = field(
    "name",
    Kind.TEXT,
    "The file's name without `.md`: letters, digits, dash and underscore.",
    "preferred-language",
    missing=MissingField,
    wrong=InvalidName,
    bounds={"pattern": NAME_PATTERN},
)
_TYPE = field(
    "type",
    Kind.TEXT,
    "user: preferences and standing instructions; feedback: corrections; project: facts of a project; reference: "
    "addresses and ids elsewhere.",
    "user",
    wrong=InvalidType,
    bounds={"enum": list(TYPES)},
)
_WHOLE_FILE = ("type", "description", "body")
_BY_ACTION = {
    "anyOf": [
        {
            "properties": {"action": {"const": UPSERT}} | {name: {"type": "string"} for name in _WHOLE_FILE},
            "required": list(_WHOLE_FILE),
        },
        {"properties": {"action": {"const": DELETE}}},
    ]
}


def _read_change(shown: Json) -> FileChange:
    id, kinds = shown["id"], tuple(sorted(shown.get("redactions", {}).items()))
    read = {"id": None if id is None else UUID(id), "redactions": kinds, "advice": read_advice(shown)}
    return FileChange(**shown | read)


def _read_file(shown: Json) -> FileMemory:
    updated = micros(shown["updated_at"])
    assert updated is not None
    return FileMemory(
        shown["name"],
        shown["type"],
        shown["description"],
        shown["body"],
        UUID(shown["id"]),
        shown["revision"],
        updated,
    )


FILE_CHANGE = Shape(
    "UserMemoryChange",
    (
        Part("action", TEXT | {"enum": list(ACTIONS)}, lambda done: done.action),
        Part("name", TEXT, lambda done: done.name),
        Part("id", MAYBE_ID, lambda done: None if done.id is None else str(done.id)),
        Part("revision", WHOLE, lambda done: done.revision),
        Part("created", SWITCH, lambda done: done.created),
        Part("redacted", WHOLE, lambda done: done.redacted),
        Part("redactions", COUNTS, lambda done: dict(done.redactions) or None, optional=True),
        Part("persisted", SWITCH, lambda done: done.persisted),
        Part("note", TEXT, lambda done: done.note, optional=True),
        ADVISED,
    ),
    _read_change,
)
FILE = Shape(
    "UserMemory",
    (
        Part("name", TEXT, lambda file: file.name),
        Part("type", TEXT, lambda file: file.type),
        Part("description", TEXT, lambda file: file.description),
        Part("body", TEXT, lambda file: file.body),
        Part("text", TEXT, lambda file: file.text),
        Part("id", ID, lambda file: str(file.id)),
        Part("revision", WHOLE, lambda file: file.revision),
        Part("updated_at", MOMENT, lambda file: moment(file.updated_us)),
    ),
    _read_file,
)
INDEX = text_shape("UserMemoryIndex", "text/markdown")


def files(run: Callable[..., Any], fields: tuple[Field, ...], answer: Shape[Any], **more: Any) -> Call:
    return Call(FileCalls, run, fields, answer, **more)


UPDATE_USER_MEMORY = files(
    FileCalls.update_user_memory,
    (
        field(
            "action",
            Kind.TEXT,
            "`upsert` needs type, description and body too; `delete` the name alone.",
            UPSERT,
            missing=MissingField,
            bounds={"enum": list(ACTIONS)},
        ),
        _NAME,
        _TYPE,
        field(
            "description",
            Kind.TEXT,
            "One line that the index shows.",
            "User prefers Japanese output",
            bounds=LINE,
        ),
        field(
            "body",
            Kind.TEXT,
            "The full content.",
            "Always respond in Japanese unless the user explicitly asks for another language.",
            bounds=NOT_BLANK,
        ),
        REVISION,
    ),
    FILE_CHANGE,
    writes=True,
    rules=_BY_ACTION,
)
READ_USER_MEMORY = files(FileCalls.read_user_memory, (_NAME,), FILE)
FILE_INDEX = files(FileCalls.index, (_TYPE,), INDEX)
