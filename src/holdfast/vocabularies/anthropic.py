"""The tool memory_20250818 as its reference implementation answers, word for word: files below /memories, which are the
entries of the caller's own store. Folders are the paths of their files: without one they are gone."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from holdfast.contracts.storage import Job, Result, Transaction
from holdfast.domain.entry import Entry
from holdfast.domain.errors import (
    Conflict,
    EditNoMatch,
    InvalidField,
    MissingField,
    NotFound,
    NotText,
    PreconditionFailed,
    TooLarge,
)
from holdfast.domain.limits import is_text
from holdfast.domain.partition import Partition
from holdfast.domain.profile import STORES
from holdfast.operations import edit, read, remove
from holdfast.operations.authorize import EntryName
from holdfast.operations.edit import Changes
from holdfast.operations.notes import NoteInput
from holdfast.operations.remember import remember
from holdfast.operations.session import Session
from holdfast.storage.sealed_store import Filter
from holdfast.vocabularies.agents import with_default_ttl
from holdfast.vocabularies.approvals import refuse_unattended_model
from holdfast.vocabularies.call import Vocabulary, call
from holdfast.vocabularies.encoding import TEXT, Schema, single
from holdfast.vocabularies.fields import NO_NUL, Field, name_under
from holdfast.vocabularies.rules import way

ROOT = "/memories"
ROOM = (Partition.STORES,)
PAGE = 1_000
MOST_LINES = 999_999
WIDTH = len(str(MOST_LINES))
LEVELS = 2
AROUND = 2
"""Lines shown before and after a changed one."""
FOLDER_BYTES = 4_096
"""What a folder is said to take, as on most disks."""
COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
PATH = TEXT | {"pattern": f"^{ROOT}"}
FILE = TEXT | {"pattern": f"^{ROOT}/*[^/]"}
NEEDS: Mapping[str, Mapping[str, Schema]] = {
    "view": {"path": PATH},
    "create": {"path": TEXT | name_under(ROOT, "/*"), "file_text": TEXT | NO_NUL},
    "str_replace": {"path": FILE, "old_str": TEXT | {"minLength": 1}},
    "insert": {"path": FILE, "insert_line": {"type": "integer", "minimum": 0}, "insert_text": TEXT},
    "delete": {"path": FILE},
    "rename": {"old_path": FILE, "new_path": PATH},
}
BY_COMMAND = {
    "oneOf": [way(command, {"command": {"const": command}, **NEEDS[command]}) for command in COMMANDS]
}
LINES = {"type": "array", "items": {"type": "integer"}}


class AnthropicCalls(Vocabulary):
    @call(single("ToolText", "text", str), writes=True, rules=BY_COMMAND)
    def memory(
        self,
        command: Annotated[
            str, Field("What to do.", "create", missing=MissingField, bounds={"enum": list(COMMANDS)})
        ],
        *,
        path: Annotated[str | None, Field("A file or folder.", "/memories/notes.md")] = None,
        view_range: Annotated[
            Sequence[int] | None, Field("view: the first and the last line; -1: to the end.", bounds=LINES)
        ] = None,
        file_text: Annotated[
            str | None, Field("create: what the file is to hold.", "Prefers short answers\n")
        ] = None,
        old_str: Annotated[str | None, Field("str_replace: a passage that occurs once.")] = None,
        new_str: Annotated[str | None, Field("str_replace: what to put there.")] = None,
        insert_line: Annotated[int | None, Field("insert: after this line; 0: at the beginning.")] = None,
        insert_text: Annotated[str | None, Field("insert: the text.")] = None,
        old_path: Annotated[str | None, Field("rename: what it is called.")] = None,
        new_path: Annotated[str | None, Field("rename: what it shall be called.")] = None,
    ) -> Result[str]:
        """The memory_20250818 tool: `view`, `create`, `str_replace`, `insert`, `delete` and `rename` files below
        /memories."""
        tree, lines = _Tree(self._session), _range(view_range)
        _check_texts(
            path=path, file_text=file_text, old_str=old_str, new_str=new_str, insert_text=insert_text,
            old_path=old_path, new_path=new_path,
        )  # fmt: skip
        _check_line(insert_line)
        match command:
            case "view":
                place = _place(path)
                return _view(tree, place, lines)
            case "create":
                place, text = _place(path), _text("file_text", file_text)
                return _create(tree, place, text)
            case "str_replace":
                place, old = _place(path), _text("old_str", old_str)
                new = "" if new_str is None else _text("new_str", new_str)
                return _replace(tree, place, old, new)
            case "insert":
                place, text = _place(path), _text("insert_text", insert_text)
                if insert_line is None:
                    raise MissingField("`insert_line` is required: a whole number.")
                line = insert_line
                return _insert(tree, place, line, text)
            case "delete":
                place = _place(path)
                refuse_unattended_model(self._session)
                return _delete(tree, place)
            case "rename":
                old_place, new_place = _place(old_path, "old_path"), _place(new_path, "new_path")
                return _rename(tree, old_place, new_place)
            case _:
                raise InvalidField(f"Unknown command: {command}")


@dataclass(frozen=True, slots=True)
class _Place:
    """A path as it was said, and the key it means; the folder /memories itself has none."""

    said: str
    key: str


def _place(path: object, name: str = "path") -> _Place:
    said = _text(name, path)
    if not said.startswith(ROOT):
        raise InvalidField(f"Path must start with {ROOT}, got: {said}")
    whole = posixpath.normpath(f"{ROOT}/{said.removeprefix(ROOT).lstrip('/')}")
    if whole != ROOT and not whole.startswith(f"{ROOT}/"):
        raise InvalidField(f"Path {said} would escape {ROOT} directory")
    return _Place(said, whole.removeprefix(ROOT).lstrip("/"))


def _leads_to(key: str) -> bool:
    return posixpath.normpath(f"{ROOT}/{key}") == f"{ROOT}/{key}"


def _text(name: str, value: object) -> str:
    if value is None:
        raise MissingField(f"`{name}` is required.")
    if not is_text(value):
        raise InvalidField(f"`{name}` must be text.")
    return value


def _check_texts(**said: object) -> None:
    """Also what a command has no use for: what is no text is a mistake whoever reads it."""
    for name, text in said.items():
        if text is not None:
            _text(name, text)


def _check_line(line: object) -> None:
    if line is not None and (not isinstance(line, int) or isinstance(line, bool)):
        raise InvalidField("`insert_line` is a whole number.")


def _range(lines: object) -> tuple[int, int] | None:
    if lines is None:
        return None
    if not isinstance(lines, list | tuple) or not all(type(line) is int for line in lines):
        raise InvalidField("`view_range` is the first and the last line, as whole numbers.")
    return (lines[0], lines[1]) if len(lines) == 2 else None


class _Tree:
    """The caller's own files, as they are committed now."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def file(self, key: str) -> Entry | None:
        if key != key.strip() or not key:  # keys are kept without space around them, so this one is nobody's
            return None
        try:
            return read.get(self.session, EntryName(key, partitions=ROOM))
        except NotFound:
            return None

    def under(self, key: str, page: int = PAGE) -> Iterator[Entry]:
        """Every file below a folder. A key that other vocabularies made and no path leads to is none."""
        wanted, cursor = Filter("", f"{key}/" if key else ""), None
        while True:
            listing = read.Listing(ROOM, None, wanted, page, cursor)
            found = read.list_entries(self.session, listing)
            yield from (entry for entry in found if _leads_to(entry.key))
            if (cursor := found.cursor) is None:
                return

    def is_folder(self, key: str) -> bool:
        return not key or next(self.under(key, 1), None) is not None

    def exists(self, key: str) -> bool:
        return self.file(key) is not None or self.is_folder(key)

    def require_file(self, place: _Place) -> Entry:
        entry = self.file(place.key)
        if entry is not None:
            return entry
        if self.is_folder(place.key):
            raise InvalidField(f"The path {place.said} is not a file.")
        raise NotFound(f"The path {place.said} does not exist. Please provide a valid path.")

    def refuse_new(self, place: _Place) -> None:
        """Where no file can be: inside another one, and under a name that would be kept as another."""
        if place.key != place.key.strip():
            raise InvalidField(f"The name of {place.said} must not begin or end with space.")
        parts = place.key.split("/")
        for depth in range(1, len(parts)):
            if self.file("/".join(parts[:depth])) is not None:
                raise Conflict(f"The path {ROOT}/{'/'.join(parts[:depth])} is not a directory.")


def _view(tree: _Tree, place: _Place, lines: tuple[int, int] | None) -> str:
    entry = tree.file(place.key)
    if entry is not None:
        return _numbered_file(place, entry, lines)
    if tree.is_folder(place.key):
        return _listed(tree, place)
    raise NotFound(f"The path {place.said} does not exist. Please provide a valid path.")


def _numbered_file(place: _Place, entry: Entry, wanted: tuple[int, int] | None) -> str:
    lines, first = _content(place, entry).split("\n"), 1
    if len(lines) > MOST_LINES:
        raise TooLarge(f"File {place.said} exceeds maximum line limit of {MOST_LINES:,} lines.")
    if wanted is not None:
        first, last = max(1, wanted[0]), wanted[1]
        lines = lines[first - 1 : len(lines) if last == -1 else last]
    return f"Here's the content of {place.said} with line numbers:\n{_numbered(lines, first)}"


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>{WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _content(place: _Place, entry: Entry) -> str:
    if not entry.content.is_text:
        raise NotText(f"Unsupported file type for {place.said}")
    return entry.text


def _listed(tree: _Tree, place: _Place) -> str:
    folder: dict[str, Any] = {}
    skip = len(place.key) + 1 if place.key else 0
    for entry in tree.under(place.key):
        *folders, name = entry.key[skip:].split("/")
        inner = folder
        for each in folders:
            inner = inner.setdefault(f"{each}/", {})
        inner.setdefault(name, len(entry.value))
    header = f"Here're the files and directories up to 2 levels deep in {place.said}, excluding hidden items:"
    lines = [f"{_size(FOLDER_BYTES)}\t{place.said}"]
    lines += [f"{size}\t{place.said}/{name}" for size, name in _walk(folder, "", LEVELS)]
    return f"{header}\n" + "\n".join(lines)


def _walk(folder: dict[str, Any], above: str, levels: int) -> Iterator[tuple[str, str]]:
    for name, inside in sorted(folder.items(), key=lambda item: item[0].rstrip("/")):
        if name.startswith("."):
            continue
        if isinstance(inside, int):
            yield _size(inside), above + name
            continue
        yield _size(FOLDER_BYTES), above + name
        if levels > 1:
            yield from _walk(inside, above + name, levels - 1)


def _size(count: int) -> str:
    """`0B`, `1.5K`, `2M`."""
    unit = min(max(count.bit_length() - 1, 0) // 10, 3)
    size = count / 1024**unit
    return f"{int(size)}{'BKMG'[unit]}" if size == int(size) else f"{size:.1f}{'BKMG'[unit]}"


def _create(tree: _Tree, place: _Place, text: str) -> Job[str]:
    taken = Conflict(f"File {place.said} already exists")
    if tree.exists(place.key):
        raise taken
    tree.refuse_new(place)
    given = with_default_ttl(tree.session, NoteInput(text, place.key, expected_revision=0))
    job = remember(tree.session, STORES, None, given)

    def write(tx: Transaction) -> str:
        try:
            job.run(tx)
        except PreconditionFailed:
            raise taken from None
        return f"File created successfully at: {place.said}"

    return Job(write)


def _changed(tree: _Tree, place: _Place, entry: Entry, text: str, told: str) -> Job[str]:
    """Refused as `precondition_failed` when the file has changed since it was looked at."""
    target = EntryName(place.key, partitions=ROOM)
    changes = Changes(text=text, expected_revision=entry.revision)
    job = edit.edit(tree.session, target, changes)

    def write(tx: Transaction) -> str:
        try:
            job.run(tx)
        except NotFound:
            raise NotFound(
                f"The file {place.said} no longer exists (may have been deleted or renamed concurrently)."
            ) from None
        return told

    return Job(write)


def _replace(tree: _Tree, place: _Place, old: str, new: str) -> Job[str]:
    entry = tree.require_file(place)
    text = _content(place, entry)
    count = text.count(old)
    if count == 0:
        raise EditNoMatch(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {place.said}."
        )
    if count > 1:
        lines = ", ".join(str(text.count("\n", 0, at) + 1) for at in _occurrences(text, old))
        raise EditNoMatch(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
            "Please ensure it is unique"
        )
    changed = text.replace(old, new)
    line = text.count("\n", 0, text.find(old))
    first = max(0, line - AROUND)
    kept = tree.session.engine.scrub(changed).text
    snippet = _numbered(kept.split("\n")[first : line + AROUND + 1], first + 1)
    told = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
    return _changed(tree, place, entry, changed, told + snippet)


def _occurrences(text: str, passage: str) -> Iterator[int]:
    """Overlapping ones too."""
    at = text.find(passage)
    while at != -1:
        yield at
        at = text.find(passage, at + 1)


def _insert(tree: _Tree, place: _Place, line: int, new: str) -> Job[str]:
    entry = tree.require_file(place)
    lines = _content(place, entry).split("\n")
    if lines[-1] == "":
        lines.pop()
    if not 0 <= line <= len(lines):
        raise InvalidField(
            f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
        )
    lines.insert(line, new.rstrip("\n"))
    text = "\n".join(lines)
    text = text if text.endswith("\n") else text + "\n"
    return _changed(tree, place, entry, text, f"The file {place.said} has been edited.")


def _delete(tree: _Tree, place: _Place) -> Job[str]:
    if not place.key:
        raise InvalidField(f"Cannot delete the {ROOT} directory itself")
    entry = tree.file(place.key)
    files = [entry.key] if entry is not None else [each.key for each in tree.under(place.key)]
    if not files:
        raise NotFound(f"The path {place.said} does not exist")
    session = tree.session
    return _all(
        [remove.trash(session, EntryName(key, partitions=ROOM)) for key in files],
        f"Successfully deleted {place.said}",
    )


def _rename(tree: _Tree, old: _Place, new: _Place) -> Job[str]:
    if not old.key:
        raise InvalidField(f"Cannot rename the {ROOT} directory itself")
    if tree.exists(new.key):
        raise Conflict(f"The destination {new.said} already exists")
    if new.key.startswith(f"{old.key}/"):
        raise Conflict(f"The path {old.said} cannot be moved into itself.")
    entry = tree.file(old.key)
    files = [entry.key] if entry is not None else [each.key for each in tree.under(old.key)]
    if not files:
        raise NotFound(f"The path {old.said} does not exist")
    tree.refuse_new(new)
    session = tree.session
    return _all(
        [
            edit.rename(
                session,
                EntryName(key, partitions=ROOM),
                new.key + key.removeprefix(old.key),
                None,
            )
            for key in files
        ],
        f"Successfully renamed {old.said} to {new.said}",
    )


def _all(jobs: Sequence[Job[Entry]], answer: str) -> Job[str]:
    """All of them in one transaction, or none."""

    def write(tx: Transaction) -> str:
        for job in jobs:
            job.run(tx)
        return answer

    return Job(write)
