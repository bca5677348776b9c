"""One user's folder: `memory/` with a file per memory, `MEMORY.md` and `trash/`; `.holdfast/` with the mirror's state;
`PROBLEMS.md` when there are any. Every file that a person may have edited is replaced through `out/`, where its former
content is checked once more before it goes."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from holdfast.domain.errors import InvalidName
from holdfast.domain.file import INDEX, NAME_CHARACTERS, SUFFIX, check_name, folded
from holdfast.domain.principal import is_subject
from holdfast.entrypoints.mirror.disk import (
    ANY_SIZE,
    Stamp,
    digest_of,
    exchange,
    make_folder,
    move_new,
    put_in_place,
    read_plain,
    stamp_of,
    sync_folder,
    write_aside,
)
from holdfast.entrypoints.mirror.frontmatter import HEADER_CHARACTERS, FileText, Unreadable, parsed

LONGEST = 180
"""Bytes of a folder's name; a longer one is cut and gets a hash."""
_HASH_DIGITS = 32
_PLAIN = re.compile(r"[a-z0-9_@-]")
_ESCAPED = re.compile(r"(?:[a-z0-9_@.-]|%[0-9a-f]{2})+")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)")
"""Names that Windows keeps for devices."""


def folder_of(user: str) -> str:
    letters = [
        each if _PLAIN.fullmatch(each) or (each == "." and 0 < at < len(user) - 1) else _escaped(each)
        for at, each in enumerate(user)
    ]
    if _DEVICES.match("".join(letters)):
        letters[0] = _escaped(user[0])
    name = "".join(letters)
    if len(name) <= LONGEST:
        return name
    return f"{name[: LONGEST - _HASH_DIGITS - 1]}~{sha256(user.encode()).hexdigest()[:_HASH_DIGITS]}"


def user_of(folder: str) -> str | None:
    """Returns the user of a folder, or None for a name that no user has, or that was cut."""
    if not _ESCAPED.fullmatch(folder):
        return None
    try:
        user = re.sub(
            rb"%([0-9a-f]{2})", lambda code: bytes.fromhex(code[1].decode()), folder.encode()
        ).decode()
    except UnicodeDecodeError:
        return None
    return user if user and is_subject(user) and folder_of(user) == folder else None


def _escaped(letter: str) -> str:
    return "".join(f"%{byte:02x}" for byte in letter.encode())


TRASH = "trash"
PROBLEMS = "PROBLEMS.md"
STATE = ".holdfast"
RACY_NS = 2_000_000_000
"""A file read so soon after a change may change again without a new stamp."""
_EDITOR_FILES = re.compile(r"^\.|~$|\.(?:swp|swx|tmp|bak|part)$")
"""Temporary files of editors."""
_DIGITS = 16
_UNKNOWN = "conflict"
"""Stands for a digest: any former content is kept."""

OnStep = Callable[[str], None]


class ReadableFile(NamedTuple):
    """A file that can become a memory."""

    digest: str
    text: FileText


class UnreadableFile(NamedTuple):
    """A file that cannot become a memory; the reason completes a sentence that begins with its name."""

    reason: str


class BusyFile(NamedTuple):
    """A file that is being written; the next pass reads it."""


ScannedFile = ReadableFile | UnreadableFile | BusyFile


class Scan(NamedTuple):
    files: dict[str, ScannedFile]
    """By name, without `.md`."""
    invalid: dict[str, str]
    """Files whose name no memory can have, with the reason."""


class UserFolder:
    def __init__(self, path: Path, body_bytes: int, settle_seconds: float, on_step: OnStep) -> None:
        self.path = path
        self.memory = path / "memory"
        self.trash = self.memory / TRASH
        self.state = path / STATE
        self._out = self.state / "out"
        self._max_bytes = body_bytes + 4 * HEADER_CHARACTERS
        self._settle_ns = int(settle_seconds * 1e9)
        self._on_step = on_step
        self._known: dict[str, tuple[Stamp | None, ScannedFile]] = {}
        self._written = False

    @property
    def exists(self) -> bool:
        return self.path.is_dir() and not self.path.is_symlink()

    def prepare(self) -> bool:
        """Creates missing folders. Returns True if the folder of memories existed."""
        for folder in (self.path.parent, self.path, self.state, self._out):
            make_folder(folder)
        existed = self.memory.is_dir()
        make_folder(self.memory)
        make_folder(self.trash)
        return existed

    def scan(self) -> Scan:
        found: dict[str, ScannedFile] = {}
        invalid: dict[str, str] = {}
        with os.scandir(self.memory) as items:
            for item in sorted(items, key=lambda item: item.name):
                if item.name in (INDEX, TRASH) or _EDITOR_FILES.search(item.name):
                    continue
                name = item.name.removesuffix(SUFFIX)
                if reason := _why_invalid(item, name):
                    invalid[item.name] = reason
                else:
                    with suppress(FileNotFoundError):  # gone again
                        found[name] = self._scan_file(name, item)
        self._known = {name: known for name, known in self._known.items() if name in found}
        return Scan(found, invalid)

    def _scan_file(self, name: str, item: os.DirEntry[str]) -> ScannedFile:
        stamp = stamp_of(item.stat(follow_symlinks=False))
        known = self._known.get(name)
        if known is not None and known[0] == stamp:
            return known[1]
        age = time.time_ns() - stamp.modified_ns
        if 0 <= age < self._settle_ns:
            return BusyFile()
        file = self._read(self.memory / item.name, None if known is None else known[1])
        self._known[name] = stamp if age >= RACY_NS else None, file
        return file

    def _read(self, path: Path, before: ScannedFile | None) -> ScannedFile:
        try:
            read = read_plain(path, self._max_bytes)
            if isinstance(before, ReadableFile) and before.digest == read.digest:
                return before
            return ReadableFile(read.digest, parsed(read.data))
        except Unreadable as refusal:
            return UnreadableFile(str(refusal))

    def write_new(self, name: str, data: bytes) -> None:
        """Writes a new file. FileExistsError when somebody else did so first."""
        aside = self._aside(name, digest_of(data), _UNKNOWN)
        self._write_out(aside, data)
        try:
            move_new(aside, self._file(name))
        except FileExistsError:
            aside.unlink()
            raise
        self._on_step("in place")

    def replace(self, name: str, data: bytes, expected: str | None) -> None:
        """Replaces the file with the digest `expected`. Any other content is kept as a file of its own.
        FileNotFoundError when the file is gone."""
        aside = self._aside(name, digest_of(data), expected or _UNKNOWN)
        self._write_out(aside, data)
        try:
            exchange(aside, self._file(name))
        except FileNotFoundError:
            aside.unlink()
            raise
        self._on_step("exchanged")

    def move_to_trash(self, name: str, expected: str, trashed: str) -> bool:
        """Returns False, and keeps the file, when its digest is not as expected."""
        source, target = self._file(name), self.trash / trashed
        try:
            move_new(source, target)
        except FileExistsError:  # a kill interrupted this; the trash has the text already
            self.remove(name, expected)
            return True
        self._on_step("in the trash")
        if self._digest(target) == expected:
            return True
        with suppress(FileExistsError):
            move_new(target, source)
        return False

    def remove(self, name: str, expected: str) -> None:
        """Erases a file, unless its digest is not as expected."""
        aside = self._aside(name, expected, expected)
        with suppress(FileNotFoundError):
            self._file(name).replace(aside)
            self._on_step("taken out")
            self._settle(aside)

    def write_trashed(self, file: str, data: bytes) -> None:
        with suppress(FileExistsError):
            self._write_to_trash(self.trash / file, data)

    def remove_trashed(self, file: str) -> None:
        (self.trash / file).unlink(missing_ok=True)

    def put_index(self, text: str) -> None:
        """Writes the index over whatever a person wrote there."""
        self._put(self.memory / INDEX, text)

    def put_problems(self, text: str | None) -> None:
        if text is None:
            (self.path / PROBLEMS).unlink(missing_ok=True)
        else:
            self._put(self.path / PROBLEMS, text)

    def settle_leftovers(self) -> list[str]:
        """Checks replaced files and those that a kill left. Content that exists nowhere else becomes a file again.
        Returns the names of these files."""
        rescued = [self._settle(path) for path in sorted(self._out.iterdir())]
        return [name for name in rescued if name is not None]

    def sync(self) -> None:
        """Syncs the names of files."""
        if self._written:
            self._written = False
            sync_folder(self.memory)
            sync_folder(self.trash)

    def _settle(self, path: Path) -> str | None:
        name, *digests = path.name.removesuffix(".old").split(".")
        digest = self._digest(path)
        if digest is None or digest[:_DIGITS] in digests:
            path.unlink(missing_ok=True)
            return None
        kept = conflict_name(name, digest)
        try:
            move_new(path, self._file(kept))
        except FileExistsError:
            if self._digest(self._file(kept)) != digest:
                kept = conflict_name(name, digest, digits=24)
                move_new(path, self._file(kept))
            path.unlink(missing_ok=True)
        self._on_step("rescued")
        return kept

    def _put(self, path: Path, text: str) -> None:
        data = text.encode()
        if self._digest(path) != digest_of(data):
            self._written = True
            put_in_place(path, data, self.state / "written")
            self._on_step("put")

    def _write_to_trash(self, path: Path, data: bytes) -> None:
        aside = self.state / "trashed"
        aside.unlink(missing_ok=True)
        write_aside(aside, data)
        try:
            move_new(aside, path)
        except FileExistsError:
            aside.unlink()
            raise
        self._on_step("trash written")

    def _write_out(self, path: Path, data: bytes) -> None:
        """Writes atomically: every file in `out/` counts as the content of a person."""
        put_in_place(path, data, self.state / "written")
        self._on_step("written aside")

    def _aside(self, name: str, new: str, old: str) -> Path:
        self._written = True
        path = self._out / f"{name}.{new[:_DIGITS]}.{old[:_DIGITS]}"
        if path.exists():
            self._settle(path)
        return path

    def _file(self, name: str) -> Path:
        return self.memory / f"{name}{SUFFIX}"

    def _digest(self, path: Path) -> str | None:
        try:
            return read_plain(path, ANY_SIZE).digest
        except (FileNotFoundError, Unreadable):
            return None


def conflict_name(name: str, digest: str, digits: int = 8) -> str:
    """Returns the name for the second of two texts; equal texts get equal names."""
    tail = f"-conflict-{digest[:digits]}"
    return name[: NAME_CHARACTERS - len(tail)] + tail


def case_clashes(names: Iterator[str] | list[str], known: Callable[[str], bool]) -> dict[str, str]:
    """Returns names that differ from another one in case alone, each with that one. Known names come first."""
    first: dict[str, str] = {}
    clashing: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (not known(name), name)):
        other = first.setdefault(folded(name), name)
        if other != name:
            clashing[name] = other
    return clashing


def _why_invalid(item: os.DirEntry[str], name: str) -> str | None:
    if item.is_symlink():
        return "is a symbolic link, which is never followed"
    if item.is_dir():
        return "is a folder; memories must be directly in `memory/`"
    if not item.name.endswith(SUFFIX):
        return "does not end in `.md`"
    try:
        check_name(name)
    except InvalidName as refusal:
        return f"cannot be a memory: {refusal.message.removesuffix('.')}"
    return None
