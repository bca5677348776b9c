"""The core vocabulary: remember, read, change, remove, undo, share. REST, clients, MCP and the command line take
signatures and sentences from here. Reads answer at once; writes return a job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from holdfast.contracts.storage import Job, LongJob, Result
from holdfast.domain.access import asks_as_model
from holdfast.domain.context import BUDGET, Context, check_budget
from holdfast.domain.entry import Entry, Revision
from holdfast.domain.errors import (
    InvalidField,
    MissingField,
)
from holdfast.domain.limits import check_flag, check_label, check_list
from holdfast.domain.partition import MODEL_VISIBLE, Partition
from holdfast.domain.retention import Ttl
from holdfast.operations import edit, read, remove, undo
from holdfast.operations.audit import Reading, readers
from holdfast.operations.authorize import EntryName
from holdfast.operations.build_context import build_context
from holdfast.operations.edit import Changes, Edited, Replaced
from holdfast.operations.notes import NoteInput
from holdfast.operations.read import Listing
from holdfast.operations.remember import not_kept, remember
from holdfast.operations.results import Forgotten, Hits, Outcome, Page, Remembered, Similar, WhyNot
from holdfast.recall.index import IndexStatus
from holdfast.vocabularies import answers, fields
from holdfast.vocabularies.approvals import forget_scope, propose_pin
from holdfast.vocabularies.call import Vocabulary, call, call_of, with_key, with_key_each
from holdfast.vocabularies.entries import ENTRY, HITS, PAGE, REVISIONS, SIMILARS
from holdfast.vocabularies.fields import Field, Kind, PartitionName, SourceName
from holdfast.vocabularies.inputs import (
    SpaceId,
    lookup_key,
    not_kept_row,
    page_filter,
    profile_of,
    recall_request,
    remember_rows,
    space_id,
    tag_list,
)
from holdfast.vocabularies.rules import TEXT_OR_DATA

Revisions = list[Revision]
Similars = list[Similar]
Outcomes = list[Outcome]
Ids = list[UUID]
Readings = list[Reading]


def row_fields() -> tuple[Field, ...]:
    """The fields of one row of `remember_many`."""
    key = Field("This row is done once, however often it is sent.").at("idempotency_key", str)
    described = call_of(CoreCalls.remember).fields
    return (*(field for field in described if field.name != "similar"), key)


def rows_field() -> Field:
    """Made once `remember` is described, because a row takes its fields."""
    return Field(
        "What `remember` takes, once for each memory; a row may have an `idempotency_key`.",
        [{"text": "Deploys go through Konflux"}],
        missing=MissingField,
        of=row_fields(),
    )


class CoreCalls(Vocabulary):
    @call(answers.REMEMBERED, writes=True, slow="similar", rules=TEXT_OR_DATA, repeat=with_key)
    def remember(
        self,
        text: Annotated[str, fields.DATA, fields.TEXT],
        *,
        key: Annotated[str | None, fields.OWN_KEY] = None,
        hint: Annotated[str | None, fields.HINT] = None,
        space: Annotated[SpaceId, fields.SPACE] = None,
        category: Annotated[str | None, fields.CATEGORY] = None,
        tags: Annotated[Iterable[str] | None, fields.TAGS] = None,
        ttl: Annotated[Ttl, fields.TTL] = None,
        always_inject: Annotated[bool | None, fields.ALWAYS] = None,
        in_context: Annotated[bool, fields.IN_CONTEXT] = True,
        encrypted: Annotated[bool, Field("The client encrypted it: kept as it is, never indexed.")] = False,
        conversation: Annotated[str | None, fields.CONVERSATION] = None,
        speaker: Annotated[str | None, Field("Who said it.", "Alice", bounds=fields.LINE)] = None,
        at: Annotated[datetime | str | None, Field("When it was said.", "2026-05-08T14:00:00Z")] = None,
        supersedes: Annotated[str | UUID | None, fields.SUPERSEDES] = None,
        source: Annotated[SourceName | None, fields.SOURCE] = None,
        derived_from: Annotated[Iterable[str | UUID] | None, fields.DERIVED_FROM] = None,
        expected_revision: Annotated[int | None, fields.REVISION] = None,
        idempotency_key: str | None = None,
        namespace: Annotated[str, fields.NAMESPACE] = "",
        similar: Annotated[bool, Field("True: the answer lists memories that say nearly the same.")] = False,
    ) -> Result[Remembered]:
        """Keeps a memory. The same key again appends a revision: what is left out stays as it was, but for the time to
        live, which is what this call says (none unless given). What it `supersedes` (an id) goes to the trash with it.
        With `similar` the answer lists memories that say nearly the same; its `advice` is what is doubtful about the
        text. Words of a tool or an import (`source`), or `derived_from` such, that speak to the model are
        quarantined."""
        session = self._session
        arguments = NoteInput(
            text=text,
            key=key,
            hint=hint,
            category=category,
            tags=tag_list(tags),
            ttl=ttl,
            always_inject=always_inject,
            encrypted=encrypted,
            namespace=namespace,
            conversation=conversation,
            speaker=speaker,
            at=at,
            expected_revision=expected_revision,
            idempotency_key=idempotency_key,
            supersedes=supersedes,
            source=source,
            derived_from=None if derived_from is None else check_list("derived_from", derived_from),
        )
        space, profile = space_id(space), profile_of(in_context)
        near = check_flag("similar", similar)
        if session.is_off:
            return not_kept(session, profile, arguments)
        if always_inject and space is not None and asks_as_model(session.caller):
            return propose_pin(session, space, arguments)
        return remember(session, profile, space, arguments, similar=near)

    @call(answers.OUTCOMES, writes=True, repeat=with_key_each)
    def remember_many(
        self, entries: Annotated[Iterable[Mapping[str, Any]], rows_field()]
    ) -> Result[Outcomes]:
        """Keeps many memories, given as the keyword arguments of remember(); one outcome per row, in order. When the
        store fails on the way, the outcomes of what was kept come first and those of all other rows hold the error."""
        session, rows = self._session, check_list("entries", entries)
        if session.is_off:
            return [not_kept_row(session, row) for row in rows]
        return LongJob(lambda: remember_rows(session, rows))

    @call(ENTRY)
    def get(
        self,
        key: Annotated[str | None, fields.KEY] = None,
        *,
        id: Annotated[str | UUID | None, fields.ID] = None,
        space: Annotated[SpaceId, fields.SPACE] = None,
        in_context: Annotated[bool, fields.IN_CONTEXT] = True,
        namespace: Annotated[str, fields.NAMESPACE] = "",
    ) -> Entry:
        """One memory by key or id; NotFound when there is none the caller may see. `in_context=False` reads one of
        those that are kept from models."""
        partitions = MODEL_VISIBLE if check_flag("in_context", in_context) else (Partition.INTERNAL,)
        return read.get(self._session, self._name(key, id, space, namespace, partitions))

    @call(PAGE)
    def list(
        self,
        prefix: Annotated[str, Field("What keys begin with, literally.", "konflux/")] = "",
        *,
        space: Annotated[SpaceId, fields.SPACE] = None,
        partition: Annotated[PartitionName | None, fields.PARTITION] = None,
        category: Annotated[str | None, fields.IN_CATEGORY] = None,
        tag: Annotated[str | None, Field("One tag.", "deploy")] = None,
        expiring_within: Annotated[int | timedelta | None, fields.EXPIRING] = None,
        limit: Annotated[int, fields.LIMIT] = 100,
        cursor: Annotated[str | None, fields.CURSOR] = None,
        namespace: Annotated[str, fields.NAMESPACE] = "",
    ) -> Page:
        """Memories, newest change first; `prefix` is taken literally; `cursor` of a page gives the next."""
        listing = Listing(
            partitions=_partitions(partition),
            space=space_id(space),
            matching=page_filter(prefix, category, tag, self._label(namespace)),
            limit=limit,
            cursor=cursor,
            expiring_within=expiring_within,
        )
        session = self._session
        if session.is_off:
            return Page(note=session.reason)
        return read.list_entries(session, listing)

    @call(HITS, slow=True)
    def recall(
        self,
        query: Annotated[str, fields.QUESTION],
        *,
        limit: Annotated[int, fields.LIMIT] = 10,
        spaces: Annotated[Iterable[SpaceId] | None, fields.IN_SPACES] = None,
        category: Annotated[str | None, fields.IN_CATEGORY] = None,
        tags: Annotated[Iterable[str] | None, fields.WITH_TAGS] = None,
        since: Annotated[datetime | str | None, fields.SINCE] = None,
        until: Annotated[datetime | str | None, fields.UNTIL] = None,
        explain: Annotated[bool, Field("Add every part of each score.")] = False,
        namespace: Annotated[str, fields.ONLY_NAMESPACE] = "",
    ) -> Hits:
        """The memories that answer a question, best first, over every space the caller may search. All filters must
        hold; an empty query gives the newest of what they may read. `explain` adds every part of each score."""
        session, label = self._session, self._label(namespace)
        ask = recall_request(query, limit, spaces, category, tags, since, until, explain, label)
        if session.is_off:
            return Hits(note=session.reason, off=True)
        from holdfast.operations.recall import recall  # numpy, which keeping and reading need not wait for

        return recall(session, ask)

    @call(answers.WHY_NOT, slow=True)
    def why_not(
        self,
        query: Annotated[str, fields.QUESTION],
        id: Annotated[str | UUID, fields.NOT_SHOWN],
        *,
        limit: Annotated[int, fields.LIMIT] = 10,
        spaces: Annotated[Iterable[SpaceId] | None, fields.IN_SPACES] = None,
        category: Annotated[str | None, fields.IN_CATEGORY] = None,
        tags: Annotated[Iterable[str] | None, fields.WITH_TAGS] = None,
        since: Annotated[datetime | str | None, fields.SINCE] = None,
        until: Annotated[datetime | str | None, fields.UNTIL] = None,
        namespace: Annotated[str, fields.ONLY_NAMESPACE] = "",
    ) -> WhyNot:
        """Which stage of the same recall dropped an entry, and what would have to change."""
        session, label = self._session, self._label(namespace)
        ask = recall_request(query, limit, spaces, category, tags, since, until, namespace=label)
        from holdfast.operations.recall import why_not  # numpy, as above

        return why_not(session, ask, id)

    @call(answers.CONTEXT, slow=True)
    def context(self, *, budget: Annotated[int, fields.TOKENS] = BUDGET) -> Context:
        """Text for a prompt: what always applies, the index of files and a summary, quoted as data inside a fence,
        within a budget of tokens. It stays the same, byte for byte, until what it shows changes."""
        session, tokens = self._session, check_budget(budget)
        if session.is_off:
            return Context("", note=session.reason)
        return build_context(session, tokens)

    @call(SIMILARS, slow=True)
    def similar(
        self,
        key: Annotated[str | None, fields.KEY] = None,
        *,
        id: Annotated[str | UUID | None, fields.ID] = None,
        space: Annotated[SpaceId, fields.SPACE] = None,
        limit: Annotated[int, fields.LIMIT] = 5,
        namespace: Annotated[str, fields.NAMESPACE] = "",
    ) -> Similars:
        """Memories that say nearly the same as one, with what keeps them apart; nothing is merged."""
        from holdfast.operations.recall import similar  # numpy, which keeping and reading need not wait for

        return similar(self._session, self._name(key, id, space, namespace), limit)

    @call(REVISIONS)
    def history(
        self,
        key: Annotated[str | None, fields.KEY] = None,
        *,
        id: Annotated[str | UUID | None, fields.ID] = None,
        space: Annotated[SpaceId, fields.SPACE] = None,
        limit: Annotated[int, fields.LIMIT] = 100,
        before: Annotated[
            int | None, Field("Revisions before this one.", bounds=fields.REVISION_NUMBERS)
        ] = None,
        namespace: Annotated[str, fields.NAMESPACE] = "",
    ) -> Revisions:
        """Every state of a memory, the present one first; `before` a revision goes on from there."""
        return read.history(self._session, self._name(key, id, space, namespace), limit, before)

    @call(answers.READINGS)
    def readers(
        self,
        key: Annotated[str | None, fields.KEY] = None,
        *,
        id: Annotated[str | UUID | None, fields.ID] = None,
        space: Annotated[SpaceId, fields.SPACE] = None,
        limit: Annotated[int, fields.LIMIT] = 100,
        namespace: Annotated[str, fields.NAMESPACE] = "",
    ) -> Readings:
        """Lists who was shown a memory, how and when, newest first: for its owner alone."""
        return readers(self._session, self._name(key, id, space, namespace), limit)

    @call(answers.EDITED, writes=True)
    def edit(
        self,
        key: Annotated[str | None, fields.KEY] = None,
        *,
        id: Annotated[str | UUID | None, fields.ID] = None,
        space: Annotated[SpaceId, fields.SPACE] = None,
        text: Annotated[
            str | None, Field("The new text.", "Deploys go through Tekton", bounds=fields.NOT_BLANK)
        ] = None,
        hint: Annotated[str | None, fields.HINT] = None,
        category: Annotated[str | None, fields.CATEGORY] = None,
        tags: Annotated[Iterable[str] | None, fields.TAGS] = None,
        ttl: Annotated[Ttl, fields.TTL] = None,
        no_expiry: Annotated[bool, Field("True takes the time to live away.")] = False,
        always_inject: Annotated[bool | None, fields.ALWAYS] = None,
        expected_revision: Annotated[int | None, fields.REVISION] = None,
        namespace: Annotated[str, fields.NAMESPACE] = "",
    ) -> Job[Edited]:
        """Changes fields of a memory; what is left out stays. A ttl counts from now; `no_expiry` takes one away. The
        answer's `advice` tells what is doubtful about changed words."""
        if always_inject is not None:
            check_flag("always_inject", always_inject)
        changes = Changes(
            text,
            hint,
            category,
            tag_list(tags),
            ttl,
            check_flag("no_expiry", no_expiry),
            always_inject,
            expected_revision,
        )
        return edit.edit(self._session, self._name(key, id, space, namespace), changes)

    @call(answers.REPLACED, writes=True)
    def replace(
        self,
        key: Annotated[str | None, fields.KEY] = None,
        *,
        old: Annotated[str, fields.PASSAGE],
        new: Annotated[str, Field("What to put there.", "Tekton", missing=MissingField)],
        id: Annotated[str | UUID | None, fields.ID] = None,
        space: Annotated[SpaceId, fields.SPACE] = None,
        expected_revision: Annotated[int | None, fields.REVISION] = None,
        namespace: Annotated[str, fields.NAMESPACE] = "",
    ) -> Job[Replaced]:
        """Replaces the first occurrence of a passage and says how often it had occurred."""
        return edit.replace_text(
            self._session, self._name(key, id, space, namespace), old, new, expected_revision
        )

    @call(ENTRY, writes=True)
    def rename(
        self,
        key: Annotated[str | None, fields.KEY] = None,
        *,
        new_key: Annotated[str, fields.NEW_KEY],
        id: Annotated[str | UUID | None, fields.ID] = None,
        space: Annotated[SpaceId, fields.SPACE] = None,
        to_space: Annotated[SpaceId, Field("Another space to move it to.", kind=Kind.TEXT)] = None,
        expected_revision: Annotated[int | None, fields.REVISION] = None,
        namespace: Annotated[str, fields.NAMESPACE] = "",
    ) -> Job[Entry]:
        """Gives a memory another key, or moves it to another space, in one step with its history."""
        return edit.rename(
            self._session,
            self._name(key, id, space, namespace),
            new_key,
            space_id(to_space),
            expected_revision,
        )

    @call(ENTRY, writes=True)
    def renew(
        self,
        key: Annotated[str | None, fields.KEY] = None,
        *,
        id: Annotated[str | UUID | None, fields.ID] = None,
        space: Annotated[SpaceId, fields.SPACE] = None,
        ttl: Annotated[Ttl, fields.TTL] = None,
        expected_revision: Annotated[int | None, fields.REVISION] = None,
        namespace: Annotated[str, fields.NAMESPACE] = "",
    ) -> Job[Entry]:
        """Lets a memory that expires live on: for `ttl` from now, or as long again as it was given last."""
        return edit.renew(self._session, self._name(key, id, space, namespace), ttl, expected_revision)

    @call(ENTRY, writes=True)
    def undo(
        self,
        key: Annotated[str | None, fields.KEY] = None,
        *,
        id: Annotated[str | UUID | None, fields.ID] = None,
        space: Annotated[SpaceId, fields.SPACE] = None,
        to_revision: Annotated[int | None, Field("Bring back this one.", 2, bounds={"minimum": 1})] = None,
        expected_revision: Annotated[int | None, fields.REVISION] = None,
        namespace: Annotated[str, fields.NAMESPACE] = "",
    ) -> Job[Entry]:
        """Brings back the state before the last change, or a given revision; undoing again goes further back."""
        return undo.undo(self._session, self._name(key, id, space, namespace), to_revision, expected_revision)

    @call(ENTRY, writes=True)
    def trash(
        self,
        key: Annotated[str | None, fields.KEY] = None,
        *,
        id: Annotated[str | UUID | None, fields.ID] = None,
        space: Annotated[SpaceId, fields.SPACE] = None,
        expected_revision: Annotated[int | None, fields.REVISION] = None,
        namespace: Annotated[str, fields.NAMESPACE] = "",
    ) -> Job[Entry]:
        """Puts a memory into the trash, where it stays restorable for 30 days."""
        return remove.trash(self._session, self._name(key, id, space, namespace), expected_revision)

    @call(PAGE)
    def trashed(
        self,
        *,
        space: Annotated[SpaceId, fields.SPACE] = None,
        limit: Annotated[int, fields.LIMIT] = 100,
        cursor: Annotated[str | None, fields.CURSOR] = None,
    ) -> Page:
        """Lists the trash."""
        session, listing = self._session, Listing(MODEL_VISIBLE, space_id(space), limit=limit, cursor=cursor)
        if session.is_off:
            return Page(note=session.reason)
        return read.list_trash(session, listing)

    @call(answers.IDS)
    def locked(self, *, space: Annotated[SpaceId, fields.SPACE] = None) -> Ids:
        """Ids of entries that cannot be opened (their key is not configured, or the file was changed); `forget("id:…")`
        removes them."""
        session, where = self._session, space_id(space)
        return [] if session.is_off else read.list_locked(session, where)

    @call(ENTRY, writes=True)
    def restore(
        self,
        key: Annotated[str | None, fields.KEY] = None,
        *,
        id: Annotated[str | UUID | None, fields.ID] = None,
        space: Annotated[SpaceId, fields.SPACE] = None,
        namespace: Annotated[str, fields.NAMESPACE] = "",
    ) -> Job[Entry]:
        """Brings a memory back from the trash, the last one trashed under its key."""
        return remove.restore(self._session, self._name(key, id, space, namespace))

    @call(answers.DELETED, writes=True)
    def purge(
        self,
        key: Annotated[str | None, fields.KEY] = None,
        *,
        id: Annotated[str | UUID | None, fields.ID] = None,
        space: Annotated[SpaceId, fields.SPACE] = None,
        expected_revision: Annotated[int | None, fields.REVISION] = None,
        namespace: Annotated[str, fields.NAMESPACE] = "",
    ) -> Job[int]:
        """Removes one memory for good: rows, revisions, index terms, every byte."""
        return remove.purge(self._session, self._name(key, id, space, namespace), expected_revision)

    @call(answers.FORGOTTEN, writes=True)
    def forget(self, scope: Annotated[str, fields.SCOPE]) -> Result[Forgotten]:
        """Forgets for good: `all`, `key:K`, `id:ID`, `pack:ID`, `pipeline:ID`, `packs` or `pipelines`."""
        return forget_scope(self._session, "core.forget", scope, MODEL_VISIBLE)

    @call(answers.INDEX)
    def index(self) -> IndexStatus:
        """Progress of recall's index: the model that serves, and how many of the caller's own entries still wait for
        their vector."""
        session = self._session
        if session.is_off:
            return IndexStatus(0, None, note=session.reason)
        # An administrator sees the whole store; others must not learn how busy their neighbours are.
        status = session.engine.index.status
        return status() if session.caller.is_admin else status(session.principal)

    def _name(
        self,
        key: str | None,
        id: str | UUID | None,
        space: SpaceId,
        namespace: str,
        partitions: tuple[Partition, ...] = MODEL_VISIBLE,
    ) -> EntryName:
        return EntryName(lookup_key(key), id, space_id(space), self._label(namespace), partitions)

    def _label(self, namespace: str) -> str:
        return "" if namespace == "" else check_label("namespace", namespace, self._session.limits)


def _partitions(name: PartitionName | None) -> tuple[Partition, ...]:
    if name is None:
        return MODEL_VISIBLE
    labels = [partition.label for partition in MODEL_VISIBLE]
    if not isinstance(name, str) or name not in labels:
        raise InvalidField(f"A partition is one of {', '.join(labels)}.")
    return (MODEL_VISIBLE[labels.index(name)],)
