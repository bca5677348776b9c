"""One look at one user: what changed on which side since both were equal, and what follows from it. Nothing here trusts
that the look before it ended: whatever was done twice comes out the same."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from holdfast.contracts.rows import SpaceState
from holdfast.domain.entry import Entry
from holdfast.domain.errors import (
    Conflict,
    HoldfastError,
    InvalidInput,
    NotFound,
    PreconditionFailed,
    Quota,
    TooLarge,
)
from holdfast.domain.partition import Partition
from holdfast.entrypoints.mirror.baseline import Baseline, Baselines
from holdfast.entrypoints.mirror.disk import digest_of
from holdfast.entrypoints.mirror.folder import (
    Found,
    Reached,
    Scan,
    Seen,
    Trouble,
    Unsettled,
    UserFolder,
    twins,
)
from holdfast.entrypoints.mirror.frontmatter import FileText, rendered
from holdfast.entrypoints.mirror.report import Report
from holdfast.operations.changes import NO_COPY, Copy, follow
from holdfast.operations.engine import Engine
from holdfast.operations.work import Write
from holdfast.storage.keyring import StaleKeys
from holdfast.vocabularies.files import DELETE, UPSERT, FileCalls, FileChange
from holdfast.vocabularies.session import Session

DELETIONS = 50
"""At most so many memories follow their files into the trash at one look."""
FAR = float("inf")
MASS = 2
"""When so many files are all that there were, and all are gone, nobody meant to delete each of them."""


class _Side(NamedTuple):
    """The engine's side: live files by name, and what lies in the trash, by id."""

    live: dict[str, Entry]
    trashed: dict[str, Entry]
    locked: int


class UserSync:
    def __init__(
        self,
        engine: Engine,
        session: Session,
        folder: UserFolder,
        *,
        monotonic: Callable[[], float],
        look_again: float,
        reached: Reached,
    ) -> None:
        self._engine = engine
        self._session = session
        self._calls = FileCalls(session)
        self._folder = folder
        self._monotonic = monotonic
        self._look_again = look_again
        self._reached = reached
        self._report = Report(session.caller.principal.id)
        self._baselines: Baselines | None = None
        self._copy = NO_COPY
        self._side: _Side | None = None
        self._index: tuple[SpaceState | None, str] | None = None
        self._missing: dict[str, float] = {}
        self._refused: dict[str, tuple[str, str]] = {}

    def look(self) -> None:
        """Brings both sides together, as far as both stand still."""
        side = self._engine_side()
        state = self._copy.state
        if not self._folder.exists and not side.live and not side.trashed:
            return
        there = self._folder.prepare()
        baselines = self._loaded(state)
        for name in self._folder.settle_leftovers():
            self._report.note(f"`{name}.md` holds what was written while the mirror wrote the same file.")
        scan = self._folder.scan()
        files = self._taken(scan, side, baselines)
        work = _Work()
        for name in sorted({*files, *side.live, *baselines.files}):
            self._decide(work, name, files.get(name), side.live.get(name), baselines.files.get(name), side)
        self._hold_back(work, baselines, there)
        self._carry_out(work, side, baselines)
        self._follow_trash(side, baselines)
        self._folder.put_index(self._index_text(state, changed=bool(work.uploads or work.deletions)))
        self._folder.put_problems(self._report.text())
        self._folder.sync()
        baselines.at(0 if state is None else state.seq)
        baselines.flush()

    def close(self) -> None:
        if self._baselines is not None:
            self._baselines.close()

    def _index_text(self, state: SpaceState | None, *, changed: bool) -> str:
        if changed or self._index is None or self._index[0] != state:
            self._index = None if changed else state, self._calls.index()
        return self._index[1]

    # Both sides

    def _engine_side(self) -> _Side:
        """Costs as much as has changed since it was read last."""
        copy = follow(self._engine, self._session.caller, (Partition.FILES,), self._copy)
        if self._side is None or copy.state is None or copy.state != self._copy.state:
            self._side = _side_of(copy)
        self._copy = copy
        return self._side

    def _loaded(self, state: SpaceState | None) -> Baselines:
        if self._baselines is None:
            self._baselines = Baselines(self._folder.state / "baseline.jsonl")
        if self._baselines.seq > (0 if state is None else state.seq):
            self._baselines.forget()
            self._report.note("The store is older than the files: both sides are kept and compared anew.")
        return self._baselines

    def _taken(self, scan: Scan, side: _Side, baselines: Baselines) -> dict[str, Found]:
        """The files, but for those that are one to a system that ignores case; all reasons go into the report."""
        clashing = twins(list(scan.files), lambda name: name in side.live or name in baselines.files)
        files = dict(scan.files)
        for name, other in clashing.items():
            files[name] = Trouble(f"differs from `{other}.md` in case alone")
        for name, found in files.items():
            if isinstance(found, Seen) and (refused := self._refused.get(name)):
                if refused[0] == found.digest:
                    files[name] = Trouble(refused[1])
                else:
                    del self._refused[name]
        self._report.begin()
        for name, found in files.items():
            if isinstance(found, Trouble):
                self._report.trouble(f"{name}.md", found.reason)
        for file, reason in scan.odd.items():
            self._report.trouble(file, reason)
        if side.locked:
            self._report.trouble("(locked)", f"are {side.locked} memories, so no file is removed meanwhile")
        return files

    # Deciding

    def _decide(
        self,
        work: _Work,
        name: str,
        found: Found | None,
        entry: Entry | None,
        known: Baseline | None,
        side: _Side,
    ) -> None:
        """What one name needs, from what is there on each side and what was there when both were equal."""
        if found is not None:
            self._missing.pop(name, None)
        entry_is_known = entry is not None and known is not None and _is(known, entry)
        match found:
            case Trouble() | Unsettled():
                return
            case Seen():
                file_is_known = known is not None and known.digest == found.digest
                if entry is None:
                    if not file_is_known:
                        work.uploads[name] = found, 0
                    elif not side.locked:
                        work.leaving[name] = found.digest
                elif entry_is_known and file_is_known:
                    return
                elif entry_is_known:
                    work.uploads[name] = found, entry.revision
                elif self._same(found.text, entry):
                    work.equal[name] = Baseline(found.digest, entry.id, entry.revision)
                elif file_is_known:
                    work.writes[name] = entry, found.digest
                else:
                    work.conflicts[name] = entry
            case None:
                if entry is None:
                    work.forgotten.append(name)
                elif entry_is_known:
                    work.deletions.append(name)
                else:
                    work.writes[name] = entry, None

    def _same(self, file: FileText, entry: Entry) -> bool:
        """Whether a file says what the entry says, but for the secrets that the engine took out."""
        scrub = self._engine.scrub
        pairs = ((file.description.strip(), entry.hint), (file.body, entry.text))
        return file.type == entry.category and all(
            said == kept or scrub(said).text == kept for said, kept in pairs
        )

    def _hold_back(self, work: _Work, baselines: Baselines, there: bool) -> None:
        """A file that is gone is looked for again before its memory goes; a whole folder never takes its memories."""
        gone, now = work.deletions, self._monotonic()
        kept = len(baselines.files) - len(gone)
        if gone and (not there or (kept == 0 and len(gone) >= MASS)):
            for name in gone:
                self._missing.pop(name, None)
                work.writes[name] = work.live(self._side, name), None
            work.deletions = []
            self._report.note(
                f"All {len(gone)} files were gone at once, so they were written again. To delete memories, delete "
                "some of the files, or use `holdfast forget`."
            )
            return
        due = [name for name in gone if now - self._missing.get(name, FAR) >= self._look_again]
        for name in gone:
            self._missing.setdefault(name, now)
        if len(due) > DELETIONS:
            self._report.note(f"{len(due)} files are gone; their memories follow, {DELETIONS} at a look.")
        work.deletions = due[:DELETIONS]

    # Carrying out

    def _carry_out(self, work: _Work, side: _Side, baselines: Baselines) -> None:
        for name, baseline in work.equal.items():
            baselines.set(name, baseline)
        self._upload(work, baselines)
        for name, (entry, expected) in work.writes.items():
            self._write(name, entry, expected, baselines)
        for name, entry in work.conflicts.items():
            self._keep_both(name, entry, baselines)
        self._delete(work, side, baselines)
        purged = False
        for name, digest in work.leaving.items():
            purged |= self._leave(name, digest, side, baselines)
        for name in work.forgotten:
            baselines.drop(name)
        if purged:
            baselines.compact()

    def _upload(self, work: _Work, baselines: Baselines) -> None:
        """All at once, so that one commit serves many."""
        waiting: list[tuple[str, Seen, Write[FileChange], Future[FileChange]]] = []
        for name, (file, revision) in work.uploads.items():
            try:
                change = self._calls.update_user_memory(
                    UPSERT, name, **file.text._asdict(), expected_revision=revision
                )
                waiting.append((name, file, change, self._engine.submit(change)))
            except HoldfastError as refusal:
                self._refuse(name, file, refusal)
        for name, file, change, future in waiting:
            try:
                done = self._result(change, future)
            except HoldfastError as refusal:
                self._refuse(name, file, refusal)
                continue
            self._reached("uploaded")
            assert done.id is not None
            baselines.set(name, Baseline(file.digest, done.id, done.revision))
            if done.redacted:
                self._report.note(
                    f"`{name}.md` holds secrets ({done.redacted}): the memory has them replaced, the file does not."
                )

    def _result(self, change: Write[FileChange], future: Future[FileChange]) -> FileChange:
        try:
            return future.result()
        except StaleKeys as stale:
            self._engine.refresh(stale)
            return self._engine.write(change)

    def _refuse(self, name: str, file: Seen, refusal: HoldfastError) -> None:
        """A text that cannot be kept is tried again when it changes; what else stands in its way may pass."""
        if isinstance(refusal, PreconditionFailed):
            return  # the engine was faster: the next look sees both
        if not isinstance(refusal, InvalidInput | TooLarge | Conflict | Quota):
            raise refusal
        reason = f"was refused: {refusal.message.removesuffix('.')}"
        if isinstance(refusal, InvalidInput | TooLarge):
            self._refused[name] = file.digest, reason
        self._report.trouble(f"{name}.md", reason)

    def _write(self, name: str, entry: Entry, expected: str | None, baselines: Baselines) -> None:
        data = rendered(name, _text(entry))
        try:
            if expected is None:
                self._folder.write_new(name, data)
            else:
                self._folder.replace(name, data, expected)
        except (FileExistsError, FileNotFoundError):
            return  # somebody was faster: the next look decides
        baselines.set(name, Baseline(digest_of(data), entry.id, entry.revision))
        self._reached("noted")

    def _keep_both(self, name: str, entry: Entry, baselines: Baselines) -> None:
        """The engine's text keeps the name; the other one becomes a file, and at the next look a memory, of its own."""
        data = rendered(name, _text(entry))
        try:
            self._folder.replace(name, data, None)
        except FileNotFoundError:
            return
        for kept in self._folder.settle_leftovers():
            self._report.note(f"`{name}.md` was changed on both sides; the file's text is now `{kept}.md`.")
        baselines.set(name, Baseline(digest_of(data), entry.id, entry.revision))
        self._reached("noted")

    def _delete(self, work: _Work, side: _Side, baselines: Baselines) -> None:
        for name in work.deletions:
            revision = side.live[name].revision
            try:
                change = self._calls.update_user_memory(DELETE, name, expected_revision=revision)
                self._engine.write(change)
            except (NotFound, PreconditionFailed):
                continue  # the engine was faster: the next look sees both
            self._reached("deleted")
            baselines.drop(name)
            self._missing.pop(name, None)

    def _leave(self, name: str, digest: str, side: _Side, baselines: Baselines) -> bool:
        """The memory is gone: to the trash, and so does its file, or for good. Says whether it was that."""
        trashed = side.trashed.get(baselines.files[name].entry.hex)
        if trashed is None:
            self._folder.remove(name, digest)
            baselines.drop(name)
            return True
        file = _trash_file(trashed)
        try:
            moved = self._folder.move_to_trash(name, digest, file)
        except FileNotFoundError:
            return False  # a person deleted it too: the next look writes it into the trash
        if moved:
            baselines.set_trashed(file, trashed.id)
            baselines.drop(name)
        return False

    def _follow_trash(self, side: _Side, baselines: Baselines) -> None:
        """A text for what a person's delete put into the trash; none for what has left it. What a person cleared away
        there stays away."""
        for entry in side.trashed.values():
            file = _trash_file(entry)
            if file not in baselines.trashed:
                self._folder.write_trashed(file, rendered(entry.key, _text(entry)))
                baselines.set_trashed(file, entry.id)
        if side.locked:
            return
        left = [file for file, id in baselines.trashed.items() if id.hex not in side.trashed]
        for file in left:
            self._folder.remove_trashed(file)
            baselines.drop_trashed(file)
        if left:
            baselines.compact()


class _Work:
    """What a look comes to."""

    def __init__(self) -> None:
        self.equal: dict[str, Baseline] = {}
        self.uploads: dict[str, tuple[Seen, int]] = {}
        self.writes: dict[str, tuple[Entry, str | None]] = {}
        self.conflicts: dict[str, Entry] = {}
        self.leaving: dict[str, str] = {}
        self.deletions: list[str] = []
        self.forgotten: list[str] = []

    @staticmethod
    def live(side: _Side | None, name: str) -> Entry:
        assert side is not None
        return side.live[name]


def _side_of(copy: Copy) -> _Side:
    return _Side(
        {entry.key: entry for entry in copy.live.values() if _is_file(entry)},
        {entry.id.hex: entry for entry in copy.trashed.values() if _is_file(entry)},
        copy.locked,
    )


def _is_file(entry: Entry) -> bool:
    return entry.content.is_text and not entry.encrypted


def _is(known: Baseline, entry: Entry) -> bool:
    return known.entry == entry.id and known.revision == entry.revision


def _text(entry: Entry) -> FileText:
    return FileText(entry.category, entry.hint, entry.text)


def _trash_file(entry: Entry) -> str:
    """The same name may be there many times, so the entry's number tells them apart."""
    return f"{entry.key}-{entry.number:08x}.md"
