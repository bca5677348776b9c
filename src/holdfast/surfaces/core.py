"""The core vocabulary: remember, read, change, remove, undo, share. One shared description of every call: doors take
the signatures and sentences from here. Reads answer at once; writes come back as work to be waited for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from holdfast.domain.access import asks_as_model
from holdfast.domain.context import BUDGET, Context, check_budget
from holdfast.domain.entry import Entry, Revision
from holdfast.domain.errors import InvalidField, NotFound
from holdfast.domain.grant import Grant
from holdfast.domain.limits import check_flag, check_list, check_lookup_key, check_words
from holdfast.domain.partition import MODEL_VISIBLE, Partition
from holdfast.domain.principal import Caller
from holdfast.domain.profile import CORE
from holdfast.domain.retention import Ttl
from holdfast.domain.times import check_moment
from holdfast.operations import edit, read, remove, share, spaces, undo
from holdfast.operations.answers import Forgotten, Hits, Outcome, Page, Remembered, Similar
from holdfast.operations.ask import Ask, check_question
from holdfast.operations.build_context import build_context
from holdfast.operations.draft import Asked, Draft
from holdfast.operations.edit import Changes, Edited, Replaced
from holdfast.operations.engine import Engine
from holdfast.operations.index import IndexStatus
from holdfast.operations.read import Listing
from holdfast.operations.resolve import Target
from holdfast.operations.share import Unshared
from holdfast.operations.spaces import SpaceInfo
from holdfast.operations.verify_audit import Reading, readers
from holdfast.operations.work import Steps, Work, Write
from holdfast.surfaces.asking import ask_to_apply, forgetting, sharing, unsharing
from holdfast.surfaces.many import not_kept, profile_of, remember_many
from holdfast.surfaces.seat import (
    Seat,
    SpaceId,
    filter_of,
    key_of,
    remembering,
    space_of,
    tags_of,
)

if TYPE_CHECKING:
    from holdfast.operations.why_not import WhyNot

Revisions = list[Revision]
Grants = list[Grant]
Similars = list[Similar]
Spaces = list[SpaceInfo]
Outcomes = list[Outcome]
Ids = list[UUID]
Readings = list[Reading]

_tuple = tuple.__new__
"""Makes a named tuple without the function Python puts before it, at half its price."""
_ROOMS = {partition.label: partition for partition in MODEL_VISIBLE}


class CoreCalls:
    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    def remember(
        self,
        text: str,
        *,
        key: str | None = None,
        hint: str | None = None,
        space: SpaceId = None,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        ttl: Ttl = None,
        always_inject: bool | None = None,
        in_context: bool = True,
        encrypted: bool = False,
        conversation: str | None = None,
        speaker: str | None = None,
        at: datetime | str | None = None,
        supersedes: str | UUID | None = None,
        source: str | None = None,
        derived_from: Iterable[str | UUID] | None = None,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Work[Remembered]:
        """Keeps a memory. The same key again appends a revision: what is left out stays as it was, but for the time to
        live, which is what this call says (none unless given). What it `supersedes` (an id) goes to the trash with it.
        The answer's `similar` lists memories that say nearly the same, its `advice` what is doubtful about the text.
        Words of a tool or an import (`source`), or `derived_from` such, that speak to the model are quarantined."""
        namespace = ""
        labels = None if tags is None else tags_of(tags)
        said = (
            text, key, hint, category, labels, ttl, always_inject, encrypted, namespace, conversation, speaker, at,
            expected_revision, idempotency_key, supersedes, source,
            None if derived_from is None else check_list("derived_from", derived_from),
        )  # fmt: skip
        draft: Draft = _tuple(Draft, said)
        where = None if space is None else space_of(space)
        profile = CORE if in_context is True else profile_of(in_context)
        if always_inject and where is not None and not self._seat.is_off and asks_as_model(self._seat.caller):
            return ask_to_apply(self._seat, where, draft)
        near = partial(_similar_to, self._seat) if in_context else None
        asked: Asked = _tuple(Asked, (profile, where, draft))
        return remembering(self._seat, asked, near)

    def remember_many(self, entries: Iterable[Mapping[str, Any]]) -> Steps[Outcomes]:
        """Keeps many memories, given as the keyword arguments of remember(); one outcome a row, in order. When the
        store fails on the way, the outcomes of what was kept come first and those of all other rows hold the error."""
        seat, rows = self._seat, check_list("entries", entries)
        return Steps(lambda: remember_many(seat, rows), off=lambda: [not_kept(seat, row) for row in rows])

    def get(
        self,
        key: str | None = None,
        *,
        id: str | UUID | None = None,
        space: SpaceId = None,
        in_context: bool = True,
    ) -> Entry:
        """One memory by key or id; NotFound when there is none the caller may see. `in_context=False` reads one of
        those that are kept from models."""
        seat, rooms = self._seat, MODEL_VISIBLE if in_context is True else _rooms(in_context)
        if id is not None and key is None and space is None:
            return read.get_by_id(seat.engine, seat.caller, id, rooms)
        if id is not None or key is None:
            return read.get(seat.engine, seat.caller, _target(key, id, space, rooms))
        key, where = check_lookup_key(key), None if space is None else space_of(space)
        return read.get_by_key(seat.engine, seat.caller, key, where, rooms)

    def list(
        self,
        prefix: str = "",
        *,
        space: SpaceId = None,
        partition: str | None = None,
        category: str | None = None,
        tag: str | None = None,
        expiring_within: int | timedelta | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page:
        """Memories, newest change first; `prefix` is taken literally; `cursor` of a page gives the next."""
        listing = Listing(
            partitions=_partitions(partition),
            space=space_of(space),
            wanted=filter_of(prefix, category, tag),
            limit=limit,
            cursor=cursor,
            expiring_within=expiring_within,
        )
        seat = self._seat
        if seat.is_off:
            return Page(note=seat.reason)
        return read.list_entries(seat.engine, seat.caller, listing)

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        spaces: Iterable[SpaceId] | None = None,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        explain: bool = False,
    ) -> Hits:
        """The memories that answer a question, best first, over every space the caller may search. All filters must
        hold; an empty query gives the newest of what they may read. `explain` adds every part of each score."""
        seat, ask = self._seat, _ask(query, limit, spaces, category, tags, since, until, explain)
        if seat.is_off:
            return Hits(note=seat.reason, off=True)
        from holdfast.operations.recall import recall  # numpy, which keeping and reading need not wait for

        return recall(seat.engine, seat.caller, ask)

    def why_not(
        self,
        query: str,
        id: str | UUID,
        *,
        limit: int = 10,
        spaces: Iterable[SpaceId] | None = None,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> WhyNot:
        """Which stage of the same recall dropped an entry, and what would have to change."""
        seat, ask = self._seat, _ask(query, limit, spaces, category, tags, since, until, False)
        engine = seat.engine
        from holdfast.operations.why_not import why_not

        return why_not(engine, seat.caller, ask, id)

    def context(self, *, budget: int = BUDGET) -> Context:
        """Text for a prompt: what always applies, the index of files and a summary, quoted as data inside a fence,
        within a budget of tokens. It stays the same, byte for byte, until what it shows changes."""
        seat, tokens = self._seat, check_budget(budget)
        if seat.is_off:
            return Context("", note=seat.reason)
        return build_context(seat.engine, seat.caller, tokens)

    def similar(
        self,
        key: str | None = None,
        *,
        id: str | UUID | None = None,
        space: SpaceId = None,
        limit: int = 5,
    ) -> Similars:
        """Memories that say nearly the same as one, with what keeps them apart; nothing is merged."""
        return _similar(self._seat, _target(key, id, space), limit)

    def history(
        self,
        key: str | None = None,
        *,
        id: str | UUID | None = None,
        space: SpaceId = None,
        limit: int = 100,
        before: int | None = None,
    ) -> Revisions:
        """Every state of a memory, the present one first; `before` a revision goes on from there."""
        seat, target = self._seat, _target(key, id, space)
        return read.history(seat.engine, seat.caller, target, limit, before)

    def readers(
        self,
        key: str | None = None,
        *,
        id: str | UUID | None = None,
        space: SpaceId = None,
        limit: int = 100,
    ) -> Readings:
        """Who was shown a memory, how and when, newest first: for its owner alone."""
        seat, target = self._seat, _target(key, id, space)
        return readers(seat.engine, seat.caller, target, limit)

    def edit(
        self,
        key: str | None = None,
        *,
        id: str | UUID | None = None,
        space: SpaceId = None,
        text: str | None = None,
        hint: str | None = None,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        ttl: Ttl = None,
        no_expiry: bool = False,
        always_inject: bool | None = None,
        expected_revision: int | None = None,
    ) -> Write[Edited]:
        """Changes fields of a memory; what is left out stays. A ttl counts from now; `no_expiry` takes one away. The
        answer's `advice` tells what is doubtful about changed words."""
        if always_inject is not None:
            check_flag("always_inject", always_inject)
        changes = Changes(
            text,
            hint,
            category,
            tags_of(tags),
            ttl,
            check_flag("no_expiry", no_expiry),
            always_inject,
            expected_revision,
        )
        seat, target = self._seat, _target(key, id, space)
        return Write(lambda: edit.edit(seat.engine, seat.caller, target, changes))

    def replace(
        self,
        key: str | None = None,
        *,
        old: str,
        new: str,
        id: str | UUID | None = None,
        space: SpaceId = None,
        expected_revision: int | None = None,
    ) -> Write[Replaced]:
        """Replaces the first occurrence of a passage and says how often it had occurred."""
        seat, target = self._seat, _target(key, id, space)
        return Write(lambda: edit.replace_text(seat.engine, seat.caller, target, old, new, expected_revision))

    def rename(
        self,
        key: str | None = None,
        *,
        new_key: str,
        id: str | UUID | None = None,
        space: SpaceId = None,
        to_space: SpaceId = None,
        expected_revision: int | None = None,
    ) -> Write[Entry]:
        """Gives a memory another key, or moves it to another space, in one step with its history."""
        seat, target = self._seat, _target(key, id, space)
        return Write(
            lambda: edit.rename(
                seat.engine, seat.caller, target, new_key, space_of(to_space), expected_revision
            )
        )

    def flag(
        self,
        key: str | None = None,
        *,
        always_inject: bool,
        id: str | UUID | None = None,
        space: SpaceId = None,
    ) -> Write[Edited]:
        """Turns always-apply on or off, which needs manage."""
        return self.edit(key, id=id, space=space, always_inject=always_inject)

    def renew(
        self,
        key: str | None = None,
        *,
        id: str | UUID | None = None,
        space: SpaceId = None,
        ttl: Ttl = None,
        expected_revision: int | None = None,
    ) -> Write[Entry]:
        """Lets a memory that expires live on: for `ttl` from now, or as long again as it was given last."""
        seat, target = self._seat, _target(key, id, space)
        return Write(lambda: edit.renew(seat.engine, seat.caller, target, ttl, expected_revision))

    def undo(
        self,
        key: str | None = None,
        *,
        id: str | UUID | None = None,
        space: SpaceId = None,
        to_revision: int | None = None,
        expected_revision: int | None = None,
    ) -> Write[Entry]:
        """Brings back the state before the last change, or a given revision; undoing again goes further back."""
        seat, target = self._seat, _target(key, id, space)
        return Write(lambda: undo.undo(seat.engine, seat.caller, target, to_revision, expected_revision))

    def trash(
        self,
        key: str | None = None,
        *,
        id: str | UUID | None = None,
        space: SpaceId = None,
        expected_revision: int | None = None,
    ) -> Write[Entry]:
        """Puts a memory into the trash, where it stays restorable for 30 days."""
        seat, target = self._seat, _target(key, id, space)
        return Write(lambda: remove.trash(seat.engine, seat.caller, target, expected_revision))

    def trashed(self, *, space: SpaceId = None, limit: int = 100, cursor: str | None = None) -> Page:
        """What lies in the trash."""
        seat, listing = self._seat, Listing(MODEL_VISIBLE, space_of(space), limit=limit, cursor=cursor)
        if seat.is_off:
            return Page(note=seat.reason)
        return read.list_trash(seat.engine, seat.caller, listing)

    def locked(self, *, space: SpaceId = None) -> Ids:
        """Ids of entries that cannot be opened (their key is not configured, or the file was changed); `forget("id:…")`
        removes them."""
        seat, where = self._seat, space_of(space)
        return [] if seat.is_off else read.list_locked(seat.engine, seat.caller, where)

    def restore(
        self, key: str | None = None, *, id: str | UUID | None = None, space: SpaceId = None
    ) -> Write[Entry]:
        """Brings a memory back from the trash, the last one trashed under its key."""
        seat, target = self._seat, _target(key, id, space)
        return Write(lambda: remove.restore(seat.engine, seat.caller, target))

    def purge(
        self,
        key: str | None = None,
        *,
        id: str | UUID | None = None,
        space: SpaceId = None,
        expected_revision: int | None = None,
    ) -> Write[int]:
        """Removes one memory for good: rows, revisions, index terms, every byte."""
        seat, target = self._seat, _target(key, id, space)
        return Write(lambda: remove.purge(seat.engine, seat.caller, target, expected_revision))

    def forget(self, scope: str) -> Work[Forgotten]:
        """Forgets for good: `all`, `key:K`, `id:ID`, `pack:ID`, `pipeline:ID`, `packs` or `pipelines`."""
        return forgetting(self._seat, "core.forget", scope, MODEL_VISIBLE)

    def share(
        self, grantee: str, *, space: SpaceId = None, level: str = "read", ttl: Ttl = None
    ) -> Work[Grant]:
        """Lets `kind:id` (a bare id is an agent) into a space at search, read, readwrite or manage. A model only
        proposes it."""
        return sharing(self._seat, space_of(space), grantee, level, ttl)

    def unshare(self, grantee: str, *, space: SpaceId = None) -> Work[Unshared]:
        """Takes a grant back, and every re-share that stood on it. A model only proposes it."""
        return unsharing(self._seat, space_of(space), grantee)

    def grants(self, *, space: SpaceId = None) -> Grants:
        """Who has been let into a space."""
        seat = self._seat
        return share.grants_on(seat.engine, seat.caller, space_of(space))

    def spaces(self) -> Spaces:
        """Every space the caller can enter, with level and source."""
        seat = self._seat
        return [] if seat.is_off else spaces.list_spaces(seat.engine, seat.caller)

    def create_space(self, ref: str) -> Write[SpaceInfo]:
        """Makes a space of the caller's own that can be shared."""
        seat = self._seat
        return Write(lambda: spaces.create_space(seat.engine, seat.caller, ref))

    def index(self) -> IndexStatus:
        """How far recall's index is: which model serves, and what of the caller's own still waits for its vector."""
        seat = self._seat
        return IndexStatus(0, None, note=seat.reason) if seat.is_off else _index(seat.engine, seat.caller)


def _index(engine: Engine, caller: Caller) -> IndexStatus:
    """An administrator sees what waits in the whole store; others must not learn how busy their neighbours are."""
    return engine.index.status() if caller.is_admin else engine.index.status(caller.principal)


def _similar(seat: Seat, target: Target, limit: int = 5) -> Similars:
    engine = seat.engine
    from holdfast.operations.similar import similar

    return similar(engine, seat.caller, target, limit)


def _similar_to(seat: Seat, id: UUID) -> Similars:
    try:
        return _similar(seat, _target(None, id, None))
    except NotFound:
        return []  # gone again already


def _target(
    key: str | None, id: str | UUID | None, space: SpaceId, rooms: tuple[Partition, ...] = MODEL_VISIBLE
) -> Target:
    return Target(key_of(key), id, space_of(space), "", rooms)


def _rooms(in_context: object) -> tuple[Partition, ...]:
    return MODEL_VISIBLE if check_flag("in_context", in_context) else (Partition.INTERNAL,)


def _ask(
    query: str,
    limit: int,
    spaces: Iterable[SpaceId] | None,
    category: str | None,
    tags: Iterable[str] | None,
    since: datetime | str | None,
    until: datetime | str | None,
    explain: bool,
) -> Ask:
    return Ask(
        check_question(query),
        MODEL_VISIBLE,
        limit,
        None if spaces is None else tuple(space_of(space) for space in check_list("spaces", spaces)),
        None if category is None else check_words("category", category),
        tuple(check_words("tag", tag) for tag in tags_of(tags) or ()),
        None if since is None else check_moment("since", since),
        None if until is None else check_moment("until", until),
        check_flag("explain", explain),
    )


def _partitions(name: str | None) -> tuple[Partition, ...]:
    if name is None:
        return MODEL_VISIBLE
    if not isinstance(name, str) or name not in _ROOMS:
        raise InvalidField(f"A partition is one of {', '.join(_ROOMS)}.")
    return (_ROOMS[name],)
