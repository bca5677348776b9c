"""The corpus: facts, notes and summaries of the caller's own runs as documents that a search tool may ask for. It only
answers; nothing is written here, and nobody else's documents are in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

from holdfast.domain.context import SUMMARISED, UNCATEGORIZED, shown_category
from holdfast.domain.entry import Entry
from holdfast.domain.errors import HoldfastError, InvalidField
from holdfast.domain.limits import check_limit, check_list, check_words
from holdfast.domain.run import PIPELINE_RUNS, TOOL_RUNS, Habit
from holdfast.domain.times import to_datetime
from holdfast.operations import read, tool_runs
from holdfast.operations.read import Ask, Listing, check_question
from holdfast.vocabularies.call import Vocabulary, call
from holdfast.vocabularies.encoding import NO_VALUE, NOTE, record, rows
from holdfast.vocabularies.fields import LIMIT, Field

PREFIX = "holdfast-"
MOST = 50
"""Rows of one answer."""
SCANNED = 1_000
"""The newest entries and the best ranked, which are looked through for the phrase itself."""
AT_ONCE = 250
MOST_COLLECTIONS = 50
KINDS = ("lex", "vec", "hyde")
NEWEST_SCORE = 0.5
PHRASE, WORDS, RANK = 0.9, 0.6, 0.29
"""The phrase as it stands is worth more than all words and the best rank together."""
SHORTEST_WORD = 2


class Document(NamedTuple):
    docid: str
    score: float
    snippet: str
    collection: str
    file: str


class Documents(list[Document]):
    """Best first; `note` says what there is to say about the answer as a whole."""

    __slots__ = ("note",)

    def __init__(self, rows: Iterable[Document] = (), note: str | None = None) -> None:
        super().__init__(rows)
        self.note = note


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Something that may be shown: its text in lower case to look at, and how a search ranked it, from 0 to 1."""

    category: str
    key: str
    text: str
    file: str
    changed_us: int
    rank: float = 0.0

    @property
    def collection(self) -> str:
        return PREFIX + self.category

    def shown(self, score: float) -> Document:
        snippet = f"# {self.key}\n\n{self.text}\n\n(category: {self.category})"
        return Document(f"{self.category}/{self.key}", round(score, 4), snippet, self.collection, self.file)


DOCUMENTS = rows("Documents", "results", record(Document), NOTE, kind=Documents)
SEARCH = (
    Field("How a search program means it.", "lex", bounds={"enum": list(KINDS)}).at("type", str),
    Field("A question, in words.", "deploy").at("query", str),
)
QUERY_OR_SEARCHES = {"anyOf": [{"properties": {"query": NO_VALUE}}, {"properties": {"searches": NO_VALUE}}]}


class CorpusCalls(Vocabulary):
    @call(DOCUMENTS, slow=True, rules=QUERY_OR_SEARCHES)
    def query(
        self,
        query: Annotated[str | None, Field("A question, in words.", "how do we deploy?")] = None,
        *,
        searches: Annotated[
            Iterable[Mapping[str, Any]] | None,
            Field(
                'In place of `query`: `[{"type": "lex", "query": "…"}]`, type lex, vec or hyde.', of=SEARCH
            ),
        ] = None,
        collections: Annotated[
            Iterable[str] | None,
            Field(
                "Only these, as `holdfast-<category>`.",
                ["holdfast-preferences"],
                bounds={"maxItems": MOST_COLLECTIONS},
            ),
        ] = None,
        limit: Annotated[int, replace(LIMIT, sentence=f"At most so many, 1 to {MOST}.")] = 20,
    ) -> Documents:
        """Documents that answer a question, best first, scores from 0 to 1: the phrase itself above all words of it,
        those above some. `searches` asks as search programs do, `[{"type": "lex", "query": "…"}]`; the first lex one
        counts, else the first. `collections` (`holdfast-<category>`) narrows. Without a question the newest."""
        question, limit = _question(query, searches), check_limit(limit, MOST)
        categories = None if collections is None else _categories(collections)
        session = self._session
        if session.is_off:
            return Documents(note=session.reason)
        if not question:
            found = [(NEWEST_SCORE, one) for one in self._newest(categories, limit)]
        else:
            found = [
                (score, one)
                for one in self._candidates(question, categories)
                if (score := _score(question, one))
            ]
        found.sort(key=lambda row: (-row[0], -row[1].changed_us))
        return Documents(one.shown(score) for score, one in found[:limit])

    def _candidates(self, question: str, categories: frozenset[str] | None) -> Iterator[_Candidate]:
        """Everything that a search ranks, and everything new that holds the words, each once."""
        seen: dict[object, _Candidate] = {}
        # Searched one by one, so that other categories do not use up the hits; None searches all of them at once.
        named = (
            None if categories is None or UNCATEGORIZED in categories else sorted(filter(None, categories))
        )
        for category in [None] if named is None else named:
            for entry, rank in self._ranked(question, category):
                seen[entry.id] = _candidate(entry, rank)
        for entry in self._scanned():
            seen.setdefault(entry.id, _candidate(entry))
        for one in (*seen.values(), *self._runs()):
            if categories is None or one.category in categories:
                yield one

    def _ranked(self, question: str, category: str | None) -> Iterator[tuple[Entry, float]]:
        from holdfast.operations.recall import recall  # numpy, which keeping and reading need not wait for

        session = self._session
        ask = Ask(question, SUMMARISED, SCANNED, spaces=(None,), category=category)
        hits = recall(session, ask, most=SCANNED)
        best = max((hit.score for hit in hits), default=0.0)
        for hit in hits:
            yield hit.entry, max(0.0, hit.score / best) if best > 0 else 0.0

    def _newest(self, categories: frozenset[str] | None, limit: int) -> list[_Candidate]:
        everything = [*map(_candidate, self._scanned()), *self._runs()]
        everything.sort(key=lambda one: -one.changed_us)
        return [one for one in everything if categories is None or one.category in categories][:limit]

    def _scanned(self) -> Iterator[Entry]:
        cursor, left = None, SCANNED
        while left > 0:
            listing = Listing(SUMMARISED, limit=min(left, AT_ONCE), cursor=cursor)
            page = read.list_entries(self._session, listing)
            for one in page:
                if one.content.is_text and not one.encrypted and not one.quarantined:
                    yield one
            cursor, left = page.cursor, left - AT_ONCE
            if cursor is None:
                return

    def _runs(self) -> Iterator[_Candidate]:
        defaults = tool_runs.my_defaults(self._session)
        for category, habits in ((TOOL_RUNS, defaults.packs), (PIPELINE_RUNS, defaults.pipelines)):
            for habit in habits:
                text = _summary(category, habit)
                yield _Candidate(category, habit.id, text, "holdfast://my-defaults", habit.last_us)


def _question(query: object, searches: object) -> str:
    if query is not None and searches is not None:
        raise InvalidField("Ask by `query` or by `searches`, one of them.")
    if searches is None:
        return "" if query is None else check_question(query).strip()
    rows = [_search(row) for row in check_list("searches", searches)]
    searched = [(kind, text) for kind, text in rows if text]
    return next((text for kind, text in searched if kind == "lex"), searched[0][1] if searched else "")


def _search(row: object) -> tuple[str, str]:
    if isinstance(row, HoldfastError):
        raise row
    if not isinstance(row, Mapping) or set(row) - {"type", "query"}:
        raise InvalidField('A search is {"type": "lex", "query": "…"}.')
    kind = row.get("type", "lex")
    if kind not in KINDS:
        raise InvalidField(f"The type of a search is one of {', '.join(KINDS)}.")
    return kind, check_question(row.get("query", "")).strip()


def _categories(collections: object) -> frozenset[str]:
    named = check_list("collections", collections)
    if len(named) > MOST_COLLECTIONS:
        raise InvalidField(f"At most {MOST_COLLECTIONS} collections; {len(named)} were given.")
    return frozenset(check_words("collection", name).removeprefix(PREFIX) for name in named)


def _candidate(entry: Entry, rank: float = 0.0) -> _Candidate:
    text = f"{entry.hint}\n{entry.text}" if entry.hint else entry.text
    file = f"holdfast://entries/{entry.id}"
    return _Candidate(shown_category(entry.category), entry.key, text, file, entry.updated_us, rank)


def _score(question: str, one: _Candidate) -> float:
    """From 0 to 1; 0 is not shown."""
    here, phrase = _plain(f"{one.key}\n{one.text}\n{one.category}"), _plain(question)
    if phrase in here:
        return PHRASE + (1 - PHRASE) * one.rank
    words = [word for word in phrase.split() if len(word) >= SHORTEST_WORD] or phrase.split()
    share = sum(word in here for word in words) / len(words)
    return WORDS * share + RANK * one.rank


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _summary(category: str, habit: Habit) -> str:
    what = "Tool" if category == TOOL_RUNS else "Pipeline"
    usual = ", ".join(f"{name}={value}" for name, value in habit.inputs.items())
    return (
        f"{what} {habit.id}: {habit.count} runs, {habit.failed} failed, last on {to_datetime(habit.last_us):%Y-%m-%d}."
        + (f" Usual: {usual}." if usual else "")
    )
