"""The save coach: what is doubtful about a text, told without a model and in linear time, and what each vocabulary does
about it. Most texts hold none of the words looked for: one look tells."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from holdfast.domain.entry import Source
from holdfast.safety.advice_patterns import (
    ADDRESSING,
    ENCODED,
    FAR_RELATIVE,
    FAR_SIGNS,
    LIVE,
    LIVE_WORDS,
    LOOKALIKES,
    NOW,
    NOW_WORDS,
    READINGS,
    RELATIVE,
    Sign,
    words_of,
)
from holdfast.safety.prompt_injection import gives_orders

OVERSIZE_CHARACTERS = 4_000
DECODED_AT_MOST = 8
"""Encoded passages that are looked into."""


class Code(StrEnum):
    LIVE_STATE = "live_state"
    RELATIVE_DATE = "relative_date"
    INSTRUCTION = "instruction"
    DUPLICATE = "duplicate"
    OVERSIZE = "oversize"


class Advice(NamedTuple):
    code: str
    message: str


SENTENCES: Mapping[Code, str] = {
    Code.LIVE_STATE: "This is a state that changes by itself; ask for it live instead of keeping it.",
    Code.RELATIVE_DATE: "It speaks of a day relative to today; write the date, or say `at`.",
    Code.INSTRUCTION: "It speaks to the model like an instruction; memories are kept as data.",
    Code.DUPLICATE: "A memory says the same already (`similar`); update it, or name it in `supersedes`.",
    Code.OVERSIZE: f"It is longer than {OVERSIZE_CHARACTERS:,} characters; short notes are found better.",
}


class Action(StrEnum):
    NOTE = "note"
    QUARANTINE = "quarantine"
    REFUSE = "refuse"


DEFAULT: Mapping[Code, Action] = dict.fromkeys(Code, Action.NOTE)
POLICY: Mapping[str, Mapping[Code, Action]] = {
    "assistant": {**DEFAULT, Code.LIVE_STATE: Action.REFUSE},
}
"""What a vocabulary does about a code; one that is not named here only notes it."""
LESS_TRUSTED = frozenset({Source.TOOL, Source.IMPORT})
"""Words that no person and no agent of theirs stands behind: when they speak to the model they are quarantined."""


def action(vocabulary: str, code: Code, source: Source) -> Action:
    if code is Code.INSTRUCTION and source in LESS_TRUSTED:
        return Action.QUARANTINE
    return POLICY.get(vocabulary, DEFAULT)[code]


def advised(codes: Iterable[Code]) -> tuple[Advice, ...]:
    return tuple(Advice(code.value, SENTENCES[code]) for code in codes)


def doubts(text: str, *, dated: bool = False, trusted: bool = True) -> tuple[Code, ...]:
    """What is doubtful about a text. `dated`: when it was said is known. What is not `trusted` is looked at for what
    hides: look-alike letters, characters that show nothing, encoded passages."""
    plain = _plain(text)
    called = _called_for(plain)
    if called is _NOTHING and len(text) <= OVERSIZE_CHARACTERS and trusted and plain.isascii():
        return ()
    found = [Code.OVERSIZE] if len(text) > OVERSIZE_CHARACTERS else []
    if _speaks_to_it(plain, called) or (not trusted and _brings_orders(text, plain)):
        found.append(Code.INSTRUCTION)
    if _is_live_state(plain, called):
        found.append(Code.LIVE_STATE)
    if not dated and _is_relative(plain, called):
        found.append(Code.RELATIVE_DATE)
    return tuple(found)


class _Called(NamedTuple):
    """The patterns to try on a text: those of whose every group of words it holds one."""

    addressing: tuple[re.Pattern[str], ...] = ()
    readings: tuple[re.Pattern[str], ...] = ()
    relative: tuple[re.Pattern[str], ...] = ()
    now: bool = False


_NOTHING = _Called()
_GROUPS: Mapping[frozenset[str], int] = {
    group: 1 << place
    for place, group in enumerate(
        dict.fromkeys(
            (
                NOW_WORDS,
                LIVE_WORDS,
                *chain.from_iterable(s.needs for s in (*ADDRESSING, *READINGS, *RELATIVE)),
            )
        )
    )
}
"""A bit for each group of words."""
_BITS: Mapping[str, int] = {
    word: sum(bit for group, bit in _GROUPS.items() if word in group) for word in frozenset().union(*_GROUPS)
}
"""The groups that a word is in."""
_KNOWN = frozenset(_BITS)


def _called_for(plain: str) -> _Called:
    held = 0
    for word in _KNOWN.intersection(words_of(plain)):
        held |= _BITS[word]
    return _met_by(held) if held else _NOTHING


@lru_cache(1_024)
def _met_by(held: int) -> _Called:
    def met(signs: Iterable[Sign]) -> tuple[re.Pattern[str], ...]:
        return tuple(sign.pattern for sign in signs if all(_GROUPS[group] & held for group in sign.needs))

    now = all(_GROUPS[group] & held for group in (NOW_WORDS, LIVE_WORDS))
    called = _Called(met(ADDRESSING), met(READINGS), met(RELATIVE), now)
    return _NOTHING if called == _NOTHING else called


def _is_live_state(plain: str, called: _Called) -> bool:
    """A reading, or a state said to hold now. What holds on a condition (`when`, `if`) is a lasting fact."""
    return _finds(called.readings, plain) or (
        called.now
        and any(
            LIVE.search(sentence)
            for sentence in _SENTENCE_ENDS.split(plain)
            if NOW.search(sentence) and not _CONDITION.search(sentence)
        )
    )


_SENTENCE_ENDS = re.compile(r"[.!?;\n](?=\s|$)")
_CONDITION = re.compile(r"\b(?:when|whenever|if|unless|wenn|falls|sobald)\b")


def _is_relative(plain: str, called: _Called) -> bool:
    if _finds(called.relative, plain):
        return True
    return not plain.isascii() and any(sign in plain for sign in FAR_RELATIVE)


def _brings_orders(text: str, plain: str) -> bool:
    """What nobody stands behind may neither bring standing orders nor hide that it speaks to the model."""
    return gives_orders(plain) or any(map(_addresses, _hidden(text, plain)))


def _addresses(text: str) -> bool:
    plain = _plain(text)
    return _speaks_to_it(plain, _called_for(plain))


def _speaks_to_it(plain: str, called: _Called) -> bool:
    if _finds(called.addressing, plain):
        return True
    return not plain.isascii() and any(
        all(any(sign in plain for sign in group) for group in groups) for groups in FAR_SIGNS
    )


def _finds(patterns: tuple[re.Pattern[str], ...], plain: str) -> bool:
    return bool(patterns) and any(pattern.search(plain) for pattern in patterns)


def _plain(text: str) -> str:
    """Lower case, without characters that show nothing."""
    lowered = text.lower()
    if lowered.isascii():
        return lowered
    folded = unicodedata.normalize("NFKC", lowered)
    return "".join(sign for sign in folded if unicodedata.category(sign) != "Cf")


def _hidden(text: str, plain: str) -> list[str]:
    """What a text says when its look-alikes, its spread letters and its encoded passages are read."""
    alike = plain.translate(LOOKALIKES)
    read = [alike, _gathered(plain), _gathered(alike)]
    for found in list(ENCODED.finditer(text))[:DECODED_AT_MOST]:
        try:
            read.append(base64.b64decode(found[0] + "=" * (-len(found[0]) % 4)).decode("utf-8"))
        except (ValueError, binascii.Error):
            continue
    return read


def _gathered(plain: str) -> str:
    return _SPREAD.sub(lambda found: found[0].replace(" ", ""), plain)


_SPREAD = re.compile(r"\b(?:\w ){4,80}\w\b")
