"""The facts vocabulary: durable facts a user told an agent, bounded in time, never permanent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from holdfast.domain.context import EMPTY, SUMMARISED, by_category
from holdfast.domain.context import Category as Category
from holdfast.domain.entry import Entry, Revision
from holdfast.domain.errors import InvalidField, NotFound
from holdfast.domain.limits import check_limit, check_words
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Principal, PrincipalKind, parse_grantee
from holdfast.domain.profile import FACTS
from holdfast.domain.retention import Ttl
from holdfast.domain.run import Defaults
from holdfast.domain.times import to_datetime
from holdfast.operations import callers, edit, read, tool_runs
from holdfast.operations.ask import Ask, check_question
from holdfast.operations.authorize import EntryName
from holdfast.operations.callers import CallerCount
from holdfast.operations.engine import Engine
from holdfast.operations.notes import Asked, NoteInput
from holdfast.operations.read import Listing
from holdfast.operations.results import Forgotten, Page, Remembered
from holdfast.operations.work import Work, Write
from holdfast.vocabularies.approvals import forgetting
from holdfast.vocabularies.session import Session, filter_of, key_of, remembering, tags_of

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


class FactCalls:
    def __init__(self, session: Session) -> None:
        self._session = session

    def store(
        self,
        key: str,
        value: str,
        *,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        ttl_seconds: Ttl = None,
        idempotency_key: str | None = None,
    ) -> Write[Remembered]:
        """Keeps a fact for 1 hour to 365 days, 90 by default; the same key again replaces it wholly."""
        draft = NoteInput(
            value,
            key,
            category=category,
            tags=tags_of(tags),
            ttl=ttl_seconds,
            idempotency_key=idempotency_key,
        )
        return remembering(self._session, Asked(FACTS, None, draft))

    def recall(
        self,
        key: str | None = None,
        *,
        prefix: str | None = None,
        query: str | None = None,
        limit: int = 10,
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
            return Page([read.get(self._session.engine, self._session.caller, target)])
        except NotFound:
            return Page()

    def _answering(self, query: str, limit: int) -> Page:
        ask = Ask(check_question(query), (Partition.FACTS,), limit, spaces=(None,))
        if self._session.is_off:
            return Page(note=self._session.reason)
        from holdfast.operations.recall import recall  # numpy, which keeping and reading need not wait for

        hits = recall(self._session.engine, self._session.caller, ask)
        return Page([hit.entry for hit in hits], note=hits.note)

    def get(self, key: str) -> Entry:
        """One fact by its exact key."""
        session = self._session
        return read.get(session.engine, session.caller, _target(key))

    def list(
        self,
        prefix: str = "",
        *,
        category: str | None = None,
        tag: str | None = None,
        expiring_within: int | timedelta | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page:
        """Facts under a prefix, newest change first; with `expiring_within` those that end soon, the first to end
        first."""
        session = self._session
        listing = Listing(
            (Partition.FACTS,),
            wanted=filter_of(prefix, category, tag),
            limit=limit,
            cursor=cursor,
            expiring_within=expiring_within,
        )
        if session.is_off:
            return Page(note=session.reason)
        return read.list_entries(session.engine, session.caller, listing)

    def renew(self, key: str, *, ttl_seconds: Ttl = None) -> Write[Entry]:
        """Lets a fact live on: for `ttl_seconds` from now, or as long again as it was given last."""
        session, target = self._session, _target(key)
        return Write(lambda: edit.renew(session.engine, session.caller, target, ttl_seconds, None))

    def history(self, key: str, *, limit: int = 100) -> Revisions:
        """The trajectory of one key."""
        session = self._session
        return read.history(session.engine, session.caller, _target(key), limit)

    def forget(self, scope: str) -> Work[Forgotten]:
        """`all`, `key:K`, `pack:ID`, `pipeline:ID`, `packs` or `pipelines`; facts go only by `all` or exact key."""
        return forgetting(self._session, "facts.forget", scope, (Partition.FACTS,))

    def my_memory(self) -> MyMemory:
        """What is stored, by category: counts and the newest keys."""
        session = self._session
        scope = f"caller={session.caller.principal.id}"
        if session.is_off:
            return MyMemory(scope, session.clock(), (), note=session.reason)
        return _my_memory(session, session.engine, scope)

    def defaults(self, *, caller: str | None = None) -> Defaults:
        """What is usual, learned from recorded runs: the tools and pipelines used most, with their usual inputs, and
        what ran last. `caller` (kind:id, a bare id is a user) is for administrators, who see counts; others see
        themselves whatever they name."""
        session, whose = self._session, None if caller is None else _subject(caller)
        me = session.caller.principal
        if session.is_off:
            return Defaults(f"caller={me.id}", session.clock(), note=session.reason)
        if whose is None or whose == me:
            return tool_runs.my_defaults(session.engine, session.caller)
        if session.caller.is_admin:
            return tool_runs.defaults_of(session.engine, session.caller, whose)
        return replace(tool_runs.my_defaults(session.engine, session.caller), note=YOURS_ALONE)

    def callers(self, *, limit: int = 100) -> Callers:
        """Who keeps memories here and how many, the busiest first; who is no administrator sees themselves alone."""
        session = self._session
        return [] if session.is_off else callers.list_callers(session.engine, session.caller, limit)


Revisions = list[Revision]
Callers = list[CallerCount]

YOURS_ALONE = "These are your own; only an administrator may ask for another caller's."


def _subject(caller: object) -> Principal:
    """kind:id; a bare id is a user, as in a token."""
    named = check_words("caller", caller)
    return parse_grantee(named if named.partition(":")[0] in tuple(PrincipalKind) else f"user:{named}")


def _target(key: object) -> EntryName:
    return EntryName(key_of(key), partitions=(Partition.FACTS,))


def _my_memory(session: Session, engine: Engine, scope: str) -> MyMemory:
    named: list[tuple[str, str]] = []
    locked, cursor = 0, None
    while True:
        page = read.look_through(engine, session.caller, Listing(SUMMARISED, limit=SCAN, cursor=cursor))
        named += [(entry.category, entry.key) for entry in page if entry.for_models]
        locked, cursor = page.locked, page.cursor
        if cursor is None:
            break
    categories = by_category(named)
    note = None if categories else EMPTY
    return MyMemory(scope, engine.clock(), categories, locked, note)
