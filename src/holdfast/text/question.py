"""Reads a question beyond its words: the people and dates it names, and its first-person form. Pure text, no
storage."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from holdfast.text.analyser import MONTHS, WEEKDAYS, analyse, analyse_query, date_words

# A pasted page is no better a question than its first lines, and each term costs a pass over the space.
MAX_QUESTION_TERMS = 128

_WHEN = re.compile(
    r"\W*(?:when|since when|how long|(?:on |in )?(?:what|which) (?:date|day|week|month|season|year|time))\b",
    re.IGNORECASE,
)
_GATHERS = re.compile(
    r"\W*(?:what|which|where|who|how many|in what|in which)\b.{0,60}?\b(?:has|have|does|do)\b", re.IGNORECASE
)
_TO_ASSISTANT = re.compile(
    r"\b(?:did|have|had) you\b"
    r"|\byou (?:recommended|suggested|advised|proposed|told|said|gave|helped|explained)\b",
    re.IGNORECASE,
)
_ISO_DAY = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_YEAR = re.compile(r"(?:19|20)\d\d")
_MAY_IN_A_SENTENCE = re.compile(r"\S\s+May\b")
_WORD_IN_A_SENTENCE = re.compile(r"(?<=\S\s)\w+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

MONTH_TERMS = {term: number for number, name in enumerate(MONTHS, 1) for term in analyse(name)}
WEEKDAY_TERMS = {term: number for number, name in enumerate(WEEKDAYS) for term in analyse(name)}
REQUEST_TERMS = frozenset(
    analyse(
        """list order mention discuss discussed discussion conversation chat session item summary summarize summarise
        comprehensive provide walk help tell give please show explain describe brought bring aspect different various
        throughout across overview question ask asked"""
    )
)


@dataclass(frozen=True, slots=True)
class Question:
    terms: tuple[str, ...]
    date_terms: frozenset[str]
    names: frozenset[str]  # terms of words written with a capital inside the sentence
    asks_when: bool
    gathers: bool  # a habit or a tally, "which have they…": the evidence is spread over many conversations
    asks_assistant: bool  # about the assistant's words, not the user's deeds

    def weight(self, term: str, request_word: float) -> float:
        """Request words count less, unless the query has nothing else."""
        if term not in REQUEST_TERMS or REQUEST_TERMS.issuperset(self.terms):
            return 1.0
        return request_word


def read_question(text: str) -> Question:
    """Total: any text is a question, one without words has no terms."""
    terms = analyse_query(text)[:MAX_QUESTION_TERMS]
    dates = _date_terms(text, terms)
    return Question(
        terms=tuple(dict.fromkeys([*terms, *sorted(dates)])),
        date_terms=frozenset(dates),
        names=_names(text).intersection(terms).difference(dates),
        asks_when=bool(_WHEN.match(text)),
        gathers=bool(_GATHERS.match(text)),
        asks_assistant=bool(_TO_ASSISTANT.search(text)),
    )


def in_first_person(text: str, speakers: Iterable[str]) -> str:
    """The query in the named speaker's own words, to be embedded. People write "I" of themselves, and a name would pull
    in notes that address them."""
    full = {name.strip() for name in speakers if name.strip()}
    if not full:
        return text
    # A part of a name counts as written: "Will" is a person, "will" is not.
    parts = {part for name in full for part in name.split() if len(part) > 2 and part[0].isupper()} - full
    name = rf"\b(?:(?i:{_either(full)})|{_either(parts)})\b" if parts else rf"\b(?i:{_either(full)})\b"
    several = re.sub(rf"(?:both )?{name}(?:(?:,| and|, and) {name})+", "we", text)
    owned = re.sub(rf"{name}(?:['\u2019]s?)", "my", re.sub(r"\bwe['\u2019]s?", "our", several))
    return re.sub(name, "I", owned)


@lru_cache(16_384)
def name_terms(speaker: str) -> frozenset[str]:
    """The terms by which a query may name a speaker."""
    return frozenset(analyse(speaker))


def _either(names: set[str]) -> str:
    """The longest first, so that "Anna Maria" is not cut to "Anna"."""
    return "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))


def _names(text: str) -> frozenset[str]:
    words = (match[0] for match in _WORD_IN_A_SENTENCE.finditer(text))
    return frozenset(term for word in words if word[0].isupper() for term in analyse(word))


def _date_terms(text: str, terms: list[str]) -> set[str]:
    found = {term for term in terms if term in WEEKDAY_TERMS or _YEAR.fullmatch(term)}
    months = {term for term in terms if term in MONTH_TERMS}
    # "may" is a verb at least as often as a month: only with a capital inside the sentence.
    if "may" in months and not _MAY_IN_A_SENTENCE.search(text):
        months.discard("may")
    if months:
        found |= months
        found |= {term for term in terms if len(term) <= 2 and term.isdecimal() and 1 <= int(term) <= 31}
    for year, month, day in _ISO_DAY.findall(text):
        found.update(_words_of_day(int(year), int(month), int(day)))
    return found


def _words_of_day(year: int, month: int, day: int) -> list[str]:
    try:
        midnight = datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return []
    return date_words((midnight - _EPOCH).days * 86_400_000_000)
