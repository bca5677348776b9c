"""The row of the tool memory_20250818."""

from __future__ import annotations

from holdfast.domain.errors import MissingField
from holdfast.surfaces.anthropic import COMMANDS, AnthropicCalls
from holdfast.surfaces.wire.call import Call
from holdfast.surfaces.wire.fields import Kind
from holdfast.surfaces.wire.shape import TEXT, Part, Shape
from holdfast.surfaces.wire.words import field

_PATH = {"pattern": "^/memories"}
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
        field("path", Kind.TEXT, "A file or folder.", "/memories/notes.md", bounds=_PATH),
        field(
            "view_range",
            Kind.ANY,
            "view: the first and the last line; -1: to the end.",
            bounds={"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
        ),
        field("file_text", Kind.TEXT, "create: what the file is to hold.", "Prefers short answers\n"),
        field("old_str", Kind.TEXT, "str_replace: a passage that occurs once."),
        field("new_str", Kind.TEXT, "str_replace: what to put there."),
        field(
            "insert_line", Kind.WHOLE, "insert: after this line; 0: at the beginning.", bounds={"minimum": 0}
        ),
        field("insert_text", Kind.TEXT, "insert: the text."),
        field("old_path", Kind.TEXT, "rename: what it is called.", bounds=_PATH),
        field("new_path", Kind.TEXT, "rename: what it shall be called.", bounds=_PATH),
    ),
    TOLD,
    writes=True,
)
