"""File memories: rules for names, types and descriptions, and the index MEMORY.md.

A name is a file name on every system, so names use few letters and are compared without case."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.domain.context import EMPTY, by_name, seen, within_index
from holdfast.domain.entry import Entry
from holdfast.domain.errors import InvalidField, InvalidName, InvalidType, MissingField
from holdfast.domain.limits import Limits, check_label

TYPES = ("user", "feedback", "project", "reference")
NAME_CHARACTERS = 64
RESERVED = frozenset({"memory", "trash"})
"""Names of the index and of the folder of deleted files, in lower case."""
SUFFIX = ".md"
INDEX = "MEMORY.md"
NAME_PATTERN = rf"^[A-Za-z0-9_-]{{1,{NAME_CHARACTERS}}}$"

_NAME = re.compile(NAME_PATTERN.removesuffix("$") + r"\Z")
_MARKUP = re.compile(r"[\\\[\]<>`]")


class FileIndex(NamedTuple):
    """The contents of an index: files, and the number of files beyond them."""

    files: Sequence[Entry]
    more: bool = False
    """True when there are more, which nobody counted."""
    locked: int = 0


def check_name(name: object) -> str:
    if name is None:
        raise MissingField("`name` is required, for example `preferred-language`.")
    if not isinstance(name, str) or not _NAME.match(name):
        raise InvalidName
    if folded(name) in RESERVED:
        raise InvalidName(f"The name `{name}` is taken by the index or the trash; choose another.")
    return name


def check_type(type: object) -> str:
    if type is None or type == "":
        raise MissingField("`type` is required: user, feedback, project or reference.")
    if type not in TYPES:
        raise InvalidType
    return str(type)


def check_description(description: object, limits: Limits) -> str:
    """Checks a description, which is one line because it becomes one line of the index."""
    if description is None:
        raise MissingField("`description` is required: one line that says what the entry holds.")
    line = check_label("description", description, limits)
    if not line:
        raise MissingField("`description` is required: one line that says what the entry holds.")
    return line


def check_body(body: object) -> str:
    if body is None or (isinstance(body, str) and not body.strip()):
        raise MissingField("`body` is required: the full content of the entry.")
    if not isinstance(body, str):
        raise InvalidField("The body must be text.")
    return body


def folded(name: str) -> str:
    """The name as a file system that ignores case compares it."""
    return name.lower()


def index_line(name: str, description: str) -> str:
    """One line that no description can leave: no markup, no invisible characters."""
    shown = _MARKUP.sub(r"\\\g<0>", seen(description))
    return f"- [{name}]({name}{SUFFIX}) — {shown}"


def index_text(index: FileIndex) -> str:
    """The text of MEMORY.md: a line for each file, and a note on those left out."""
    lines = within_index(index_line(file.key, file.hint) for file in by_name(index.files))
    return "\n".join([*lines, *_notes(index, len(lines))]) + "\n"


def _notes(index: FileIndex, shown: int) -> list[str]:
    left_out = len(index.files) - shown
    notes = []
    if left_out or index.more:
        count = f"{left_out}{'+' if index.more else ''}"
        notes.append(
            f"> Left out for size: {count} more; recall finds them, and each can be read by its name."
        )
    if index.locked:
        notes.append(f"> Locked and skipped: {index.locked}.")
    if not shown and not notes:
        notes.append(f"> {EMPTY}")
    return notes
