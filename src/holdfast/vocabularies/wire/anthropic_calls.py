"""The row of the tool memory_20250818."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.domain.errors import MissingField
from holdfast.vocabularies.anthropic import COMMANDS, ROOT, AnthropicCalls
from holdfast.vocabularies.wire.call import Call
from holdfast.vocabularies.wire.fields import Kind, Schema
from holdfast.vocabularies.wire.rules import way
from holdfast.vocabularies.wire.shape import TEXT, Part, Shape
from holdfast.vocabularies.wire.words import NO_NUL, field, name_under

_PATH = TEXT | {"pattern": f"^{ROOT}"}
_FILE = TEXT | {"pattern": f"^{ROOT}/*[^/]"}
_NEEDS: Mapping[str, Mapping[str, Schema]] = {
    "view": {"path": _PATH},
    "create": {"path": TEXT | name_under(ROOT, "/*"), "file_text": TEXT | NO_NUL},
    "str_replace": {"path": _FILE, "old_str": TEXT | {"minLength": 1}},
    "insert": {"path": _FILE, "insert_line": {"type": "integer", "minimum": 0}, "insert_text": TEXT},
    "delete": {"path": _FILE},
    "rename": {"old_path": _FILE, "new_path": _PATH},
}
_BY_COMMAND = {
    "oneOf": [way(command, {"command": {"const": command}, **_NEEDS[command]}) for command in COMMANDS]
}
TOLD: Shape[str] = Shape(
    "ToolText", (Part("text", TEXT, lambda text: text),), lambda shown: str(shown["text"])
)
MEMORY = Call(
    AnthropicCalls,
    AnthropicCalls.memory,
    (
        field(
            "command",
            Kind.TEXT,
            "What to do.",
            "create",
            missing=MissingField,
            bounds={"enum": list(COMMANDS)},
        ),
        field("path", Kind.TEXT, "A file or folder.", "/memories/notes.md"),
        field(
            "view_range",
            Kind.ANY,
            "view: the first and the last line; -1: to the end.",
            bounds={"type": "array", "items": {"type": "integer"}},
        ),
        field("file_text", Kind.TEXT, "create: what the file is to hold.", "Prefers short answers\n"),
        field("old_str", Kind.TEXT, "str_replace: a passage that occurs once."),
        field("new_str", Kind.TEXT, "str_replace: what to put there."),
        field("insert_line", Kind.WHOLE, "insert: after this line; 0: at the beginning."),
        field("insert_text", Kind.TEXT, "insert: the text."),
        field("old_path", Kind.TEXT, "rename: what it is called."),
        field("new_path", Kind.TEXT, "rename: what it shall be called."),
    ),
    TOLD,
    writes=True,
    rules=_BY_COMMAND,
)
