"""Who may see what, told with plain lists: the cascade of DESIGN 3 and the lifetimes of DESIGN 4, written down a second
time without a line of the engine. Refusals are codes; what has expired stays until a sweep, or until who may remove it
does, but nobody sees it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from tests.isolation.actors import Actor

SECOND = 1_000_000
HOUR = 3_600
DAY = 86_400
NEVER = 1 << 62
TRASH_US = 30 * DAY * SECOND
RECEIPT_US = DAY * SECOND

SEARCH, READ, READWRITE, MANAGE = 1, 2, 3, 4
NAME = re.compile("[A-Za-z0-9_-]{1,64}")
"""Of a file."""
TYPES = ("user", "feedback", "project", "reference")
LEVELS = ("", "search", "read", "readwrite", "manage")
ROOMS = ("notes", "facts", "stores", "files", "assistant")
"""What a model may see; `internal` is beside them."""
EVERY_ROOM = (*ROOMS, "internal")
OWNERS_ALONE = ("files", "assistant")
ENDLESS = ("files", "assistant")
"""Where nothing has a time to live."""


class Refused(Exception):
    """With its code; `also` where another one would do as well."""

    def __init__(self, code: str, also: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.also = also


@dataclass(eq=False)
class Space:
    kind: str
    ref: str
    owner: str | None
    id: str
    members: dict[str, int] | None = None
    """A stored list: it alone decides."""

    def __str__(self) -> str:
        return f"{self.kind}:{self.ref}" + (f" of {self.owner}" if self.kind == "shared" else "")


@dataclass(frozen=True)
class State:
    """One revision."""

    key: str
    text: str
    hint: str
    category: str
    tags: tuple[str, ...]
    speaker: str | None
    expires_us: int | None
    always: bool
    at_us: int = 0
    seq: int = 0
    by: str = ""
    change: str = ""
    restores: int | None = None


@dataclass(eq=False)
class Row:
    """One entry with all of its states, the present one last."""

    space: Space
    owner: str
    partition: str
    born: int
    created_us: int
    states: list[State]
    id: str = ""
    trashed_us: int | None = None
    gone: bool = False

    def __str__(self) -> str:
        return f"{self.space} ({self.partition} of {self.owner})"

    @property
    def head(self) -> State:
        return self.states[-1]

    @property
    def revision(self) -> int:
        return len(self.states)

    def expired(self, now: int) -> bool:
        return self.head.expires_us is not None and self.head.expires_us <= now

    def place(self, since: int) -> int:
        """Where it stood in the order of changes at a moment after its birth."""
        return max(state.seq for state in self.states if state.seq <= since)


@dataclass(frozen=True)
class Given:
    level: int
    expires_us: int | None
    created_us: int

    def live(self, now: int) -> bool:
        return self.expires_us is None or now < self.expires_us

    @property
    def end(self) -> int:
        return NEVER if self.expires_us is None else self.expires_us


@dataclass(frozen=True)
class EntryName:
    """An entry as a caller names it: by its id, or by a key in a space as they call it."""

    id: str | None = None
    key: str | None = None
    ref: str | None = None


@dataclass(frozen=True)
class NoteInput:
    """What remember is asked; None: not said."""

    text: str
    key: str | None = None
    hint: str | None = None
    category: str | None = None
    tags: tuple[str, ...] | None = None
    speaker: str | None = None
    ttl: int | None = None
    always: bool | None = None
    expected: int | None = None
    supersedes: str | None = None


@dataclass(frozen=True)
class Changes:
    text: str | None = None
    hint: str | None = None
    category: str | None = None
    tags: tuple[str, ...] | None = None
    ttl: int | None = None
    no_expiry: bool = False
    always: bool | None = None


@dataclass(frozen=True)
class Kept:
    row: Row
    created: bool
    revision: int
    expires_us: int | None


@dataclass(frozen=True)
class Wanted:
    """What a list is asked for, and for a further page where the first one began and the last one ended."""

    rooms: tuple[str, ...] = ROOMS
    prefix: str = ""
    category: str | None = None
    tag: str | None = None
    since: int | None = None
    before: int | None = None

    def matches(self, row: Row) -> bool:
        head = row.head
        return (
            row.partition in self.rooms
            and head.key.startswith(self.prefix)
            and (self.category is None or head.category == self.category)
            and (self.tag is None or self.tag in head.tags)
        )


@dataclass(frozen=True)
class Receipt:
    request: object
    at_us: int
    body: object
    row: Row | None
    moved: bool = False
    """Whether the answer tells of the place where the entry lay before."""


Grants = dict[tuple[Space, str, str], Given]
Access = tuple[Space, int, str]
"""A space, the level held there, and why."""


@dataclass
class Model:
    now: int
    seq: int = 0
    spaces: list[Space] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    ids: dict[str, Row] = field(default_factory=dict)
    """Every id there ever was."""
    grants: Grants = field(default_factory=dict)
    """By space, grantee and giver."""
    rules: dict[str, tuple[bool, bool]] = field(default_factory=dict)
    receipts: dict[tuple[str, str], Receipt] = field(default_factory=dict)
    touched: set[Space | Row] = field(default_factory=set)
    """What changed since this was last emptied."""

    # Access

    def may(self, actor: Actor, *, writes: bool) -> bool:
        """One role that still allows it is enough."""
        return any(self.rules.get(role, (True, True))[writes] for role in actor.roles)

    def standing(self, actor: Actor, space: Space) -> tuple[int, str] | None:
        """The level somebody holds in a space and why; the first that applies wins."""
        if space.owner == actor.principal:
            return MANAGE, "self"
        granted = [given.level for given in self.held(space, actor.principal)]
        if granted:
            return max(granted), "grant"
        if space.kind == "chat":
            takes_part = (
                space.ref in actor.chats if space.members is None else actor.principal in space.members
            )
            return (READWRITE, "chat") if takes_part else None
        if space.kind == "user" and actor.session_user == space.owner:
            return READWRITE, "session user"
        if space.kind == "system":
            level = self._system_level(actor, space)
            return (level, "system") if level else None
        return None

    def may_flag(self, actor: Actor, space: Space, level: int) -> bool:
        """A person who manages the space; others for themselves alone."""
        alone = space.owner == actor.principal and space.kind != "shared"
        return level == MANAGE and (alone or actor.kind == "user")

    def _system_level(self, actor: Actor, space: Space) -> int:
        if space.members is not None:
            return max((space.members.get(name, 0) for name in actor.listed_as), default=0)
        return {"read": READWRITE, "manage": MANAGE}.get(actor.systems.get(space.ref, ""), 0)

    def held(self, space: Space, principal: str) -> list[Given]:
        return [
            given
            for (where, grantee, _), given in self.grants.items()
            if where is space and grantee == principal and given.live(self.now)
        ]

    def level(self, actor: Actor, space: Space) -> int:
        standing = self.standing(actor, space)
        return standing[0] if standing else 0

    def sees(self, actor: Actor, row: Row, needed: int = READ) -> bool:
        """Whether somebody may see an entry now, live or in the trash."""
        return self.may(actor, writes=False) and self.knows_of(actor, row, needed)

    def knows_of(self, actor: Actor, row: Row, needed: int = READ) -> bool:
        """The same, but for the rules of their roles, which hide what an entry says, not that it is there."""
        return (
            not row.gone
            and not row.expired(self.now)
            and self.level(actor, row.space) >= needed
            and self.shows(actor, row)
        )

    def shows(self, actor: Actor, row: Row) -> bool:
        """Private rooms of a user's space are their owner's alone."""
        private = row.space.kind == "user" and row.partition in OWNERS_ALONE
        return not private or row.owner == actor.principal

    def sees_own(self, actor: Actor, row: Row) -> bool:
        return self.shows(actor, row) and not row.expired(self.now)

    def own(self, actor: Actor) -> Space:
        return next(space for space in self.spaces if (space.kind, space.ref) == (actor.kind, actor.id))

    def meant(self, actor: Actor, ref: str | None) -> list[Space]:
        """Every space that a reference may name, as far as this caller can name it at all."""
        if ref is None or ref == "~":
            return [self.own(actor)]
        for space in self.spaces:
            if space.id == ref:
                return [space]
        kind, colon, rest = ref.partition(":")
        return [
            space
            for space in self.spaces
            if (f"{space.kind}:{space.ref}" == ref if colon and rest and kind else space.ref == ref)
            and (space.kind != "shared" or self._knows(actor, space))
        ]

    def _knows(self, actor: Actor, space: Space) -> bool:
        return space.owner == actor.principal or any(
            where is space and grantee == actor.principal for where, grantee, _ in self.grants
        )

    def enter(
        self,
        actor: Actor,
        ref: str | None,
        needed: int,
        *,
        writes: bool,
        forgets: bool = False,
        shows: bool = False,
    ) -> Access:
        entered = []
        for space in self.meant(actor, ref):
            try:
                entered.append(
                    self.enter_space(actor, space, needed, writes=writes, forgets=forgets, shows=shows)
                )
            except Refused:
                continue
        if not entered:
            raise Refused("access_denied")
        if len(entered) > 1:
            raise Refused("conflict")
        return entered[0]

    def enter_space(
        self,
        actor: Actor,
        space: Space,
        needed: int,
        *,
        writes: bool,
        forgets: bool = False,
        shows: bool = False,
    ) -> Access:
        """`shows`: a write whose answer shows the entry, which must then be theirs to read."""
        own_data = forgets and space.owner == actor.principal
        allowed = self.may(actor, writes=writes) and (not shows or self.may(actor, writes=False))
        standing = self.standing(actor, space)
        if not (allowed or own_data) or not standing or standing[0] < needed:
            raise Refused("access_denied")
        return space, *standing

    def _may_delete(self, actor: Actor, row: Row, level: int) -> bool:
        if level == MANAGE:
            return True
        return row.owner == actor.principal and level == READWRITE and row.space.kind != "system"

    def _require_delete(self, actor: Actor, row: Row, level: int) -> None:
        if not self._may_delete(actor, row, level):
            raise Refused("access_denied")

    # Finding entries

    def space_of(self, id: str) -> Space | None:
        """Ids of one space differ in their last eight digits."""
        if not is_id(id):
            return None
        return next((space for space in self.spaces if space.id[:-8] == id[:-8]), None)

    def seek(
        self, actor: Actor, target: EntryName, *, writes: bool, forgets: bool = False, shows: bool = False
    ) -> Access:
        needed = READWRITE if writes else READ
        if target.id is None:
            return self.enter(actor, target.ref, needed, writes=writes, forgets=forgets, shows=shows)
        space = self.space_of(target.id)
        if space is None or target.id == space.id:
            raise Refused("not_found")
        try:
            return self.enter_space(actor, space, needed, writes=writes, forgets=forgets, shows=shows)
        except Refused:
            readable = self.may(actor, writes=False) and self.level(actor, space) >= READ
            if writes and readable:
                raise Refused("access_denied") from None
            own = space.owner == actor.principal
            raise Refused("not_found", "access_denied" if own else "") from None

    def live(self, actor: Actor, space: Space, rooms: tuple[str, ...] = ROOMS) -> list[Row]:
        """Newest change first."""
        rows = (row for row in self._shown(actor, space, rooms) if row.trashed_us is None)
        return sorted(rows, key=lambda row: -row.head.seq)

    def in_trash(self, actor: Actor, space: Space, rooms: tuple[str, ...] = ROOMS) -> list[Row]:
        rows = (row for row in self._shown(actor, space, rooms) if row.trashed_us is not None)
        return sorted(rows, key=lambda row: -row.head.seq)

    def _shown(self, actor: Actor, space: Space, rooms: tuple[str, ...]) -> Iterator[Row]:
        for row in self.rows:
            if (
                row.space is space
                and row.partition in rooms
                and not row.expired(self.now)
                and self.shows(actor, row)
            ):
                yield row

    def look_up(self, actor: Actor, space: Space, target: EntryName, rooms: tuple[str, ...] = ROOMS) -> Row:
        """By id, or by key the caller's own, else in the first room, else the newest."""
        found = [row for row in self.live(actor, space, rooms) if _meant(row, target)]
        if not found:
            raise Refused("not_found")
        return min(
            found,
            key=lambda row: (row.owner != actor.principal, row.partition != rooms[0], -row.head.seq),
        )

    def get(self, actor: Actor, target: EntryName, rooms: tuple[str, ...] = ROOMS) -> Row:
        space, _, _ = self.seek(actor, target, writes=False)
        return self.look_up(actor, space, target, rooms)

    def searchable(self, actor: Actor, level: int = SEARCH) -> list[Row]:
        """All that a recall without filters could show; one without words needs more than a search."""
        if not self.may(actor, writes=False):
            raise Refused("access_denied")
        return [
            row
            for space in self.spaces
            if self.level(actor, space) >= level
            for row in self.live(actor, space)
        ]

    def applied(self, actor: Actor) -> list[Row]:
        """What always applies in every space the caller may read."""
        return [
            row
            for space in self.spaces
            if self.level(actor, space) >= READ
            for row in self.live(actor, space)
            if row.head.always
        ]

    def page(self, actor: Actor, space: Space, wanted: Wanted, limit: int) -> tuple[list[Row], Wanted | None]:
        since = self.seq if wanted.since is None else wanted.since
        before = since + 1 if wanted.before is None else wanted.before
        places = {row: row.place(since) for row in self.live(actor, space) if row.born <= since}
        found = sorted(
            (row for row, place in places.items() if place < before and wanted.matches(row)),
            key=lambda row: -places[row],
        )
        if len(found) <= limit:
            return found, None
        return found[:limit], replace(wanted, since=since, before=places[found[limit - 1]])

    def expiring(
        self, actor: Actor, space: Space, wanted: Wanted, within: int, limit: int
    ) -> tuple[list[Row], bool]:
        until = self.now + within * SECOND
        found = [
            row
            for row in self.live(actor, space)
            if row.head.expires_us is not None and row.head.expires_us <= until and wanted.matches(row)
        ]
        found.sort(key=lambda row: (row.head.expires_us, row.head.seq))
        return found[:limit], len(found) > limit

    # Writing: each call checks what needs no transaction and gives what remains to be done in one

    def _next(self) -> int:
        self.seq += 1
        return self.seq

    def _append(self, row: Row, actor: Actor, state: State, change: str) -> Row:
        restores = state.restores if change == "undone" else None
        row.states.append(
            replace(
                state,
                at_us=self.now,
                seq=self._next(),
                by=actor.principal,
                change=change,
                restores=restores,
            )
        )
        self.touched.add(row)
        return row

    def _remove(self, row: Row) -> None:
        self.rows.remove(row)
        row.gone = True
        self.touched.add(row)
        self.receipts = {name: kept for name, kept in self.receipts.items() if kept.row is not row}

    def _free(self, space: Space, row: Row, key: str) -> None:
        """Makes sure that a name is free. What has expired holds no name."""
        holder = self._holder(space, row.owner, row.partition, key)
        if holder is None or holder is row:
            return
        if not holder.expired(self.now):
            raise Refused("conflict")
        self._remove(holder)

    def _holder(self, space: Space, owner: str, partition: str, key: str) -> Row | None:
        return next(
            (
                row
                for row in self.rows
                if row.space is space
                and row.trashed_us is None
                and (row.owner, row.partition, row.head.key) == (owner, partition, key)
            ),
            None,
        )

    def expiry(self, partition: str, ttl: int | None) -> int | None:
        if partition == "facts":
            ttl = ttl or 90 * DAY
            if ttl < HOUR:
                raise Refused("ttl_too_short")
        elif ttl == 0:
            if partition == "notes":
                raise Refused("ttl_too_short")
            ttl = None
        elif ttl is not None and partition in ENDLESS:
            raise Refused("invalid_field")
        return None if ttl is None else self.now + ttl * SECOND

    def remember(
        self, actor: Actor, ref: str | None, partition: str, draft: NoteInput
    ) -> tuple[Space, Callable[[str], Kept]]:
        space, level, _ = self.enter(actor, ref, READWRITE, writes=True)
        if draft.always and not self.may_flag(actor, space, level):
            raise Refused("access_denied")
        expires = self.expiry(partition, draft.ttl)
        old = None
        if draft.supersedes is not None:
            old = self.seek(actor, EntryName(id=draft.supersedes), writes=True)

        def write(made_key: str) -> Kept:
            superseded = None
            if old is not None:
                superseded = self.look_up(actor, old[0], EntryName(id=draft.supersedes), (partition,))
                self._require_delete(actor, superseded, old[1])
            kept = self._put(actor, space, level, partition, draft, expires, made_key)
            if superseded is not None and superseded is not kept.row:
                superseded.trashed_us = self.now
                self.touched.add(superseded)
            return kept

        return space, write

    def _put(
        self,
        actor: Actor,
        space: Space,
        level: int,
        partition: str,
        draft: NoteInput,
        expires: int | None,
        made_key: str,
    ) -> Kept:
        key = made_key if draft.key is None else draft.key
        own = self._holder(space, actor.principal, partition, key)
        fresh = own is None or own.expired(self.now)
        if draft.expected not in (None, 0 if own is None or fresh else own.revision):
            raise Refused("precondition_failed")
        if own is None or fresh:
            if own is not None:
                self._remove(own)
            return self._create(actor, space, partition, key, draft, expires)
        always = own.head.always
        if not self.may_flag(actor, space, level):
            if always or draft.always not in (None, always):
                raise Refused("access_denied")
        elif draft.always is not None:
            always = draft.always
        elif partition in ("facts", "internal"):
            always = False
        self._append(own, actor, self._said_again(own, draft, expires, always), "replaced")
        return Kept(own, False, own.revision, expires)

    def _create(
        self, actor: Actor, space: Space, partition: str, key: str, draft: NoteInput, expires: int | None
    ) -> Kept:
        born = self.seq + 1
        row = Row(space, actor.principal, partition, born, self.now, [])
        default = "user_facts" if partition == "facts" else ""
        state = State(
            key,
            draft.text,
            draft.hint or "",
            draft.category or default,
            draft.tags or (),
            draft.speaker,
            expires,
            bool(draft.always),
        )
        self._append(row, actor, state, "created")
        self.rows.append(row)
        return Kept(row, True, 1, expires)

    def _said_again(self, row: Row, draft: NoteInput, expires: int | None, always: bool) -> State:
        """What is left out stays as it was, but for the expiry; facts and what is kept from models are said anew."""
        old = row.head
        if row.partition in ("facts", "internal"):
            default = "user_facts" if row.partition == "facts" else ""
            old = replace(old, hint="", category=default, tags=(), speaker=None)
        return replace(
            old,
            text=draft.text,
            hint=old.hint if draft.hint is None else draft.hint,
            category=old.category if draft.category is None else draft.category,
            tags=old.tags if draft.tags is None else draft.tags,
            speaker=old.speaker if draft.speaker is None else draft.speaker,
            expires_us=expires,
            always=always,
        )

    def _found(self, actor: Actor, target: EntryName, space: Space, expected: int | None) -> Row:
        row = self.look_up(actor, space, target)
        if expected is not None and expected != row.revision:
            raise Refused("precondition_failed")
        return row

    def edit(
        self, actor: Actor, target: EntryName, changes: Changes, expected: int | None
    ) -> Callable[[], Row]:
        space, level, _ = self.seek(actor, target, writes=True, shows=True)
        if changes.always is not None and not self.may_flag(actor, space, level):
            raise Refused("access_denied")

        def write() -> Row:
            row = self._found(actor, target, space, expected)
            if row.partition == "files" and changes.category not in (None, *TYPES):
                raise Refused("invalid_type")
            if (changes.text, changes.hint) != (None, None):
                self._require_flagging(actor, row, level)
            return self._append(row, actor, self._changed(row, changes), "edited")

        return write

    def _require_flagging(self, actor: Actor, row: Row, level: int) -> None:
        """The words of what always applies are changed by those who could make it apply."""
        if row.head.always and not self.may_flag(actor, row.space, level):
            raise Refused("access_denied")

    def _changed(self, row: Row, changes: Changes) -> State:
        old = row.head
        expires = old.expires_us
        if changes.no_expiry:
            expires = self.expiry(row.partition, None)
        elif changes.ttl is not None:
            expires = self.expiry(row.partition, changes.ttl)
        return replace(
            old,
            text=old.text if changes.text is None else changes.text,
            hint=old.hint if changes.hint is None else changes.hint,
            category=old.category if changes.category is None else changes.category,
            tags=old.tags if changes.tags is None else changes.tags,
            expires_us=expires,
            always=old.always if changes.always is None else changes.always,
        )

    def renew(
        self, actor: Actor, target: EntryName, ttl: int | None, expected: int | None
    ) -> Callable[[], Row]:
        space, _, _ = self.seek(actor, target, writes=True, shows=True)

        def write() -> Row:
            row = self._found(actor, target, space, expected)
            span = ttl
            if span is None:
                if row.head.expires_us is None:
                    raise Refused("invalid_field")
                span = (row.head.expires_us - row.head.at_us) // SECOND
            state = replace(row.head, expires_us=self.expiry(row.partition, span))
            return self._append(row, actor, state, "edited")

        return write

    def replace(
        self, actor: Actor, target: EntryName, old: str, new: str, expected: int | None
    ) -> Callable[[], tuple[Row, int]]:
        space, level, _ = self.seek(actor, target, writes=True, shows=True)

        def write() -> tuple[Row, int]:
            row = self._found(actor, target, space, expected)
            occurrences = row.head.text.count(old)
            if not occurrences:
                raise Refused("edit_no_match")
            self._require_flagging(actor, row, level)
            state = replace(row.head, text=row.head.text.replace(old, new, 1))
            return self._append(row, actor, state, "edited"), occurrences

        return write

    def rename(
        self, actor: Actor, target: EntryName, key: str, to_ref: str | None, expected: int | None
    ) -> Callable[[], Row]:
        space, level, _ = self.seek(actor, target, writes=True, shows=True)
        there, there_level = space, level
        if to_ref is not None:
            there, there_level, _ = self.enter(actor, to_ref, READWRITE, writes=True)

        def write() -> Row:
            row = self._found(actor, target, space, expected)
            if row.partition == "files" and not NAME.fullmatch(key):
                raise Refused("invalid_name")
            if row.partition == "files" and there is not space:
                raise Refused("invalid_field")
            if there is not space:
                self._require_delete(actor, row, level)
                if row.head.always and not self.may_flag(actor, there, there_level):
                    raise Refused("access_denied")
            elif key == row.head.key:
                return row
            else:
                self._require_flagging(actor, row, level)
            self._free(there, row, key)
            renamed = replace(row.head, key=key)
            if there is space:
                return self._append(row, actor, renamed, "renamed")
            return self._move(row, actor, renamed, there)

        return write

    def _move(self, row: Row, actor: Actor, state: State, there: Space) -> Row:
        """With its history and what its owner was answered, under an id of the other space; there it is born now."""
        born = self.seq + 1
        states = [replace(each, seq=born) for each in row.states]
        moved = Row(there, row.owner, row.partition, born, row.created_us, states)
        self.rows.append(moved)
        for (who, key), kept in self.receipts.items():
            if who == row.owner and kept.row is row:
                self.receipts[who, key] = replace(kept, row=moved, moved=True)
        self._remove(row)
        return self._append(moved, actor, state, "renamed")

    def undo(
        self, actor: Actor, target: EntryName, to: int | None, expected: int | None
    ) -> Callable[[], Row]:
        if to is not None and to < 1:
            raise Refused("invalid_field")
        space, level, _ = self.seek(actor, target, writes=True, shows=True)

        def write() -> Row:
            row = self._found(actor, target, space, expected)
            back = (row.head.restores or row.revision) - 1 if to is None else to
            if not 1 <= back < row.revision:
                raise Refused("conflict")
            earlier = row.states[back - 1]
            self._require_flagging(actor, row, level)
            self._free(space, row, earlier.key)
            lapsed = earlier.expires_us is not None and earlier.expires_us <= self.now
            state = replace(
                earlier,
                expires_us=row.head.expires_us if lapsed else earlier.expires_us,
                always=earlier.always if self.may_flag(actor, space, level) else row.head.always,
                restores=back,
            )
            return self._append(row, actor, state, "undone")

        return write

    # Removing

    def trash(self, actor: Actor, target: EntryName, expected: int | None) -> Callable[[], Row]:
        space, level, _ = self.seek(actor, target, writes=True, shows=True)

        def write() -> Row:
            row = self._found(actor, target, space, expected)
            self._require_delete(actor, row, level)
            row.trashed_us = self.now
            self.touched.add(row)
            return row

        return write

    def restore(self, actor: Actor, target: EntryName) -> Callable[[], Row]:
        space, level, _ = self.seek(actor, target, writes=True, shows=True)

        def write() -> Row:
            found = [row for row in self.in_trash(actor, space) if _meant(row, target)]
            found.sort(key=lambda row: (row.trashed_us or 0, row.head.seq), reverse=True)
            if not found:
                raise Refused("not_found")
            row = next((row for row in found if row.owner == actor.principal), found[0])
            self._require_delete(actor, row, level)
            self._free(space, row, row.head.key)
            row.trashed_us = None
            self.touched.add(row)
            return row

        return write

    def purge(self, actor: Actor, target: EntryName, expected: int | None) -> Callable[[], int]:
        space, level, _ = self.seek(actor, target, writes=True)

        def write() -> int:
            rows = self._removable(actor, space, level, target, ROOMS)
            if not rows:
                raise Refused("not_found")
            if expected not in (None, rows[0].revision):
                raise Refused("precondition_failed")
            return self._purge(actor, rows, level)

        return write

    def forget(self, actor: Actor, target: EntryName, rooms: tuple[str, ...]) -> Callable[[], int]:
        """Like purging, but to find nothing is no refusal."""
        try:
            space, level, _ = self.seek(actor, target, writes=True, forgets=True)
        except Refused as refusal:
            if refusal.code != "not_found":
                raise
            return lambda: 0

        def write() -> int:
            return self._purge(actor, self._removable(actor, space, level, target, rooms), level)

        return write

    def _removable(
        self, actor: Actor, space: Space, level: int, target: EntryName, rooms: tuple[str, ...]
    ) -> list[Row]:
        """The live entry meant and, by key, all that was trashed under it, the last first; of these what may be
        removed, if any."""
        try:
            found = [self.look_up(actor, space, target, rooms)]
        except Refused:
            found = []
        trashed = [row for row in self.in_trash(actor, space, rooms) if _meant(row, target)]
        found += sorted(trashed, key=lambda row: (row.trashed_us or 0, row.head.seq), reverse=True)
        found += self._over(actor, space, level, target, rooms)
        return [row for row in found if self._may_delete(actor, row, level)] or found

    def _over(
        self, actor: Actor, space: Space, level: int, target: EntryName, rooms: tuple[str, ...]
    ) -> list[Row]:
        """What has expired and waits for a sweep is there for those alone who may remove it."""
        rows = [
            row
            for row in self.rows
            if row.space is space
            and row.partition in rooms
            and row.expired(self.now)
            and _meant(row, target)
            and self.shows(actor, row)
            and self._may_delete(actor, row, level)
        ]
        return sorted(
            rows, key=lambda row: (row.trashed_us is not None, -(row.trashed_us or 0), -row.head.seq)
        )

    def _purge(self, actor: Actor, rows: list[Row], level: int) -> int:
        for row in rows:
            self._require_delete(actor, row, level)
        for row in rows:
            self._remove(row)
        return len(rows)

    def forget_all(self, actor: Actor) -> tuple[int, int]:
        """Everything in the own space; what lies elsewhere stays and is counted."""
        own = self.own(actor)
        mine = [row for row in self.rows if row.space is own]
        for row in mine:
            self._remove(row)
        self.touched.add(own)
        self.receipts = {
            name: kept
            for name, kept in self.receipts.items()
            if kept.row is None or kept.row.space is not own
        }
        return len(mine), sum(row.owner == actor.principal for row in self.rows)

    def sweep(self) -> tuple[int, int, int]:
        """Expired entries, old trash, lapsed grants."""
        expired = [row for row in self.rows if row.expired(self.now)]
        for row in expired:
            self._remove(row)
        trash = [
            row for row in self.rows if row.trashed_us is not None and row.trashed_us < self.now - TRASH_US
        ]
        for row in trash:
            self._remove(row)
        lapsed = [name for name, given in self.grants.items() if not given.live(self.now)]
        for name in lapsed:
            del self.grants[name]
        old = [name for name, kept in self.receipts.items() if kept.at_us < self.now - RECEIPT_US]
        for receipt in old:
            del self.receipts[receipt]
        return len(expired), len(trash), len(lapsed)

    # Sharing

    def share(
        self, actor: Actor, ref: str | None, grantee: str, level: str, ttl: int | None
    ) -> Callable[[], Given]:
        space, held, why = self.enter(actor, ref, READWRITE, writes=True)
        if level not in LEVELS[1:]:
            raise Refused("invalid_level")
        if grantee in (space.owner, actor.principal):
            raise Refused("invalid_field")
        asked = LEVELS.index(level)
        gives = why in ("self", "grant") or (why == "system" and held == MANAGE)
        if not gives or asked > held:
            raise Refused("access_denied")
        wished = None if not ttl else self.now + ttl * SECOND

        def write() -> Given:
            roots = self._roots(actor, space, why)
            if grantee in roots:
                raise Refused("invalid_field")
            expires = wished
            if why == "grant":
                ends = [given.end for given in self.held(space, actor.principal) if given.level >= held]
                end = min(max(ends), NEVER if wished is None else wished)
                expires = None if end == NEVER else end
            name = space, grantee, actor.principal
            replaces = name in self.grants
            self.grants[name] = given = Given(asked, expires, self.now)
            self.touched.add(space)
            if replaces:
                self._keep_what_stands(space, roots)
            return given

        return write

    def unshare(self, actor: Actor, ref: str | None, grantee: str) -> Callable[[], tuple[int, int]]:
        space, held, why = self.enter(actor, ref, READWRITE, writes=True)

        def write() -> tuple[int, int]:
            roots = self._roots(actor, space, why)
            revoked = [
                name
                for name in self.grants
                if name[0] is space and name[1] == grantee and (held == MANAGE or name[2] == actor.principal)
            ]
            for name in revoked:
                del self.grants[name]
            self.touched.add(space)
            return len(revoked), self._keep_what_stands(space, roots) if revoked else 0

        return write

    def _roots(self, actor: Actor, space: Space, why: str) -> set[str]:
        """Who gives without a grant of their own."""
        if space.owner is not None:
            return {space.owner}
        on = {name: given for name, given in self.grants.items() if name[0] is space}
        roots = {giver for _, _, giver in on} - {
            name[1] for name, given in on.items() if given.live(self.now)
        }
        return roots if why == "grant" else roots | {actor.principal}

    def _keep_what_stands(self, space: Space, roots: set[str]) -> int:
        """A grant stands as long as there is a chain from a root to it of givers who hold its level."""
        live = {
            name: given for name, given in self.grants.items() if name[0] is space and given.live(self.now)
        }
        until = dict.fromkeys(live, 0)
        for _ in range(len(live) + 1):
            for name, given in live.items():
                needed = max(given.level, READWRITE)
                holds = [
                    until[other] for other in live if other[1] == name[2] and live[other].level >= needed
                ]
                chain = NEVER if name[2] in roots else max(holds, default=0)
                until[name] = min(chain, given.end)
        for name, given in live.items():
            if until[name] <= self.now:
                del self.grants[name]
            elif until[name] < given.end:
                self.grants[name] = replace(given, expires_us=until[name])
        return sum(end <= self.now for end in until.values())

    def granted(self, actor: Actor, ref: str | None) -> set[tuple[str, str, str, int | None]]:
        space, _, _ = self.enter(actor, ref, READWRITE, writes=True)
        return {
            (grantee, giver, LEVELS[given.level], given.expires_us)
            for (where, grantee, giver), given in self.grants.items()
            if where is space and given.live(self.now)
        }

    def enterable(self, actor: Actor) -> set[tuple[str, str, str, str, str]]:
        if not self.may(actor, writes=False):
            return set()
        return {
            (space.id, space.kind, space.ref, LEVELS[standing[0]], standing[1])
            for space in self.spaces
            if (standing := self.standing(actor, space))
        }

    def create_space(self, actor: Actor, ref: str) -> Callable[[str], Space]:
        if not self.may(actor, writes=True):
            raise Refused("access_denied")
        if any(
            (space.kind, space.ref, space.owner) == ("shared", ref, actor.principal) for space in self.spaces
        ):
            raise Refused("conflict")

        def write(id: str) -> Space:
            space = Space("shared", ref, actor.principal, id)
            self.spaces.append(space)
            self.touched.add(space)
            return space

        return write

    # Administration

    def require_admin(self, actor: Actor) -> None:
        if not actor.is_admin:
            raise Refused("access_denied")

    def blind(self, actor: Actor) -> set[Space]:
        """Where somebody has no standing at all."""
        return {space for space in self.spaces if not self.standing(actor, space)}

    def hidden(self, actor: Actor, changed: Space | Row) -> bool:
        """Whether nothing that somebody searches, lists or counts may tell of a change."""
        if isinstance(changed, Space):
            return not self.standing(actor, changed)
        kept_back = changed.partition == "internal" or not self.shows(actor, changed)
        return kept_back or not self.standing(actor, changed.space)


def _meant(row: Row, target: EntryName) -> bool:
    return row.id == target.id if target.id is not None else row.head.key == target.key


def is_id(text: str) -> bool:
    return len(text) == 36 and text.count("-") == 4
