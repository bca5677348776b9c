"""One user's folder: `memory/` with a file a memory, `MEMORY.md` and `trash/`; `.holdfast/` with what the mirror itself
needs; `PROBLEMS.md` when there are any. Every change of a file that a person may have touched goes through `out/`, so
that what was there before can be looked at once more before it goes."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from holdfast.domain.errors import InvalidName
from holdfast.domain.file import INDEX, NAME_CHARACTERS, SUFFIX, check_name, folded
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

TRASH = "trash"
PROBLEMS = "PROBLEMS.md"
STATE = ".holdfast"
RACY_NS = 2_000_000_000
"""A file changed so shortly before it was read may change again without a new stamp."""
_PASSING = re.compile(r"^\.|~$|\.(?:swp|swx|tmp|bak|part)$")
"""What editors leave for a moment."""
_DIGITS = 16
_NOTHING = "conflict"
"""In the place of a digest: whatever was there is kept."""

Reached = Callable[[str], None]


class Seen(NamedTuple):
    """A file that can be taken over."""

    digest: str
    text: FileText


class Trouble(NamedTuple):
    """A file that cannot; the reason ends a sentence that begins with its name."""

    reason: str


class Unsettled(NamedTuple):
    """A file that is being written right now: the next look decides."""


Found = Seen | Trouble | Unsettled


class Scan(NamedTuple):
    files: dict[str, Found]
    """By name, without `.md`."""
    odd: dict[str, str]
    """What has no name that a memory can have, and why."""


class UserFolder:
    def __init__(self, path: Path, body_bytes: int, settle_seconds: float, reached: Reached) -> None:
        self.path = path
        self.memory = path / "memory"
        self.trash = self.memory / TRASH
        self.state = path / STATE
        self._out = self.state / "out"
        self._cap = body_bytes + 4 * HEADER_CHARACTERS
        self._settle_ns = int(settle_seconds * 1e9)
        self._reached = reached
        self._known: dict[str, tuple[Stamp | None, Found]] = {}
        self._written = False

    @property
    def exists(self) -> bool:
        return self.path.is_dir() and not self.path.is_symlink()

    def prepare(self) -> bool:
        """Makes what is missing; says whether the memories' folder was there."""
        for folder in (self.path.parent, self.path, self.state, self._out):
            make_folder(folder)
        there = self.memory.is_dir()
        make_folder(self.memory)
        make_folder(self.trash)
        return there

    # Looking

    def scan(self) -> Scan:
        found: dict[str, Found] = {}
        odd: dict[str, str] = {}
        with os.scandir(self.memory) as items:
            for item in sorted(items, key=lambda item: item.name):
                if item.name in (INDEX, TRASH) or _PASSING.search(item.name):
                    continue
                name = item.name.removesuffix(SUFFIX)
                if reason := _odd(item, name):
                    odd[item.name] = reason
                else:
                    with suppress(FileNotFoundError):  # gone again
                        found[name] = self._look(name, item)
        self._known = {name: known for name, known in self._known.items() if name in found}
        return Scan(found, odd)

    def _look(self, name: str, item: os.DirEntry[str]) -> Found:
        stamp = stamp_of(item.stat(follow_symlinks=False))
        known = self._known.get(name)
        if known is not None and known[0] == stamp:
            return known[1]
        age = time.time_ns() - stamp.modified_ns
        if 0 <= age < self._settle_ns:
            return Unsettled()
        seen = self._read(self.memory / item.name, None if known is None else known[1])
        self._known[name] = stamp if age >= RACY_NS else None, seen
        return seen

    def _read(self, path: Path, before: Found | None) -> Found:
        try:
            read = read_plain(path, self._cap)
            if isinstance(before, Seen) and before.digest == read.digest:
                return before
            return Seen(read.digest, parsed(read.data))
        except Unreadable as refusal:
            return Trouble(str(refusal))

    # Writing

    def write_new(self, name: str, data: bytes) -> None:
        """FileExistsError when somebody was faster."""
        aside = self._aside(name, digest_of(data), _NOTHING)
        self._write_out(aside, data)
        try:
            move_new(aside, self._file(name))
        except FileExistsError:
            aside.unlink()
            raise
        self._reached("in place")

    def replace(self, name: str, data: bytes, expected: str | None) -> None:
        """Puts a text in the place of the one that was read; `expected` is the digest of that. Another one, or any
        without `expected`, is kept as a file of its own. FileNotFoundError when the file is gone."""
        aside = self._aside(name, digest_of(data), expected or _NOTHING)
        self._write_out(aside, data)
        try:
            exchange(aside, self._file(name))
        except FileNotFoundError:
            aside.unlink()
            raise
        self._reached("exchanged")

    def move_to_trash(self, name: str, expected: str, trashed: str) -> bool:
        """False when the file is another than expected: then it stays."""
        source, target = self._file(name), self.trash / trashed
        try:
            move_new(source, target)
        except FileExistsError:  # a kill came between: the text is in the trash already
            self.remove(name, expected)
            return True
        self._reached("in the trash")
        if self._digest(target) == expected:
            return True
        with suppress(FileExistsError):
            move_new(target, source)
        return False

    def remove(self, name: str, expected: str) -> None:
        """Removes a file for good, unless it is another than expected."""
        aside = self._aside(name, expected, expected)
        with suppress(FileNotFoundError):
            self._file(name).replace(aside)
            self._reached("taken out")
            self._settle(aside)

    def write_trashed(self, file: str, data: bytes) -> None:
        with suppress(FileExistsError):
            self._write_there(self.trash / file, data)

    def remove_trashed(self, file: str) -> None:
        (self.trash / file).unlink(missing_ok=True)

    def put_index(self, text: str) -> None:
        """Whatever a person wrote there: the index is made from the memories."""
        self._put(self.memory / INDEX, text)

    def put_problems(self, text: str | None) -> None:
        if text is None:
            (self.path / PROBLEMS).unlink(missing_ok=True)
        else:
            self._put(self.path / PROBLEMS, text)

    def settle_leftovers(self) -> list[str]:
        """The second look at what was replaced, and what a kill left: what nobody else has becomes a file again. Says
        the names of these."""
        rescued = [self._settle(path) for path in sorted(self._out.iterdir())]
        return [name for name in rescued if name is not None]

    def sync(self) -> None:
        """Names are on disk too when this returns."""
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
        self._reached("rescued")
        return kept

    def _put(self, path: Path, text: str) -> None:
        data = text.encode()
        if self._digest(path) != digest_of(data):
            self._written = True
            put_in_place(path, data, self.state / "written")
            self._reached("put")

    def _write_there(self, path: Path, data: bytes) -> None:
        aside = self.state / "trashed"
        aside.unlink(missing_ok=True)
        write_aside(aside, data)
        try:
            move_new(aside, path)
        except FileExistsError:
            aside.unlink()
            raise
        self._reached("trash written")

    def _write_out(self, path: Path, data: bytes) -> None:
        """Whole or not at all: what lies in `out/` is looked at as something that somebody wrote."""
        put_in_place(path, data, self.state / "written")
        self._reached("written aside")

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
    """The name of the other of two texts: the same text always gets the same."""
    tail = f"-conflict-{digest[:digits]}"
    return name[: NAME_CHARACTERS - len(tail)] + tail


def twins(names: Iterator[str] | list[str], known: Callable[[str], bool]) -> dict[str, str]:
    """Names that differ from another one in case alone, with that one; who is known comes first."""
    first: dict[str, str] = {}
    clashing: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (not known(name), name)):
        other = first.setdefault(folded(name), name)
        if other != name:
            clashing[name] = other
    return clashing


def _odd(item: os.DirEntry[str], name: str) -> str | None:
    if item.is_symlink():
        return "is a symbolic link, which is never followed"
    if item.is_dir():
        return "is a folder; memories lie beside each other"
    if not item.name.endswith(SUFFIX):
        return "has no name that ends in `.md`"
    try:
        check_name(name)
    except InvalidName as refusal:
        return f"cannot be a memory: {refusal.message.removesuffix('.')}"
    return None
