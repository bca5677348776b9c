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
from holdfast.operations.ask import Ask, check_question
from holdfast.operations.audit import Reading, readers
from holdfast.operations.authorize import EntryName
from holdfast.operations.build_context import build_context
from holdfast.operations.edit import Changes, Edited, Replaced
from holdfast.operations.engine import Engine
from holdfast.operations.notes import Asked, NoteInput
from holdfast.operations.read import Listing
from holdfast.operations.results import Forgotten, Hits, Outcome, Page, Remembered, Similar
from holdfast.operations.share import Unshared
from holdfast.operations.spaces import SpaceInfo
from holdfast.operations.work import Steps, Work, Write
from holdfast.recall.index import IndexStatus
from holdfast.vocabularies.approvals import ask_to_apply, forgetting, sharing, unsharing
from holdfast.vocabularies.remember_many import not_kept, profile_of, remember_many
from holdfast.vocabularies.session import Session, SpaceId, filter_of, key_of, remembering, space_of, tags_of

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
    def __init__(self, session: Session) -> None:
        self._session = session

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
        draft: NoteInput = _tuple(NoteInput, said)
        where = None if space is None else space_of(space)
        profile = CORE if in_context is True else profile_of(in_context)
        if (
            always_inject
            and where is not None
            and not self._session.is_off
            and asks_as_model(self._session.caller)
        ):
            return ask_to_apply(self._session, where, draft)
        near = partial(_similar_to, self._session) if in_context else None
        asked: Asked = _tuple(Asked, (profile, where, draft))
        return remembering(self._session, asked, near)

    def remember_many(self, entries: Iterable[Mapping[str, Any]]) -> Steps[Outcomes]:
        """Keeps many memories, given as the keyword arguments of remember(); one outcome a row, in order. When the
        store fails on the way, the outcomes of what was kept come first and those of all other rows hold the error."""
        session, rows = self._session, check_list("entries", entries)
        return Steps(
            lambda: remember_many(session, rows), off=lambda: [not_kept(session, row) for row in rows]
        )

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
        session, rooms = self._session, MODEL_VISIBLE if in_context is True else _rooms(in_context)
        if id is not None and key is None and space is None:
            return read.get_by_id(session.engine, session.caller, id, rooms)
        if id is not None or key is None:
            return read.get(session.engine, session.caller, _target(key, id, space, rooms))
        key, where = check_lookup_key(key), None if space is None else space_of(space)
        return read.get_by_key(session.engine, session.caller, key, where, rooms)

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
        session = self._session
        if session.is_off:
            return Page(note=session.reason)
        return read.list_entries(session.engine, session.caller, listing)

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
        session, ask = self._session, _ask(query, limit, spaces, category, tags, since, until, explain)
        if session.is_off:
            return Hits(note=session.reason, off=True)
        from holdfast.operations.recall import recall  # numpy, which keeping and reading need not wait for

        return recall(session.engine, session.caller, ask)

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
        session, ask = self._session, _ask(query, limit, spaces, category, tags, since, until, False)
        engine = session.engine
        from holdfast.operations.why_not import why_not

        return why_not(engine, session.caller, ask, id)

    def context(self, *, budget: int = BUDGET) -> Context:
        """Text for a prompt: what always applies, the index of files and a summary, quoted as data inside a fence,
        within a budget of tokens. It stays the same, byte for byte, until what it shows changes."""
        session, tokens = self._session, check_budget(budget)
        if session.is_off:
            return Context("", note=session.reason)
        return build_context(session.engine, session.caller, tokens)

    def similar(
        self,
        key: str | None = None,
        *,
        id: str | UUID | None = None,
        space: SpaceId = None,
        limit: int = 5,
    ) -> Similars:
        """Memories that say nearly the same as one, with what keeps them apart; nothing is merged."""
        return _similar(self._session, _target(key, id, space), limit)

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
        session, target = self._session, _target(key, id, space)
        return read.history(session.engine, session.caller, target, limit, before)

    def readers(
        self,
        key: str | None = None,
        *,
        id: str | UUID | None = None,
        space: SpaceId = None,
        limit: int = 100,
    ) -> Readings:
        """Who was shown a memory, how and when, newest first: for its owner alone."""
        session, target = self._session, _target(key, id, space)
        return readers(session.engine, session.caller, target, limit)

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
        session, target = self._session, _target(key, id, space)
        return Write(lambda: edit.edit(session.engine, session.caller, target, changes))

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
        session, target = self._session, _target(key, id, space)
        return Write(
            lambda: edit.replace_text(session.engine, session.caller, target, old, new, expected_revision)
        )

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
        session, target = self._session, _target(key, id, space)
        return Write(
            lambda: edit.rename(
                session.engine, session.caller, target, new_key, space_of(to_space), expected_revision
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
        session, target = self._session, _target(key, id, space)
        return Write(lambda: edit.renew(session.engine, session.caller, target, ttl, expected_revision))

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
        session, target = self._session, _target(key, id, space)
        return Write(
            lambda: undo.undo(session.engine, session.caller, target, to_revision, expected_revision)
        )

    def trash(
        self,
        key: str | None = None,
        *,
        id: str | UUID | None = None,
        space: SpaceId = None,
        expected_revision: int | None = None,
    ) -> Write[Entry]:
        """Puts a memory into the trash, where it stays restorable for 30 days."""
        session, target = self._session, _target(key, id, space)
        return Write(lambda: remove.trash(session.engine, session.caller, target, expected_revision))

    def trashed(self, *, space: SpaceId = None, limit: int = 100, cursor: str | None = None) -> Page:
        """What lies in the trash."""
        session, listing = self._session, Listing(MODEL_VISIBLE, space_of(space), limit=limit, cursor=cursor)
        if session.is_off:
            return Page(note=session.reason)
        return read.list_trash(session.engine, session.caller, listing)

    def locked(self, *, space: SpaceId = None) -> Ids:
        """Ids of entries that cannot be opened (their key is not configured, or the file was changed); `forget("id:…")`
        removes them."""
        session, where = self._session, space_of(space)
        return [] if session.is_off else read.list_locked(session.engine, session.caller, where)

    def restore(
        self, key: str | None = None, *, id: str | UUID | None = None, space: SpaceId = None
    ) -> Write[Entry]:
        """Brings a memory back from the trash, the last one trashed under its key."""
        session, target = self._session, _target(key, id, space)
        return Write(lambda: remove.restore(session.engine, session.caller, target))

    def purge(
        self,
        key: str | None = None,
        *,
        id: str | UUID | None = None,
        space: SpaceId = None,
        expected_revision: int | None = None,
    ) -> Write[int]:
        """Removes one memory for good: rows, revisions, index terms, every byte."""
        session, target = self._session, _target(key, id, space)
        return Write(lambda: remove.purge(session.engine, session.caller, target, expected_revision))

    def forget(self, scope: str) -> Work[Forgotten]:
        """Forgets for good: `all`, `key:K`, `id:ID`, `pack:ID`, `pipeline:ID`, `packs` or `pipelines`."""
        return forgetting(self._session, "core.forget", scope, MODEL_VISIBLE)

    def share(
        self, grantee: str, *, space: SpaceId = None, level: str = "read", ttl: Ttl = None
    ) -> Work[Grant]:
        """Lets `kind:id` (a bare id is an agent) into a space at search, read, readwrite or manage. A model only
        proposes it."""
        return sharing(self._session, space_of(space), grantee, level, ttl)

    def unshare(self, grantee: str, *, space: SpaceId = None) -> Work[Unshared]:
        """Takes a grant back, and every re-share that stood on it. A model only proposes it."""
        return unsharing(self._session, space_of(space), grantee)

    def grants(self, *, space: SpaceId = None) -> Grants:
        """Who has been let into a space."""
        session = self._session
        return share.grants_on(session.engine, session.caller, space_of(space))

    def spaces(self) -> Spaces:
        """Every space the caller can enter, with level and source."""
        session = self._session
        return [] if session.is_off else spaces.list_spaces(session.engine, session.caller)

    def create_space(self, ref: str) -> Write[SpaceInfo]:
        """Makes a space of the caller's own that can be shared."""
        session = self._session
        return Write(lambda: spaces.create_space(session.engine, session.caller, ref))

    def index(self) -> IndexStatus:
        """How far recall's index is: which model serves, and what of the caller's own still waits for its vector."""
        session = self._session
        return (
            IndexStatus(0, None, note=session.reason)
            if session.is_off
            else _index(session.engine, session.caller)
        )


def _index(engine: Engine, caller: Caller) -> IndexStatus:
    """An administrator sees what waits in the whole store; others must not learn how busy their neighbours are."""
    return engine.index.status() if caller.is_admin else engine.index.status(caller.principal)


def _similar(session: Session, target: EntryName, limit: int = 5) -> Similars:
    engine = session.engine
    from holdfast.operations.similar import similar

    return similar(engine, session.caller, target, limit)


def _similar_to(session: Session, id: UUID) -> Similars:
    try:
        return _similar(session, _target(None, id, None))
    except NotFound:
        return []  # gone again already


def _target(
    key: str | None, id: str | UUID | None, space: SpaceId, rooms: tuple[Partition, ...] = MODEL_VISIBLE
) -> EntryName:
    return EntryName(key_of(key), id, space_of(space), "", rooms)


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
