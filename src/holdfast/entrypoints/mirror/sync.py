"""One pass over one user: finds the changes of each side since both were equal, and applies them to the other. Every
step is idempotent, because the pass before may have been killed."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from holdfast.contracts.rows import SpaceState
from holdfast.contracts.storage import Job, Result
from holdfast.domain.context import seen
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
    BusyFile,
    OnStep,
    ReadableFile,
    Scan,
    ScannedFile,
    UnreadableFile,
    UserFolder,
    case_clashes,
)
from holdfast.entrypoints.mirror.frontmatter import FileText, rendered
from holdfast.entrypoints.python.local import run
from holdfast.operations.changes import NO_COPY, Copy, follow
from holdfast.operations.engine import Engine
from holdfast.operations.session import Session
from holdfast.storage.keyring import StaleKeys
from holdfast.vocabularies.files import DELETE, UPSERT, FileCalls, FileChange

MAX_DELETIONS = 50
"""Memories that are deleted at most per pass."""
NEVER = float("inf")
MASS_DELETION = 2
"""When all files are gone at once, and were at least so many, that was no deliberate deletion."""


class _Side(NamedTuple):
    """The memories: live ones by name, trashed ones by id."""

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
        delete_delay: float,
        on_step: OnStep,
    ) -> None:
        self._engine = engine
        self._session = session
        self._calls = FileCalls(session)
        self._folder = folder
        self._monotonic = monotonic
        self._delete_delay = delete_delay
        self._on_step = on_step
        self._report = Report(session.caller.principal.id)
        self._baselines: Baselines | None = None
        self._copy = NO_COPY
        self._side: _Side | None = None
        self._index: tuple[SpaceState | None, str] | None = None
        self._missing: dict[str, float] = {}
        self._refused: dict[str, tuple[str, str]] = {}

    def run(self) -> None:
        """Synchronises both sides, except for files that are being written."""
        side = self._engine_side()
        state = self._copy.state
        if not self._folder.exists and not side.live and not side.trashed:
            return
        folder_existed = self._folder.prepare()
        baselines = self._load_baselines(state)
        for name in self._folder.settle_leftovers():
            self._report.note(f"`{name}.md` holds what was written while the mirror wrote the same file.")
        scan = self._folder.scan()
        files = self._usable_files(scan, side, baselines)
        plan = _Plan()
        for name in sorted({*files, *side.live, *baselines.files}):
            self._decide(plan, name, files.get(name), side.live.get(name), baselines.files.get(name), side)
        self._limit_deletions(plan, side, baselines, folder_existed)
        self._apply(plan, side, baselines)
        self._follow_trash(side, baselines)
        self._folder.put_index(self._index_text(state, changed=bool(plan.uploads or plan.deletions)))
        self._folder.put_problems(self._report.text())
        self._folder.sync()
        baselines.set_seq(0 if state is None else state.seq)
        baselines.flush()

    def close(self) -> None:
        if self._baselines is not None:
            self._baselines.close()

    def _index_text(self, state: SpaceState | None, *, changed: bool) -> str:
        if changed or self._index is None or self._index[0] != state:
            self._index = None if changed else state, self._calls.index()
        return self._index[1]

    def _engine_side(self) -> _Side:
        """Reads only what changed since the last pass."""
        copy = follow(self._session, (Partition.FILES,), self._copy)
        if self._side is None or copy.state is None or copy.state != self._copy.state:
            self._side = _side_of(copy)
        self._copy = copy
        return self._side

    def _load_baselines(self, state: SpaceState | None) -> Baselines:
        if self._baselines is None:
            self._baselines = Baselines(self._folder.state / "baseline.jsonl")
        if self._baselines.seq > (0 if state is None else state.seq):
            self._baselines.forget()
            self._report.note("The store is older than the files: both sides are kept and compared again.")
        return self._baselines

    def _usable_files(self, scan: Scan, side: _Side, baselines: Baselines) -> dict[str, ScannedFile]:
        """Returns the files, with case clashes and refused texts marked unreadable. Reports every reason."""
        clashing = case_clashes(list(scan.files), lambda name: name in side.live or name in baselines.files)
        files = dict(scan.files)
        for name, other in clashing.items():
            files[name] = UnreadableFile(f"differs from `{other}.md` in case alone")
        for name, found in files.items():
            if isinstance(found, ReadableFile) and (refused := self._refused.get(name)):
                if refused[0] == found.digest:
                    files[name] = UnreadableFile(refused[1])
                else:
                    del self._refused[name]
        self._report.begin()
        for name, found in files.items():
            if isinstance(found, UnreadableFile):
                self._report.problem(f"{name}.md", found.reason)
        for file, reason in scan.invalid.items():
            self._report.problem(file, reason)
        if side.locked:
            self._report.problem("(locked)", f"are {side.locked} memories, so no file is removed meanwhile")
        return files

    def _decide(
        self,
        plan: _Plan,
        name: str,
        found: ScannedFile | None,
        entry: Entry | None,
        known: Baseline | None,
        side: _Side,
    ) -> None:
        """Plans the step for one name, from both sides and from the state in which they were equal."""
        if found is not None:
            self._missing.pop(name, None)
        entry_is_known = bool(entry and known and (known.entry, known.revision) == (entry.id, entry.revision))
        match found:
            case UnreadableFile() | BusyFile():
                return
            case ReadableFile():
                file_is_known = known is not None and known.digest == found.digest
                if entry is None:
                    if not file_is_known:
                        plan.uploads[name] = found, 0
                    elif not side.locked:
                        plan.removals[name] = found.digest
                elif entry_is_known and file_is_known:
                    return
                elif entry_is_known:
                    plan.uploads[name] = found, entry.revision
                elif self._equal(found.text, entry):
                    plan.equal[name] = Baseline(found.digest, entry.id, entry.revision)
                elif file_is_known:
                    plan.writes[name] = entry, found.digest
                else:
                    plan.conflicts[name] = entry
            case None:
                if entry is None:
                    plan.gone.append(name)
                elif entry_is_known:
                    plan.deletions.append(name)
                else:
                    plan.writes[name] = entry, None

    def _equal(self, file: FileText, entry: Entry) -> bool:
        """Compares a file with an entry, ignoring the secrets that the engine removed."""
        scrub = self._engine.scrub
        pairs = ((file.description.strip(), entry.hint), (file.body, entry.text))
        return file.type == entry.category and all(
            written == stored or scrub(written).text == stored for written, stored in pairs
        )

    def _limit_deletions(self, plan: _Plan, side: _Side, baselines: Baselines, folder_existed: bool) -> None:
        """Delays deletions, and refuses to delete the memories of a whole folder at once."""
        gone, now = plan.deletions, self._monotonic()
        kept = len(baselines.files) - len(gone)
        if gone and (not folder_existed or (kept == 0 and len(gone) >= MASS_DELETION)):
            for name in gone:
                self._missing.pop(name, None)
                plan.writes[name] = side.live[name], None
            plan.deletions = []
            self._report.note(
                f"All {len(gone)} files were gone at once, so they were written again. To delete memories, delete "
                "some of the files, or use `holdfast forget`."
            )
            return
        due = [name for name in gone if now - self._missing.get(name, NEVER) >= self._delete_delay]
        for name in gone:
            self._missing.setdefault(name, now)
        if len(due) > MAX_DELETIONS:
            self._report.note(f"{len(due)} files are gone; their memories follow, {MAX_DELETIONS} per pass.")
        plan.deletions = due[:MAX_DELETIONS]

    def _apply(self, plan: _Plan, side: _Side, baselines: Baselines) -> None:
        for name, baseline in plan.equal.items():
            baselines.set(name, baseline)
        self._upload(plan, baselines)
        for name, (entry, expected) in plan.writes.items():
            self._write(name, entry, expected, baselines)
        for name, entry in plan.conflicts.items():
            self._keep_both(name, entry, baselines)
        self._delete(plan, side, baselines)
        purged = False
        for name, digest in plan.removals.items():
            purged |= self._remove_file(name, digest, side, baselines)
        for name in plan.gone:
            baselines.drop(name)
        if purged:
            baselines.compact()

    def _upload(self, plan: _Plan, baselines: Baselines) -> None:
        """Submits all uploads together, so that they share commits."""
        submitted: list[tuple[str, ReadableFile, Callable[[], Result[FileChange]], Future[FileChange]]] = []
        for name, (file, revision) in plan.uploads.items():
            try:
                change = partial(
                    self._calls.update_user_memory,
                    UPSERT,
                    name,
                    **file.text._asdict(),
                    expected_revision=revision,
                )
                job = change()
                assert isinstance(job, Job)
                submitted.append((name, file, change, self._engine.submit(job)))
            except HoldfastError as refusal:
                self._refuse(name, file, refusal)
        for name, file, upload, future in submitted:
            try:
                done = self._result(upload, future)
            except HoldfastError as refusal:
                self._refuse(name, file, refusal)
                continue
            self._on_step("uploaded")
            assert done.id is not None
            baselines.set(name, Baseline(file.digest, done.id, done.revision))
            if done.redacted:
                self._report.note(
                    f"`{name}.md` holds secrets ({done.redacted}): the memory has them replaced, the file does not."
                )

    def _result(self, change: Callable[[], Result[FileChange]], future: Future[FileChange]) -> FileChange:
        try:
            return future.result()
        except StaleKeys as stale:
            self._engine.refresh(stale)
            done: FileChange = run(self._session, change)
            return done

    def _refuse(self, name: str, file: ReadableFile, refusal: HoldfastError) -> None:
        """Reports a refused text. Retries invalid ones when they change, and others at every pass."""
        if isinstance(refusal, PreconditionFailed):
            return  # the entry changed meanwhile; the next pass sees both
        if not isinstance(refusal, InvalidInput | TooLarge | Conflict | Quota):
            raise refusal
        reason = f"was refused: {refusal.message.removesuffix('.')}"
        if isinstance(refusal, InvalidInput | TooLarge):
            self._refused[name] = file.digest, reason
        self._report.problem(f"{name}.md", reason)

    def _write(self, name: str, entry: Entry, expected: str | None, baselines: Baselines) -> None:
        data = rendered(name, _text(entry))
        try:
            if expected is None:
                self._folder.write_new(name, data)
            else:
                self._folder.replace(name, data, expected)
        except (FileExistsError, FileNotFoundError):
            return  # the file changed meanwhile; the next pass decides
        baselines.set(name, Baseline(digest_of(data), entry.id, entry.revision))
        self._on_step("noted")

    def _keep_both(self, name: str, entry: Entry, baselines: Baselines) -> None:
        """Keeps the name for the memory's text. The file's text becomes another file, and a memory at the next pass."""
        data = rendered(name, _text(entry))
        try:
            self._folder.replace(name, data, None)
        except FileNotFoundError:
            return
        for kept in self._folder.settle_leftovers():
            self._report.note(f"`{name}.md` was changed on both sides; the file's text is now `{kept}.md`.")
        baselines.set(name, Baseline(digest_of(data), entry.id, entry.revision))
        self._on_step("noted")

    def _delete(self, plan: _Plan, side: _Side, baselines: Baselines) -> None:
        for name in plan.deletions:
            revision = side.live[name].revision
            try:
                delete = partial(self._calls.update_user_memory, DELETE, name, expected_revision=revision)
                run(self._session, delete)
            except (NotFound, PreconditionFailed):
                continue  # the entry changed meanwhile; the next pass sees both
            self._on_step("deleted")
            baselines.drop(name)
            self._missing.pop(name, None)

    def _remove_file(self, name: str, digest: str, side: _Side, baselines: Baselines) -> bool:
        """Moves the file of a trashed memory to the trash, or erases that of a purged one. Returns True for purged."""
        trashed = side.trashed.get(baselines.files[name].entry.hex)
        if trashed is None:
            self._folder.remove(name, digest)
            baselines.drop(name)
            return True
        file = _trash_file(trashed)
        try:
            moved = self._folder.move_to_trash(name, digest, file)
        except FileNotFoundError:
            return False  # a person deleted it, too; the next pass writes it to the trash
        if moved:
            baselines.set_trashed(file, trashed.id)
            baselines.drop(name)
        return False

    def _follow_trash(self, side: _Side, baselines: Baselines) -> None:
        """Writes files for newly trashed memories, and removes those of memories that left the trash.

        Files that a person removed there stay away."""
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


class _Plan:
    """The steps of a pass, by name."""

    def __init__(self) -> None:
        self.equal: dict[str, Baseline] = {}
        self.uploads: dict[str, tuple[ReadableFile, int]] = {}
        self.writes: dict[str, tuple[Entry, str | None]] = {}
        self.conflicts: dict[str, Entry] = {}
        self.removals: dict[str, str] = {}
        self.deletions: list[str] = []
        self.gone: list[str] = []


def _side_of(copy: Copy) -> _Side:
    return _Side(
        {entry.key: entry for entry in copy.live.values() if _is_file(entry)},
        {entry.id.hex: entry for entry in copy.trashed.values() if _is_file(entry)},
        copy.locked,
    )


def _is_file(entry: Entry) -> bool:
    return entry.content.is_text and not entry.encrypted


def _text(entry: Entry) -> FileText:
    return FileText(entry.category, entry.hint, entry.text)


def _trash_file(entry: Entry) -> str:
    """Appends the entry's number: many trashed memories may share a name."""
    return f"{entry.key}-{entry.number:08x}.md"


MAX_NOTES = 20

log = logging.getLogger("holdfast")


class Report:
    def __init__(self, user: str) -> None:
        self._user = user
        self._before: dict[str, str] = {}
        self._problems: dict[str, str] = {}
        self._notes: deque[str] = deque(maxlen=MAX_NOTES)

    def begin(self) -> None:
        """Starts a pass without problems."""
        self._before, self._problems = self._problems, {}

    def problem(self, name: str, reason: str) -> None:
        """Reports a problem; logs it unless the last pass found it, too."""
        if self._before.get(name) != reason:
            log.warning("the mirror of user %s: `%s` %s", seen(self._user), seen(name), reason)
        self._problems[name] = reason

    def note(self, sentence: str) -> None:
        log.warning("the mirror of user %s: %s", seen(self._user), sentence)
        self._notes.append(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC: {sentence}")

    def text(self) -> str | None:
        """Returns the content of PROBLEMS.md, or None without any."""
        lines: list[str] = []
        if self._problems:
            lines += ["# Files that are not memories", ""]
            lines += [f"- `{seen(name)}` {reason}." for name, reason in sorted(self._problems.items())]
        if self._notes:
            lines += [
                *([""] if lines else []),
                "# What the mirror did",
                "",
                *(f"- {note}" for note in self._notes),
            ]
        return "\n".join(lines) + "\n" if lines else None
