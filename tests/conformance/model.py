"""What Holdfast promises, told with plain dictionaries and lists: no storage, no sealing, no SQL.

The state machine plays every call here and through the door. Refusals are codes. Rows that have expired stay until a
sweep or a new owner of their key removes them, but nobody sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from uuid import UUID

SECOND = 1_000_000
DAY = 86_400 * SECOND
NEVER = 1 << 62
TRASH_US = 30 * DAY
RECEIPT_US = DAY

LEVELS = {"search": 1, "read": 2, "readwrite": 3, "manage": 4}
SEARCH, READ, READWRITE, MANAGE = LEVELS.values()


class Refused(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Session:
    """Someone who calls: a principal, and what the host vouches for."""

    principal: str
    session_user: str | None = None
    chat: str | None = None


@dataclass(frozen=True)
class State:
    """One revision."""

    key: str
    text: str
    by: str
    change: str
    at_us: int
    seq: int
    category: str = ""
    tags: tuple[str, ...] = ()
    expires_us: int | None = None
    restores: int | None = None


@dataclass(eq=False)
class Row:
    """One entry with all of its states, the present one last."""

    space: str
    owner: str
    born: int
    created_us: int
    states: list[State]
    trashed_us: int | None = None
    id: UUID | None = None

    @property
    def head(self) -> State:
        return self.states[-1]

    @property
    def revision(self) -> int:
        return len(self.states)

    def expired(self, now: int) -> bool:
        return self.head.expires_us is not None and self.head.expires_us <= now

    def live(self, now: int) -> bool:
        return self.trashed_us is None and not self.expired(now)

    def in_trash(self, now: int) -> bool:
        return self.trashed_us is not None and not self.expired(now)

    def place(self, since: int) -> int:
        """Where it stood in the order of changes at a moment after its birth."""
        return max(state.seq for state in self.states if state.seq <= since)


@dataclass(frozen=True)
class Given:
    """A grant."""

    level: int
    expires_us: int | None

    def live(self, now: int) -> bool:
        return self.expires_us is None or now < self.expires_us


@dataclass(frozen=True)
class Said:
    """What remember() was asked; None: not said."""

    text: str
    key: str | None = None
    category: str | None = None
    tags: tuple[str, ...] | None = None
    ttl: int | None = None
    expected_revision: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True)
class Kept:
    """What remember() answers."""

    row: Row
    revision: int
    created: bool
    expires_us: int | None


@dataclass(frozen=True)
class Receipt:
    """What an idempotency key was answered, and about which entry that is now."""

    asked: tuple[str, Said]
    at_us: int
    answer: Kept
    about: Row


@dataclass(frozen=True)
class Wanted:
    """What a list is asked for, and for a further page where the first one began and the last one ended."""

    prefix: str = ""
    category: str | None = None
    tag: str | None = None
    since: int | None = None
    before: int | None = None

    def matches(self, state: State) -> bool:
        return (
            state.key.startswith(self.prefix)
            and (self.category is None or state.category == self.category)
            and (self.tag is None or self.tag in state.tags)
        )


@dataclass
class Model:
    now: int
    seq: int = 0
    rows: list[Row] = field(default_factory=list)
    ids: dict[UUID, str] = field(default_factory=dict)
    """Every id there ever was, and its space."""
    grants: dict[tuple[str, str, str], Given] = field(default_factory=dict)
    """By space, grantee and giver."""
    participants: dict[str, set[str]] = field(default_factory=dict)
    receipts: dict[tuple[str, str], Receipt] = field(default_factory=dict)

    # Access

    def standing(self, session: Session, space: str) -> tuple[int, str] | None:
        """The level someone holds in a space and why; the first that applies wins."""
        if session.principal == space:
            return MANAGE, "self"
        granted = [given.level for given in self._held(space, session.principal)]
        if granted:
            return max(granted), "grant"
        kind, _, ref = space.partition(":")
        if kind == "chat":
            listed = self.participants.get(ref)
            takes_part = session.chat == ref if listed is None else session.principal in listed
            return (READWRITE, "chat") if takes_part else None
        return (READWRITE, "session user") if session.session_user == space else None

    def _held(self, space: str, principal: str) -> list[Given]:
        return [
            given
            for (where, grantee, _), given in self.grants.items()
            if (where, grantee) == (space, principal) and given.live(self.now)
        ]

    def level(self, session: Session, space: str) -> int:
        standing = self.standing(session, space)
        return standing[0] if standing else 0

    def enter(self, session: Session, space: str, needed: int) -> None:
        if self.level(session, space) < needed:
            raise Refused("access_denied")

    def _enter_by_id(self, session: Session, entry: UUID, needed: int) -> str:
        """An id in a space one cannot read is like an id that does not exist."""
        space = self.ids.get(entry)
        if space is None or self.level(session, space) < READ:
            raise Refused("not_found")
        self.enter(session, space, needed)
        return space

    def _may_delete(self, session: Session, row: Row) -> bool:
        return row.owner == session.principal or self.level(session, row.space) == MANAGE

    def _require_delete(self, session: Session, row: Row) -> None:
        if not self._may_delete(session, row):
            raise Refused("access_denied")

    # Finding entries

    def live(self, space: str) -> list[Row]:
        """Newest change first."""
        rows = [row for row in self.rows if row.space == space and row.live(self.now)]
        return sorted(rows, key=lambda row: -row.head.seq)

    def in_trash(self, space: str) -> list[Row]:
        rows = [row for row in self.rows if row.space == space and row.in_trash(self.now)]
        return sorted(rows, key=lambda row: -row.head.seq)

    def find(self, session: Session, space: str, target: str | UUID, needed: int) -> Row:
        """The entry meant: by id, or by key the caller's own, else the newest."""
        if isinstance(target, UUID):
            space = self._enter_by_id(session, target, needed)
            found = [row for row in self.live(space) if row.id == target]
        else:
            self.enter(session, space, needed)
            found = [row for row in self.live(space) if row.head.key == target]
        if not found:
            raise Refused("not_found")
        return _own_first(session, found)

    def _find_for_change(
        self, session: Session, space: str, target: str | UUID, expected: int | None = None
    ) -> Row:
        row = self.find(session, space, target, READWRITE)
        if expected is not None and expected != row.revision:
            raise Refused("precondition_failed")
        return row

    def _free(self, space: str, owner: str, key: str) -> None:
        """Makes sure that a name is free. What has expired holds no name."""
        for row in list(self.rows):
            if (row.space, row.owner, row.head.key) == (space, owner, key) and row.trashed_us is None:
                if row.live(self.now):
                    raise Refused("conflict")
                self._remove(row)

    def _remove(self, row: Row) -> None:
        self.rows.remove(row)
        self.receipts = {key: kept for key, kept in self.receipts.items() if kept.about is not row}

    # Writing

    def _next(self) -> int:
        self.seq += 1
        return self.seq

    def _append(self, row: Row, session: Session, state: State, change: str) -> Row:
        row.states.append(
            replace(
                state,
                by=session.principal,
                change=change,
                at_us=self.now,
                seq=self._next(),
                restores=state.restores if change == "undone" else None,
            )
        )
        return row

    def remember(self, session: Session, space: str, said: Said, made_key: str) -> Kept:
        self.enter(session, space, READWRITE)
        expires = self._expiry(said.ttl)
        if replayed := self._replay(session, space, said):
            return replayed
        key = made_key if said.key is None else said.key
        own = [row for row in self.live(space) if (row.owner, row.head.key) == (session.principal, key)]
        if said.expected_revision not in (None, own[0].revision if own else 0):
            raise Refused("precondition_failed")
        if own:
            row = self._say_again(own[0], session, said, expires)
        else:
            self._free(space, session.principal, key)
            row = self._create(session, space, key, said, expires)
        kept = Kept(row, row.revision, not own, expires)
        if said.idempotency_key is not None:
            receipt = Receipt((space, said), self.now, kept, row)
            self.receipts[session.principal, said.idempotency_key] = receipt
        return kept

    def _expiry(self, ttl: int | None) -> int | None:
        if ttl is not None and ttl < 1:
            raise Refused("ttl_too_short")
        return None if ttl is None else self.now + ttl * SECOND

    def _replay(self, session: Session, space: str, said: Said) -> Kept | None:
        receipt = self.receipts.get((session.principal, said.idempotency_key or ""))
        if receipt is None or receipt.at_us < self.now - RECEIPT_US:
            return None
        if receipt.asked != (space, said):
            raise Refused("conflict")
        return receipt.answer

    def _create(self, session: Session, space: str, key: str, said: Said, expires: int | None) -> Row:
        seq = self._next()
        state = State(
            key,
            said.text,
            session.principal,
            "created",
            self.now,
            seq,
            said.category or "",
            said.tags or (),
            expires,
        )
        row = Row(space, session.principal, seq, self.now, [state])
        self.rows.append(row)
        return row

    def _say_again(self, row: Row, session: Session, said: Said, expires: int | None) -> Row:
        """What is left out stays as it was, except for the expiry."""
        old = row.head
        state = replace(
            old,
            text=said.text,
            category=old.category if said.category is None else said.category,
            tags=old.tags if said.tags is None else said.tags,
            expires_us=expires,
        )
        return self._append(row, session, state, "replaced")

    def edit(
        self,
        session: Session,
        space: str,
        target: str | UUID,
        *,
        text: str | None,
        category: str | None,
        tags: tuple[str, ...] | None,
        ttl: int | None,
        expected: int | None,
    ) -> Row:
        row = self._find_for_change(session, space, target, expected)
        old = row.head
        state = replace(
            old,
            text=old.text if text is None else text,
            category=old.category if category is None else category,
            tags=old.tags if tags is None else tags,
            expires_us=old.expires_us if ttl is None else self._expiry(ttl),
        )
        return self._append(row, session, state, "edited")

    def replace(
        self, session: Session, space: str, target: str | UUID, old: str, new: str, expected: int | None
    ) -> tuple[Row, int]:
        row = self._find_for_change(session, space, target, expected)
        occurrences = row.head.text.count(old)
        if not occurrences:
            raise Refused("edit_no_match")
        state = replace(row.head, text=row.head.text.replace(old, new, 1))
        return self._append(row, session, state, "edited"), occurrences

    def rename(
        self,
        session: Session,
        space: str,
        target: str | UUID,
        key: str,
        to_space: str | None,
        expected: int | None,
    ) -> Row:
        if isinstance(target, UUID):
            space = self._enter_by_id(session, target, READWRITE)
        self.enter(session, space, READWRITE)
        if to_space is not None:
            self.enter(session, to_space, READWRITE)
        row = self._find_for_change(session, space, target, expected)
        moving = to_space is not None and to_space != row.space
        if moving:
            self._require_delete(session, row)
        elif key == row.head.key:
            return row
        self._free(to_space or row.space, row.owner, key)
        renamed = replace(row.head, key=key)
        if not moving or to_space is None:
            return self._append(row, session, renamed, "renamed")
        return self._move(row, session, renamed, to_space)

    def _move(self, row: Row, session: Session, state: State, space: str) -> Row:
        """With its history and what its owner was answered, under an id of the other space; there it is born now."""
        born = self.seq + 1
        moved = Row(
            space, row.owner, born, row.created_us, [replace(state, seq=born) for state in row.states]
        )
        self.rows.append(moved)
        for (who, key), receipt in self.receipts.items():
            if who == row.owner and receipt.about is row:
                self.receipts[who, key] = replace(receipt, about=moved)
        self._remove(row)
        return self._append(moved, session, state, "renamed")

    def undo(
        self, session: Session, space: str, target: str | UUID, to: int | None, expected: int | None
    ) -> Row:
        row = self._find_for_change(session, space, target, expected)
        back = (row.head.restores or row.revision) - 1 if to is None else to
        if not 1 <= back < row.revision:
            raise Refused("conflict")
        earlier = row.states[back - 1]
        if earlier.key != row.head.key:
            self._free(row.space, row.owner, earlier.key)
        lapsed = earlier.expires_us is not None and earlier.expires_us <= self.now
        expires = row.head.expires_us if lapsed else earlier.expires_us
        return self._append(row, session, replace(earlier, expires_us=expires, restores=back), "undone")

    # Removing

    def trash(self, session: Session, space: str, target: str | UUID, expected: int | None) -> Row:
        row = self._find_for_change(session, space, target, expected)
        self._require_delete(session, row)
        row.trashed_us = self.now
        return row

    def restore(self, session: Session, space: str, target: str | UUID) -> Row:
        if isinstance(target, UUID):
            space = self._enter_by_id(session, target, READWRITE)
        self.enter(session, space, READWRITE)
        found = [row for row in self.in_trash(space) if target in (row.id, row.head.key)]
        if not found:
            raise Refused("not_found")
        row = _own_first(session, sorted(found, key=lambda row: (-(row.trashed_us or 0), -row.head.seq)))
        self._require_delete(session, row)
        self._free(space, row.owner, row.head.key)
        row.trashed_us = None
        return row

    def purge(self, session: Session, space: str, target: str | UUID) -> int:
        """By key also what was trashed under it; of all this what the caller may remove, if there is any. What has
        expired is there for who may remove it."""
        if isinstance(target, UUID):
            space = self._enter_by_id(session, target, READWRITE)
        self.enter(session, space, READWRITE)
        found = [row for row in self.live(space) if target in (row.id, row.head.key)]
        meant = [_own_first(session, found)] if found else []
        meant += [row for row in self.in_trash(space) if target in (row.id, row.head.key)]
        over = [row for row in self.rows if row.space == space and row.expired(self.now)]
        named = [row for row in over if target in (row.id, row.head.key)]
        meant += [row for row in named if self._may_delete(session, row)]
        if not meant:
            raise Refused("not_found")
        meant = [row for row in meant if self._may_delete(session, row)]
        if not meant:
            raise Refused("access_denied")
        for row in meant:
            self._remove(row)
        return len(meant)

    def forget(self, session: Session, target: str | UUID) -> int:
        """Like purging in the own space, but to find nothing is no refusal."""
        try:
            return self.purge(session, session.principal, target)
        except Refused as refusal:
            if refusal.code == "not_found":
                return 0
            raise

    def forget_all(self, session: Session) -> tuple[int, int]:
        """Everything in the own space; what lies elsewhere stays and is counted."""
        mine = [row for row in self.rows if row.space == session.principal]
        for row in mine:
            self._remove(row)
        return len(mine), sum(row.owner == session.principal for row in self.rows)

    def sweep(self) -> tuple[int, int, int, int]:
        """Expired entries, old trash, lapsed grants, old receipts."""
        expired = [row for row in self.rows if row.expired(self.now)]
        trash = [row for row in self.rows if row.trashed_us is not None and row not in expired]
        trash = [row for row in trash if (row.trashed_us or 0) < self.now - TRASH_US]
        for row in [*expired, *trash]:
            self._remove(row)
        lapsed = [name for name, given in self.grants.items() if not given.live(self.now)]
        old = [name for name, kept in self.receipts.items() if kept.at_us < self.now - RECEIPT_US]
        for name in lapsed:
            del self.grants[name]
        for receipt in old:
            del self.receipts[receipt]
        return len(expired), len(trash), len(lapsed), len(old)

    # Sharing

    def share(self, session: Session, space: str, grantee: str, level: str, ttl: int | None) -> Given:
        """Never more than one holds, and never longer; a part in a chat or a session gives nothing on."""
        self.enter(session, space, READWRITE)
        held, why = self.standing(session, space) or (0, "")
        if grantee in (space, session.principal):
            raise Refused("invalid_field")
        if LEVELS[level] > held or why not in ("self", "grant"):
            raise Refused("access_denied")
        expires = None if ttl is None else self.now + ttl * SECOND
        if why == "grant":
            ends = [given.expires_us for given in self._held(space, session.principal) if given.level >= held]
            if None not in ends:
                expires = min(end for end in [max(end for end in ends if end), expires] if end)
        name = space, grantee, session.principal
        replaces = name in self.grants
        self.grants[name] = given = Given(LEVELS[level], expires)
        if replaces:
            self._keep_what_stands(space)
        return given

    def unshare(self, session: Session, space: str, grantee: str) -> tuple[int, int]:
        """Manage takes back any grant, readwrite those it gave; what stood on them goes too."""
        self.enter(session, space, READWRITE)
        manages = self.level(session, space) == MANAGE
        revoked = [
            name
            for name in self.grants
            if name[:2] == (space, grantee) and (manages or name[2] == session.principal)
        ]
        for name in revoked:
            del self.grants[name]
        return len(revoked), self._keep_what_stands(space) if revoked else 0

    def _keep_what_stands(self, space: str) -> int:
        """A grant stands as long as there is a chain from the owner to it of givers who hold its level."""
        live = {
            name: given for name, given in self.grants.items() if name[0] == space and given.live(self.now)
        }
        until: dict[tuple[str, str, str], int] = {}
        for _ in range(len(live) + 1):
            for name, given in live.items():
                giver, needed = name[2], max(given.level, READWRITE)
                holds = [
                    until.get(other, 0) for other in live if other[1] == giver and live[other].level >= needed
                ]
                chain = NEVER if giver == space else max(holds, default=0)
                until[name] = min(chain, NEVER if given.expires_us is None else given.expires_us)
        for name, given in live.items():
            if until[name] <= self.now:
                del self.grants[name]
            elif until[name] != NEVER:
                self.grants[name] = replace(given, expires_us=until[name])
        return sum(end <= self.now for end in until.values())

    def granted(self, session: Session, space: str) -> set[tuple[str, str, int, int | None]]:
        self.enter(session, space, READWRITE)
        return {
            (grantee, giver, given.level, given.expires_us)
            for (where, grantee, giver), given in self.grants.items()
            if where == space and given.live(self.now)
        }

    # Reading

    def get(self, session: Session, space: str, target: str | UUID) -> Row:
        return self.find(session, space, target, READ)

    def page(
        self, session: Session, space: str, wanted: Wanted, limit: int
    ) -> tuple[list[Row], Wanted | None]:
        """Newest change first. A further page keeps the order of the first: what is written meanwhile neither hides
        an entry nor shows it twice."""
        self.enter(session, space, READ)
        since = self.seq if wanted.since is None else wanted.since
        before = since + 1 if wanted.before is None else wanted.before
        places = {row: row.place(since) for row in self.live(space) if row.born <= since}
        found = sorted(
            (row for row, place in places.items() if place < before and wanted.matches(row.head)),
            key=lambda row: -places[row],
        )
        if len(found) <= limit:
            return found, None
        return found[:limit], replace(wanted, since=since, before=places[found[limit - 1]])

    def trashed(self, session: Session, space: str) -> list[Row]:
        self.enter(session, space, READ)
        return self.in_trash(space)

    def spaces(self, session: Session, among: Iterable[str]) -> Iterator[tuple[str, str, str]]:
        names = {level: name for name, level in LEVELS.items()}
        for space in among:
            if standing := self.standing(session, space):
                yield space, names[standing[0]], standing[1]


def _own_first(session: Session, rows: list[Row]) -> Row:
    return next((row for row in rows if row.owner == session.principal), rows[0])
