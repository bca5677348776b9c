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
from holdfast.vocabularies.administration import with_default_ttl
from holdfast.vocabularies.approvals import refuse_unattended_model
from holdfast.vocabularies.call import Vocabulary, call
from holdfast.vocabularies.encoding import TEXT, Schema, single
from holdfast.vocabularies.fields import NO_NUL, Field, name_under
from holdfast.vocabularies.rules import way

ROOT = "/memories"
PARTITIONS = (Partition.STORES,)
PAGE = 1_000
MOST_LINES = 999_999
WIDTH = len(str(MOST_LINES))
LEVELS = 2
AROUND = 2
"""Lines shown before and after a changed one."""
FOLDER_BYTES = 4_096
"""Size shown for a folder, as on most disks."""
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
        if insert_line is not None and (not isinstance(insert_line, int) or isinstance(insert_line, bool)):
            raise InvalidField("`insert_line` is a whole number.")
        match command:
            case "view":
                return _view(tree, _parse_path(path), lines)
            case "create":
                return _create(tree, _parse_path(path), _text("file_text", file_text))
            case "str_replace":
                address, old = _parse_path(path), _text("old_str", old_str)
                new = "" if new_str is None else _text("new_str", new_str)
                return _replace(tree, address, old, new)
            case "insert":
                address, text = _parse_path(path), _text("insert_text", insert_text)
                if insert_line is None:
                    raise MissingField("`insert_line` is required: a whole number.")
                return _insert(tree, address, insert_line, text)
            case "delete":
                address = _parse_path(path)
                refuse_unattended_model(self._session)
                return _delete(tree, address)
            case "rename":
                return _rename(tree, _parse_path(old_path, "old_path"), _parse_path(new_path, "new_path"))
            case _:
                raise InvalidField(f"Unknown command: {command}")


@dataclass(frozen=True, slots=True)
class _Path:
    """A path as it was given, and its key; the folder /memories itself has none."""

    path: str
    key: str


def _parse_path(value: object, name: str = "path") -> _Path:
    path = _text(name, value)
    if not path.startswith(ROOT):
        raise InvalidField(f"Path must start with {ROOT}, got: {path}")
    whole = posixpath.normpath(f"{ROOT}/{path.removeprefix(ROOT).lstrip('/')}")
    if whole != ROOT and not whole.startswith(f"{ROOT}/"):
        raise InvalidField(f"Path {path} would escape {ROOT} directory")
    return _Path(path, whole.removeprefix(ROOT).lstrip("/"))


def _text(name: str, value: object) -> str:
    if value is None:
        raise MissingField(f"`{name}` is required.")
    if not is_text(value):
        raise InvalidField(f"`{name}` must be text.")
    return value


def _check_texts(**arguments: object) -> None:
    """Checks every argument, also one the command has no use for."""
    for name, text in arguments.items():
        if text is not None:
            _text(name, text)


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
            return read.get(self.session, EntryName(key, partitions=PARTITIONS))
        except NotFound:
            return None

    def under(self, key: str, page: int = PAGE) -> Iterator[Entry]:
        """Every file below a folder. Keys of other vocabularies that no path leads to are left out."""
        below, cursor = Filter("", f"{key}/" if key else ""), None
        while True:
            listing = read.Listing(PARTITIONS, None, below, page, cursor)
            found = read.list_entries(self.session, listing)
            yield from (
                one for one in found if posixpath.normpath(f"{ROOT}/{one.key}") == f"{ROOT}/{one.key}"
            )
            if (cursor := found.cursor) is None:
                return

    def is_folder(self, key: str) -> bool:
        return not key or next(self.under(key, 1), None) is not None

    def exists(self, key: str) -> bool:
        return self.file(key) is not None or self.is_folder(key)

    def require_file(self, address: _Path) -> Entry:
        entry = self.file(address.key)
        if entry is not None:
            return entry
        if self.is_folder(address.key):
            raise InvalidField(f"The path {address.path} is not a file.")
        raise NotFound(f"The path {address.path} does not exist. Please provide a valid path.")

    def refuse_new(self, address: _Path) -> None:
        """Refuses a path where no file can be: inside another file, or with a name that would be stored as another."""
        if address.key != address.key.strip():
            raise InvalidField(f"The name of {address.path} must not begin or end with space.")
        parts = address.key.split("/")
        for depth in range(1, len(parts)):
            if self.file("/".join(parts[:depth])) is not None:
                raise Conflict(f"The path {ROOT}/{'/'.join(parts[:depth])} is not a directory.")


def _view(tree: _Tree, address: _Path, lines: tuple[int, int] | None) -> str:
    entry = tree.file(address.key)
    if entry is not None:
        return _numbered_file(address, entry, lines)
    if tree.is_folder(address.key):
        return _listed(tree, address)
    raise NotFound(f"The path {address.path} does not exist. Please provide a valid path.")


def _numbered_file(address: _Path, entry: Entry, line_range: tuple[int, int] | None) -> str:
    lines, first = _content(address, entry).split("\n"), 1
    if len(lines) > MOST_LINES:
        raise TooLarge(f"File {address.path} exceeds maximum line limit of {MOST_LINES:,} lines.")
    if line_range is not None:
        first, last = max(1, line_range[0]), line_range[1]
        lines = lines[first - 1 : len(lines) if last == -1 else last]
    return f"Here's the content of {address.path} with line numbers:\n{_numbered(lines, first)}"


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>{WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _content(address: _Path, entry: Entry) -> str:
    if not entry.content.is_text:
        raise NotText(f"Unsupported file type for {address.path}")
    return entry.text


def _listed(tree: _Tree, address: _Path) -> str:
    folder: dict[str, Any] = {}
    skip = len(address.key) + 1 if address.key else 0
    for entry in tree.under(address.key):
        *folders, name = entry.key[skip:].split("/")
        inner = folder
        for each in folders:
            inner = inner.setdefault(f"{each}/", {})
        inner.setdefault(name, len(entry.value))
    header = (
        f"Here're the files and directories up to 2 levels deep in {address.path}, excluding hidden items:"
    )
    lines = [f"{_size(FOLDER_BYTES)}\t{address.path}"]
    lines += [f"{size}\t{address.path}/{name}" for size, name in _walk(folder, "", LEVELS)]
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


def _create(tree: _Tree, address: _Path, text: str) -> Job[str]:
    taken = Conflict(f"File {address.path} already exists")
    if tree.exists(address.key):
        raise taken
    tree.refuse_new(address)
    arguments = with_default_ttl(tree.session, NoteInput(text, address.key, expected_revision=0))
    job = remember(tree.session, STORES, None, arguments)

    def write(tx: Transaction) -> str:
        try:
            job.run(tx)
        except PreconditionFailed:
            raise taken from None
        return f"File created successfully at: {address.path}"

    return Job(write)


def _changed(tree: _Tree, address: _Path, entry: Entry, text: str, answer: str) -> Job[str]:
    """Refuses with `precondition_failed` when the file has changed since it was read."""
    target = EntryName(address.key, partitions=PARTITIONS)
    changes = Changes(text=text, expected_revision=entry.revision)
    job = edit.edit(tree.session, target, changes)

    def write(tx: Transaction) -> str:
        try:
            job.run(tx)
        except NotFound:
            raise NotFound(
                f"The file {address.path} no longer exists (may have been deleted or renamed concurrently)."
            ) from None
        return answer

    return Job(write)


def _replace(tree: _Tree, address: _Path, old: str, new: str) -> Job[str]:
    entry = tree.require_file(address)
    text = _content(address, entry)
    count = text.count(old)
    if count == 0:
        raise EditNoMatch(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {address.path}."
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
    answer = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
    return _changed(tree, address, entry, changed, answer + snippet)


def _occurrences(text: str, passage: str) -> Iterator[int]:
    """Positions of a passage, overlapping ones too."""
    at = text.find(passage)
    while at != -1:
        yield at
        at = text.find(passage, at + 1)


def _insert(tree: _Tree, address: _Path, line: int, new: str) -> Job[str]:
    entry = tree.require_file(address)
    lines = _content(address, entry).split("\n")
    if lines[-1] == "":
        lines.pop()
    if not 0 <= line <= len(lines):
        raise InvalidField(
            f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
        )
    lines.insert(line, new.rstrip("\n"))
    text = "\n".join(lines)
    text = text if text.endswith("\n") else text + "\n"
    return _changed(tree, address, entry, text, f"The file {address.path} has been edited.")


def _delete(tree: _Tree, address: _Path) -> Job[str]:
    if not address.key:
        raise InvalidField(f"Cannot delete the {ROOT} directory itself")
    entry = tree.file(address.key)
    files = [entry.key] if entry is not None else [each.key for each in tree.under(address.key)]
    if not files:
        raise NotFound(f"The path {address.path} does not exist")
    jobs = [remove.trash(tree.session, EntryName(key, partitions=PARTITIONS)) for key in files]
    return _all(jobs, f"Successfully deleted {address.path}")


def _rename(tree: _Tree, old: _Path, new: _Path) -> Job[str]:
    if not old.key:
        raise InvalidField(f"Cannot rename the {ROOT} directory itself")
    if tree.exists(new.key):
        raise Conflict(f"The destination {new.path} already exists")
    if new.key.startswith(f"{old.key}/"):
        raise Conflict(f"The path {old.path} cannot be moved into itself.")
    entry = tree.file(old.key)
    files = [entry.key] if entry is not None else [each.key for each in tree.under(old.key)]
    if not files:
        raise NotFound(f"The path {old.path} does not exist")
    tree.refuse_new(new)
    jobs = [
        edit.rename(
            tree.session, EntryName(key, partitions=PARTITIONS), new.key + key.removeprefix(old.key), None
        )
        for key in files
    ]
    return _all(jobs, f"Successfully renamed {old.path} to {new.path}")


def _all(jobs: Sequence[Job[Entry]], answer: str) -> Job[str]:
    """Runs all jobs in one transaction, or none."""

    def write(tx: Transaction) -> str:
        for job in jobs:
            job.run(tx)
        return answer

    return Job(write)
