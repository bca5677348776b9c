"""The facts vocabulary: durable facts a user told an agent, bounded in time, never permanent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated

from holdfast.contracts.storage import Job, Result
from holdfast.domain.context import EMPTY, SUMMARISED, by_category
from holdfast.domain.context import Category as Category
from holdfast.domain.entry import Entry, Revision
from holdfast.domain.errors import InvalidField, InvalidKey, MissingKey, MissingValue, NotFound
from holdfast.domain.limits import check_limit, check_words
from holdfast.domain.partition import Partition
from holdfast.domain.principal import PrincipalKind, parse_grantee
from holdfast.domain.profile import FACTS
from holdfast.domain.retention import Ttl
from holdfast.domain.run import Defaults, Finding, Habit, Run
from holdfast.domain.times import to_datetime
from holdfast.operations import administer, edit, read, tool_runs
from holdfast.operations.administer import CallerCount
from holdfast.operations.authorize import EntryName
from holdfast.operations.notes import NoteInput
from holdfast.operations.read import Ask, Listing, check_question
from holdfast.operations.remember import not_kept, remember
from holdfast.operations.results import Forgotten, Page, Remembered
from holdfast.operations.session import Session
from holdfast.vocabularies import answers, entries
from holdfast.vocabularies.approvals import forget_scope
from holdfast.vocabularies.call import Vocabulary, call, with_key
from holdfast.vocabularies.encoding import NO_VALUE, record, rows
from holdfast.vocabularies.fields import (
    CATEGORY,
    CURSOR,
    IN_CATEGORY,
    LIMIT,
    NAME,
    NOT_BLANK,
    SCOPE,
    SUBJECT,
    TAGS,
    Field,
)
from holdfast.vocabularies.inputs import lookup_key, page_filter, tag_list

SCAN = 1_000


@dataclass(frozen=True, slots=True)
class MyMemory:
    """Counts and keys, never values."""

    scope: str
    fetched_us: int
    categories: tuple[Category, ...]
    locked: int = 0
    note: str | None = None

    @property
    def fetched_at(self) -> datetime:
        return to_datetime(self.fetched_us)


KEY = Field("The fact's name.", "preferences/editor", missing=MissingKey, wrong=InvalidKey)
TTL = Field(
    "1 hour to 365 days; 0 or none: 90 days.",
    7_776_000,
    bounds={
        "anyOf": [
            {"enum": [0, None]},
            {"minimum": FACTS.retention.minimum, "maximum": FACTS.retention.maximum},
        ]
    },
)
QUESTIONS = ("key", "prefix", "query")
ONE_QUESTION = {
    "anyOf": [{"properties": {other: NO_VALUE for other in QUESTIONS if other != one}} for one in QUESTIONS]
}
MY_MEMORY = record(MyMemory, optional=("note",), of={"categories": record(Category)})
HABIT = record(Habit)
DEFAULTS = record(
    Defaults,
    optional=("note",),
    of={
        "packs": HABIT,
        "pipelines": HABIT,
        "common_findings": record(Finding),
        "recent": record(Run, optional=("error", "session"), renamed={"head": "category", "times": "count"}),
    },
)
CALLERS = rows("Callers", "callers", record(CallerCount))


class FactCalls(Vocabulary):
    @call(answers.STORED, writes=True, repeat=with_key)
    def store(
        self,
        key: Annotated[str, replace(KEY, bounds=NAME)],
        value: Annotated[str, Field("The fact.", "neovim", missing=MissingValue, bounds=NOT_BLANK)],
        *,
        category: Annotated[str | None, CATEGORY] = None,
        tags: Annotated[Iterable[str] | None, TAGS] = None,
        ttl_seconds: Annotated[Ttl, TTL] = None,
        idempotency_key: str | None = None,
    ) -> Result[Remembered]:
        """Keeps a fact for 1 hour to 365 days, 90 by default; the same key again replaces it wholly."""
        arguments = NoteInput(
            text=value,
            key=key,
            category=category,
            tags=tag_list(tags),
            ttl=ttl_seconds,
            idempotency_key=idempotency_key,
        )
        if self._session.is_off:
            return not_kept(self._session, FACTS, arguments)
        return remember(self._session, FACTS, None, arguments)

    @call(entries.FACTS, slow=True, rules=ONE_QUESTION)
    def recall(
        self,
        key: Annotated[str | None, Field("The exact name.", "preferences/editor")] = None,
        *,
        prefix: Annotated[str | None, Field("What names begin with, literally.", "preferences/")] = None,
        query: Annotated[str | None, Field("A question, in words.", "which editor?")] = None,
        limit: Annotated[int, LIMIT] = 10,
    ) -> Page:
        """Facts by exact key, under a prefix, or in answer to a question; without any of them the newest. A key nobody
        stored gives none."""
        if sum(said is not None for said in (key, prefix, query)) > 1:
            raise InvalidField("Ask for facts by key, by prefix or by query, one of them at a time.")
        check_limit(limit, self._session.limits.list_rows)
        if key is not None:
            return self._exactly(key)
        if query is not None:
            return self._answering(query, limit)
        return self.list(prefix or "", limit=limit)

    def _exactly(self, key: str) -> Page:
        target = _target(key)
        if self._session.is_off:
            return Page(note=self._session.reason)
        try:
            return Page([read.get(self._session, target)])
        except NotFound:
            return Page()

    def _answering(self, query: str, limit: int) -> Page:
        ask = Ask(check_question(query), (Partition.FACTS,), limit, spaces=(None,))
        if self._session.is_off:
            return Page(note=self._session.reason)
        from holdfast.operations.recall import recall  # numpy, which keeping and reading need not wait for

        hits = recall(self._session, ask)
        return Page([hit.entry for hit in hits], note=hits.note)

    @call(entries.FACT)
    def get(self, key: Annotated[str, KEY]) -> Entry:
        """One fact by its exact key."""
        return read.get(self._session, _target(key))

    @call(entries.FACT_PAGE)
    def list(
        self,
        prefix: Annotated[str, Field("What names begin with.")] = "",
        *,
        category: Annotated[str | None, IN_CATEGORY] = None,
        tag: Annotated[str | None, Field("Only with this tag.")] = None,
        expiring_within: Annotated[
            int | timedelta | None,
            Field(
                "Only what ends within so many seconds, the first to end first.",
                604_800,
                bounds={"minimum": 0},
            ),
        ] = None,
        limit: Annotated[int, LIMIT] = 100,
        cursor: Annotated[str | None, CURSOR] = None,
    ) -> Page:
        """Facts under a prefix, newest change first; with `expiring_within` those that end soon, the first to end
        first."""
        session = self._session
        listing = Listing(
            (Partition.FACTS,),
            matching=page_filter(prefix, category, tag),
            limit=limit,
            cursor=cursor,
            expiring_within=expiring_within,
        )
        if session.is_off:
            return Page(note=session.reason)
        return read.list_entries(session, listing)

    @call(entries.FACT, writes=True)
    def renew(
        self,
        key: Annotated[str, KEY],
        *,
        ttl_seconds: Annotated[
            Ttl, replace(TTL, sentence="1 hour to 365 days from now; 0: 90 days; none: as long again.")
        ] = None,
    ) -> Job[Entry]:
        """Lets a fact live on: for `ttl_seconds` from now, or as long again as it was given last."""
        target = _target(key)
        return edit.renew(self._session, target, ttl_seconds, None)

    @call(entries.REVISIONS)
    def history(self, key: Annotated[str, KEY], *, limit: Annotated[int, LIMIT] = 100) -> Revisions:
        """The trajectory of one key."""
        return read.history(self._session, _target(key), limit)

    @call(answers.FORGOTTEN, writes=True)
    def forget(self, scope: Annotated[str, SCOPE]) -> Result[Forgotten]:
        """`all`, `key:K`, `pack:ID`, `pipeline:ID`, `packs` or `pipelines`; facts go only by `all` or exact key."""
        return forget_scope(self._session, "facts.forget", scope, (Partition.FACTS,))

    @call(MY_MEMORY)
    def my_memory(self) -> MyMemory:
        """Summarises what is stored, by category: counts and the newest keys."""
        session = self._session
        scope = f"caller={session.caller.principal.id}"
        if session.is_off:
            return MyMemory(scope, session.clock(), (), note=session.reason)
        return _my_memory(session, scope)

    @call(DEFAULTS, slow=True)
    def defaults(
        self,
        *,
        caller: Annotated[
            str | None,
            Field("Whose, as kind:id; for administrators.", "user:alice", bounds=SUBJECT | {"minLength": 1}),
        ] = None,
    ) -> Defaults:
        """Defaults learned from recorded runs: the tools and pipelines used most, with their usual inputs, and the last
        runs. `caller` (kind:id, a bare id is a user) is for administrators, who see counts; others always see
        themselves."""
        session, whose = self._session, None
        if caller is not None:  # a bare id is a user, as in a token
            name = check_words("caller", caller)
            whose = parse_grantee(name if name.partition(":")[0] in tuple(PrincipalKind) else f"user:{name}")
        me = session.caller.principal
        if session.is_off:
            return Defaults(f"caller={me.id}", session.clock(), note=session.reason)
        if whose is None or whose == me:
            return tool_runs.my_defaults(session)
        if session.caller.is_admin:
            return tool_runs.defaults_of(session, whose)
        return replace(tool_runs.my_defaults(session), note=YOURS_ALONE)

    @call(CALLERS, slow=True)
    def callers(self, *, limit: Annotated[int, LIMIT] = 100) -> Callers:
        """Counts the memories of each caller, the busiest first; a caller who is no administrator sees only
        themselves."""
        session = self._session
        return [] if session.is_off else administer.list_callers(session, limit)


Revisions = list[Revision]
Callers = list[CallerCount]
YOURS_ALONE = "These are your own; only an administrator may ask for another caller's."


def _target(key: object) -> EntryName:
    return EntryName(lookup_key(key), partitions=(Partition.FACTS,))


def _my_memory(session: Session, scope: str) -> MyMemory:
    named: list[tuple[str, str]] = []
    locked, cursor = 0, None
    while True:
        page = read.look_through(session, Listing(SUMMARISED, limit=SCAN, cursor=cursor))
        named += [(entry.category, entry.key) for entry in page if entry.for_models]
        locked, cursor = page.locked, page.cursor
        if cursor is None:
            break
    categories = by_category(named)
    note = None if categories else EMPTY
    return MyMemory(scope, session.clock(), categories, locked, note)
