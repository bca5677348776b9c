"""Decides if a new text only repeats an old one, by terms and guards alone: a vector may suggest, never merge. Guards
refuse a merge where both texts could matter: they differ in numbers, dates, negation, a substituted word, a sign that
makes another name, tense, or order."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from holdfast.text.analyser import STOP_TERMS, analyse

MERGE_JACCARD = 0.6
SAME_COSINE = 0.965  # with the guards: more precise and more complete than 0.97 without
HINT_COSINE = 0.93


def _terms(words: str) -> frozenset[str]:
    return frozenset(analyse(words))


_PAST = re.compile(r"[A-Za-z]{2,}ed\b")
# With its sign and its unit: -20 is not 20, $5 not €5, 5 % not 5.
_NUMBER = re.compile(r"(?:(?<![\w.,:/)-])[-\u2212])?(?:[$€£¥₹] ?)?\d+(?:[.,:/-]\d+)*(?: ?[$€£¥₹%°])?")
_UNIT = re.compile(r"[$€£¥₹%°]")
# C++ and C# are not C, and A+ is not A.
_MARKED = re.compile(r"(?<![A-Za-z])(?:[A-Za-z]\w*(?:\+\+|#)|[A-Z]{1,2}[+-])(?!\w)")
# Where small words are names: EU and US, HR and IT, plan A and plan B. A sentence may begin with an "A".
_CAPITALS = re.compile(r"(?<![A-Za-z])(?:[A-Z]{2,5}|(?<!^)(?<![.!?] )[A-HJ-Z])(?![A-Za-z])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBER_WORDS = dict(
    zip(
        analyse("zero one two three four five six seven eight nine ten eleven twelve"),
        map(str, range(13)),
        strict=True,
    )
)
_NEGATIONS = _terms(
    """no not never none nobody nothing nowhere neither nor without cannot isn't aren't wasn't weren't don't doesn't
    didn't won't wouldn't can't couldn't shouldn't haven't hasn't hadn't mustn't needn't
    scarcely rarely seldom kaum selten
    nicht kein keine keinen keinem keiner keines nie niemals niemand nichts ohne weder
    ne pas jamais rien aucun aucune sans non nunca jamás nada nadie ningún ninguna sin tampoco mai nessuno senza
    não nem sem niet geen nooit zonder inte aldrig utan ikke aldri uden uten nie nigdy bez není nikdy
    не нет ни никогда нельзя без ні ніколи değil yok tidak jangan bukan tanpa không
    لا ليس لم لن بدون לא אין בלי नहीं मत"""
)
# Signs that turn a CJK sentence into its opposite, wherever they stand in it.
_CJK_NEGATION = re.compile("ない|なかった|なく|ません|ずに|[不没沒無无未非別别勿否]|않|없|못|안 ")
_OPPOSITES = tuple(
    tuple(map(_terms, pair))
    for pair in (
        *(("on", "off"), ("enable", "disable"), ("true", "false"), ("yes", "no"), ("before", "after")),
        *(("always", "sometimes"), ("more", "less"), ("up", "down"), ("left", "right"), ("in", "out")),
        *(("open", "closed"), ("allow", "deny"), ("start", "stop"), ("like", "dislike"), ("love", "hate")),
        *(("with", "without"), ("first", "last"), ("am", "pm"), ("min", "max"), ("above", "below")),
        *(("an", "aus"), ("ein", "aus"), ("mit", "ohne"), ("vor", "nach"), ("immer", "nie"), ("ja", "nein")),
        *(("links", "rechts"), ("über", "unter")),
    )
)
# Words that reverse a statement are kept: direction and order are facts.
_TURNING = _terms(
    """no nor not off on up down in out into from to over under before after with without above below only until
    nicht aus auf bei mit nach von vom zu zum zur nur"""
)
_FUNCTION_TERMS = STOP_TERMS - _TURNING
# These change nothing. Other function words may be left out but not replaced: "he" is not "she", "was" not "is", "by
# Friday" not "after Friday".
_EMPTY = _terms(
    """a an the this that these those being having doing also just so very too then there here such own same
    das der dem des ein eine einem einen einer eines auch noch"""
)
_SMALL_LETTERS = frozenset("ai")
_PARTICLES = (STOP_TERMS | _TURNING) - _EMPTY
_NUMBERED = dict(zip(analyse("are am were have do sind"), analyse("is is was has does ist"), strict=True))


class Verdict(StrEnum):
    SAME = "same"  # equal but for spelling: nothing new to keep
    MERGE = "merge"  # update the old entry, as a revision
    SIMILAR = "similar"  # show it, let the caller decide
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Likeness:
    verdict: Verdict
    jaccard: float
    guard: str | None  # what kept two near texts apart


def compare(new: str, old: str, cosine: float | None = None) -> Likeness:
    """Symmetric. `cosine` only turns DIFFERENT into SIMILAR, since contradictions score high too."""
    content, others = _content_of(new), frozenset(_in_order(analyse(old)))
    if not content or not others:
        same = new.strip().casefold() == old.strip().casefold()
        return Likeness(Verdict.SAME if same else Verdict.DIFFERENT, float(same), None)
    jaccard = len(content & others) / len(content | others)
    if jaccard < MERGE_JACCARD and (cosine is None or cosine < HINT_COSINE):
        return Likeness(Verdict.DIFFERENT, jaccard, None)
    left, right = _Reading.of(new), _Reading.of(old)
    guard = _guard(left, right)
    if guard is None and left.content == right.content:
        return Likeness(Verdict.SAME, jaccard, None)
    if guard is None and jaccard >= MERGE_JACCARD:
        return Likeness(Verdict.MERGE, jaccard, None)
    near = jaccard >= MERGE_JACCARD or (cosine is not None and cosine >= HINT_COSINE)
    return Likeness(Verdict.SIMILAR if near else Verdict.DIFFERENT, jaccard, guard if near else None)


def is_cosine_duplicate(new: str, old: str, cosine: float) -> bool:
    """True for texts that are near in meaning and agree in their facts: different words are then a paraphrase."""
    return cosine >= SAME_COSINE and _facts_differ(_Reading.of(new), _Reading.of(old)) is None


@dataclass(frozen=True, slots=True)
class _Reading:
    """The parts of one text that the guards compare."""

    terms: frozenset[str]
    in_order: tuple[str, ...]  # content terms, each once, number words as digits
    content: frozenset[str]
    particles: frozenset[str]
    past: frozenset[str]
    numbers: frozenset[str]
    marked: frozenset[str]
    negated: bool

    @classmethod
    def of(cls, text: str) -> "_Reading":
        terms = analyse(text)
        in_order = _in_order(terms, _names(text))
        return cls(
            terms=frozenset(terms),
            in_order=in_order,
            content=frozenset(in_order),
            particles=_PARTICLES.intersection(_NUMBERED.get(term, term) for term in terms),
            past=_terms(" ".join(_PAST.findall(text))),
            numbers=_numbers(text, terms),
            marked=frozenset(mark.casefold() for mark in _MARKED.findall(text)),
            negated=not _NEGATIONS.isdisjoint(terms) or bool(_CJK_NEGATION.search(text)),
        )


def _in_order(terms: list[str], names: frozenset[str] = frozenset()) -> tuple[str, ...]:
    content = [term for term in terms if term not in _FUNCTION_TERMS or term in names] or terms
    return tuple(dict.fromkeys(_NUMBER_WORDS.get(term, term) for term in content))


def _names(text: str) -> frozenset[str]:
    """Terms in capitals, unless the whole text is."""
    found = _CAPITALS.findall(text)
    return _terms(" ".join(found)) if len(found) == 1 or any(map(str.islower, text)) else frozenset()


@lru_cache(maxsize=4)
def _content_of(text: str) -> frozenset[str]:
    """Cached, because one text is compared with many."""
    return frozenset(_in_order(analyse(text)))


def _guard(left: _Reading, right: _Reading) -> str | None:
    differing = _facts_differ(left, right)
    if differing is not None:
        return differing
    # Both sides hold a word the other lacks: a substitution (prod/staging), however alike the rest.
    if (
        _substituted(left.content, right.content)
        or _substituted(left.particles, right.particles)
        or _relettered(left.terms ^ right.terms, left.terms)
    ):
        return "substituted word"
    # "She lives in Rome" and "She lived in Rome" have one stem.
    if (left.past ^ right.past) & left.content & right.content:
        return "tense"
    # "Tom owes Mia" and "Mia owes Tom" hold the same words.
    if _shared(left, right.content) != _shared(right, left.content):
        return "order"
    return None


def _substituted(left: frozenset[str], right: frozenset[str]) -> bool:
    return bool(left - right) and bool(right - left)


def _relettered(differing: frozenset[str], left: frozenset[str]) -> bool:
    """Tells rack a from rack b: one letter replaces another, and they are not just "a" and "I"."""
    letters = frozenset(term for term in differing if len(term) == 1 and term.isascii() and term.isalpha())
    return bool(letters - _SMALL_LETTERS) and bool(letters & left) and bool(letters - left)


def _shared(reading: _Reading, others: frozenset[str]) -> list[str]:
    return [term for term in reading.in_order if term in others]


def _facts_differ(left: _Reading, right: _Reading) -> str | None:
    if left.numbers != right.numbers:
        return "numbers"
    if left.marked != right.marked:
        return "signs"
    if left.negated != right.negated:
        return "negation"
    if _opposed(left.terms, right.terms):
        return "opposites"
    return None


def _numbers(text: str, terms: Iterable[str]) -> frozenset[str]:
    # "one" is an article as often as a number.
    spelled = (value for term in terms if (value := _NUMBER_WORDS.get(term)) is not None and value != "1")
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text))
    return frozenset(map(_amount, _NUMBER.findall(plain))).union(spelled)


def _amount(number: str) -> str:
    """The number with its unit at the end."""
    units = "".join(_UNIT.findall(number))
    return _UNIT.sub("", number).replace(" ", "").replace("\u2212", "-") + units


def _opposed(left: frozenset[str], right: frozenset[str]) -> bool:
    """Each text holds a different word of a pair of opposites, and only that one."""
    for one, other in _OPPOSITES:
        sides = [(bool(one & terms), bool(other & terms)) for terms in (left, right)]
        if sides in ([(True, False), (False, True)], [(False, True), (True, False)]):
            return True
    return False
