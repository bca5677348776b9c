"""Turns text into terms, for every word index and every word query.

Pure and total: any str gives terms that encode as UTF-8. Weighing and blinding terms happens elsewhere.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import pairwise

import Stemmer

MAX_TERM_LENGTH = 64
MAX_TERMS = 20_000
MAX_CHARACTERS = MAX_TERMS * MAX_TERM_LENGTH

# Normalising is quadratic in a run of combining marks (CPython), so no more than this is normalised at once.
_SLICE = 512
_LAZY_FROM = 100_000
_CACHED_CHUNKS = 32_768
_CACHED_LENGTH = 64

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7a3\ud7b0-\ud7c6\ud7cb-\ud7fb"
_KANA = "\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\U0001b000-\U0001b16f"
_CJK = _HAN + _HANGUL + _KANA
# `\w` leaves combining marks out, which would cut Devanagari, Thai or Arabic words in pieces. Whole blocks where marks
# live; the few rare signs that come along do no harm.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06ed\u0711-\u07f3\u07fd\u0816-\u0963\u0966-\u0df3\u0e31-\u0e4e\u0eb1-\u0fc6\u102b-\u109d\u135d-\u135f"
    "\u1712-\u17d3\u17dd\u180f-\u1dff\u2cef-\u2cf1\u2d7f-\u2dff\ua66f-\ua6f1\ua802-\uabed\ufb1e\ufe20-\ufe2f"
    "\U000101fd-\U00011ef6\U00016af0-\U00016ff1\U0001bc9d-\U0001bc9e\U0001cf00-\U0001cf46\U0001da00-\U0001e94a"
)
_EMOJI = "\u231a-\u231b\u23e9-\u23fa\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001f1e5\U0001f200-\U0001faff"

# A token is a word, or words joined by at most three of these signs: an identifier, a path, a number, an address.
_JOIN = r"(?:[._\-/\\@:#+&=%~?']{1,3}+|(?<=\d),(?=\d{3}(?!\d)))"
# No possessive groups in any pattern of ours: before Python 3.11.5 they match wrongly; classes may be possessive.
_ASCII_TOKEN = re.compile(rf"[A-Za-z](?:\+\+|#)(?!\w)|[#@]?[A-Za-z0-9]++(?:{_JOIN}[A-Za-z0-9]++)*")
_LETTER = rf"(?:[^\W_{_CJK}]|[{_MARKS}])"
# Compiled at first use: classes this wide take milliseconds, and many programs meet ASCII only.
_compiled = cache(re.compile)
_TOKEN = (
    rf"(?P<cjk>[{_CJK}]++)|[A-Za-z](?:\+\+|#)(?!\w)|[#@]?{_LETTER}+(?:{_JOIN}{_LETTER}+)*"
    rf"|[\U0001f1e6-\U0001f1ff]{{2}}|[{_EMOJI}]"
)
_ALONE = rf"[{_HAN}{_HANGUL}]"
_LONE_HAN = rf"(?<![{_HAN}])[{_HAN}](?![{_HAN}])"
_LEVELS = (re.compile(r"[/\\@:#&=%~?]+"), re.compile(r"[_\-+]+"), re.compile(r"\.+"))
_DOTTED_NUMBER = re.compile(r"[vV]?[\d,]+(?:\.[\d,]+)+")
_INITIALS = re.compile(r"[A-Za-z](?:\.[A-Za-z])+")
_ORDINAL = re.compile(r"(\d{1,4})(?:st|nd|rd|th)", re.IGNORECASE)
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CONTRACTION = re.compile(r"(.+)'(?:s|ll|re|ve|d|m)", re.IGNORECASE)
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]+")
_CHUNK = re.compile(r"\S+")
_ISO_DAY = re.compile(r"(\d{4})-(0[1-9]|1[0-2])-([0-3]\d)")

# Soft hyphens, zero-width and direction marks, variation selectors, keycaps and skin tones never make another word.
_IGNORED = (
    *(0xAD, 0x61C, 0x20E3, 0xFEFF, *range(0x180B, 0x180F), *range(0x200B, 0x2010), *range(0x202A, 0x202F)),
    *(*range(0x2060, 0x2070), *range(0xFE00, 0xFE10), *range(0x1F3FB, 0x1F400)),
)
_CLEAN = str.maketrans({**dict.fromkeys(map(chr, _IGNORED), ""), "\u2010": "-", "\u2018": "'", "\u2019": "'"})
_PLAIN = str.maketrans(
    {"ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ı": "i", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe"}
)
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Not here although often listed: "may" is a month, and the German die, war, hat, man, den are English words.
# Up, off or under can be what a note is about.
_STOP_WORDS = """
a about above after again against all also am an and any are aren't as at be because been before being below between
both but by can can't cannot could couldn't did didn't do does doesn't doing don't during each few for from further
had hadn't has hasn't have haven't having he her here hers herself him himself his how i if in into is isn't it its
itself just let many me more most much my myself no nor not of on once only or other ought our ours ourselves own
same shall shan't she should shouldn't so some such than that the their theirs them themselves then there these they
this those through to too until upon us very was wasn't we were weren't what when where which while who whom whose
why will with won't would wouldn't you your yours yourself yourselves
aber als auch auf aus bei beim dass das dem der des dich dir du ein eine einem einen einer eines er es habe haben ich
ihr ihre im ist kann mein meine meinem meinen meiner mich mir mit nach nicht noch nur oder sein seine sich sie sind
und uns unser vom von wann warum weil welche welcher welches wenn wer werden wie wir wird wo zu zum zur
"""


def analyse(text: str) -> list[str]:
    """The terms to index, in order and with repeats, stop words kept; the first 20,000 in 1.28 M characters."""
    terms: list[str] = []
    for chunk in _chunks(text):
        terms += analyse_chunk(chunk)
        if len(terms) >= MAX_TERMS:
            break
    return terms[:MAX_TERMS]


def analyse_chunk(chunk: str) -> tuple[str, ...]:
    """The terms of a run without spaces. The terms of a short text are those of its runs in order."""
    return (_cached_chunk(chunk) if len(chunk) <= _CACHED_LENGTH else _long_chunk(chunk))[0]


def analyse_query(text: str) -> list[str]:
    """The distinct terms to search for, in order, without stop words unless nothing else is left."""
    terms: list[str] = []
    for chunk in _chunks(text):
        terms += (_cached_chunk(chunk) if len(chunk) <= _CACHED_LENGTH else _long_chunk(chunk))[1]
        if len(terms) >= MAX_TERMS:
            break
    distinct = list(dict.fromkeys(terms[:MAX_TERMS]))
    return [term for term in distinct if term not in STOP_TERMS] or distinct


def date_words(micros: int) -> list[str]:
    """The terms of a day in UTC, as "8 May 2023 Monday" gives them; none for a time outside the calendar."""
    try:
        day = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return []
    return analyse(f"{day.day} {MONTHS[day.month - 1]} {day.year} {WEEKDAYS[day.weekday()]}")


def _chunks(text: str) -> Iterable[str]:
    if len(text) <= _LAZY_FROM:
        return text.split()
    return (piece for match in _CHUNK.finditer(text, 0, MAX_CHARACTERS) for piece in _slices(match[0]))


def _slices(chunk: str) -> Iterator[str]:
    """Cuts a run without spaces, after a sign if there is one, so that a word is rarely cut."""
    start = 0
    while len(chunk) - start > _SLICE:
        end = start + _SLICE
        for at in range(end, start + _SLICE // 2, -1):
            if not chunk[at - 1].isalnum():
                end = at
                break
        yield chunk[start:end]
        start = end
    yield chunk[start:]


def _analyse_chunk(chunk: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The terms a run without spaces is indexed by, and those it searches for; they differ only for CJK."""
    if chunk.isascii():
        terms = tuple(term for match in _ASCII_TOKEN.finditer(chunk) for term in _token(match[0]))
        return terms, terms
    indexed: list[str] = []
    query: list[str] = []
    for match in _compiled(_TOKEN).finditer(unicodedata.normalize("NFKC", chunk).translate(_CLEAN)):
        if match["cjk"]:
            indexed += _cjk_indexed(match[0])
            query += _cjk_query(match[0])
        else:
            terms = tuple(filter(None, _token(match[0])))  # a mark alone leaves nothing
            indexed += terms
            query += terms
    return tuple(indexed), tuple(query)


# Most words of a note are cached: a hit costs a tenth of a microsecond, a new word five. Thread-safe.
_cached_chunk = lru_cache(_CACHED_CHUNKS)(_analyse_chunk)


def _long_chunk(chunk: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    pairs = [_analyse_chunk(piece) for piece in _slices(chunk)]
    return (
        tuple(term for indexed, _ in pairs for term in indexed),
        tuple(term for _, query in pairs for term in query),
    )


def _cjk_indexed(run: str) -> Iterator[str]:
    """Every pair of neighbours, and each Han or Hangul sign alone: 猫 and 집 are words, a single kana is not."""
    if len(run) == 1:
        yield run
        return
    yield from map("".join, pairwise(run))
    yield from _compiled(_ALONE).findall(run)


def _cjk_query(run: str) -> Iterator[str]:
    """Pairs, and each Han sign between kana: 猫が好き should also find 猫を飼う."""
    if len(run) == 1:
        yield run
        return
    yield from map("".join, pairwise(run))
    yield from _compiled(_LONE_HAN).findall(run)


def _token(token: str) -> Iterator[str]:
    """The whole token, then its parts, the largest first."""
    if token.isalpha():
        yield from _word(token)
    elif token.isdecimal() and token.isascii():
        yield token[:MAX_TERM_LENGTH]  # the levels below give the same at ten times the cost
    elif token.endswith(("++", "#")):
        yield token.casefold()
        yield token[0].casefold()
    elif token[0] in "#@":
        yield _fold(token)[:MAX_TERM_LENGTH]
        yield from _parts(token[1:], 0)
    else:
        yield from _parts(token, 0)


def _parts(token: str, level: int) -> Iterator[str]:
    """Splits at one level of signs after the other: paths and addresses, dashes and underscores, dots."""
    if level == len(_LEVELS):
        yield from _word(token)
        return
    if _DOTTED_NUMBER.fullmatch(token):
        yield from _dotted_number(token)
        return
    if _INITIALS.fullmatch(token):
        yield from _word(token.replace(".", ""))
        return
    if day := _ISO_DAY.fullmatch(token):
        yield token
        yield from map(_term, (str(int(day[3])), MONTHS[int(day[2]) - 1].casefold(), day[1]))
        return
    parts = [part for part in _LEVELS[level].split(token) if part]
    if len(parts) > 1:
        yield _fold(token)[:MAX_TERM_LENGTH]
    for part in parts:
        yield from _parts(part, level + 1)


def _dotted_number(number: str) -> Iterator[str]:
    """A version, an address or a decimal stays whole: its digits alone would match everything."""
    whole = _fold(number).replace(",", "")[:MAX_TERM_LENGTH]
    yield whole
    if whole[0] == "v":
        yield whole[1:]


def _word(word: str) -> Iterator[str]:
    if "'" in word:
        yield from _apostrophe(word)
        return
    if not word.isalpha():
        if ordinal := _ORDINAL.fullmatch(word):
            yield ordinal[1]
            return
        word = word.replace(",", "")
    plain = _fold(word)
    yield _term(plain)
    if not word.isascii():
        spelled_out = _fold(word.casefold().translate(_GERMAN))
        if spelled_out != plain:
            yield _term(spelled_out)
    elif _PLURAL_ACRONYM.fullmatch(word):
        yield _term(plain[:-1])
    elif len(word) <= MAX_TERM_LENGTH and not (word.islower() and word.isalpha()):
        yield from _pieces(word)


def _pieces(word: str) -> Iterator[str]:
    """The pieces of camelCase, HTTPServer2 and err4012. Single characters are left out, and a hash has no pieces."""
    pieces = _PIECE.findall(word)
    if len(pieces) > 1 and sum(map(str.isdigit, pieces)) <= 1:
        yield from (_term(piece.casefold()) for piece in pieces if len(piece) > 1)


def _apostrophe(word: str) -> Iterator[str]:
    """John's is John, don't is dont, o'brien is obrien and its parts."""
    contraction = _CONTRACTION.fullmatch(word)
    if contraction and "'" not in contraction[1]:
        yield from _word(contraction[1])
        return
    parts = [part for part in word.split("'") if part]
    yield from _word("".join(parts))
    if not word.casefold().endswith("n't"):
        for part in parts:
            yield from _word(part)


def _fold(word: str) -> str:
    """Lower case without accents: über, Straße and Łódź as typed on a plain keyboard."""
    folded = word.casefold()
    if folded.isascii():
        return folded
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", folded)).translate(_PLAIN)
    return unicodedata.normalize("NFC", bare)


def _term(plain: str) -> str:
    if len(plain) > MAX_TERM_LENGTH:
        return plain[:MAX_TERM_LENGTH]
    if plain.isascii() and plain.isalpha():
        # A new stemmer for each word takes 0.7 us; a shared one is not thread-safe.
        stem: str = Stemmer.Stemmer("english", 0).stemWord(plain)
        return stem
    return plain


STOP_TERMS = frozenset(term for word in _STOP_WORDS.split() for term in _word(word))
