"""Advice on a text, found without a model and in linear time, and the action of each vocabulary. Most texts hold no
trigger word, so one set intersection suffices."""

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
MAX_DECODED = 8
"""Encoded passages that are decoded per text."""


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
    Code.LIVE_STATE: "This looks temporary. Give it a time to live, or don't save it.",
    Code.RELATIVE_DATE: "A day relative to today will be ambiguous later. Write the date, or set `at`.",
    Code.INSTRUCTION: "This reads like an instruction to the model. It is stored as plain data.",
    Code.DUPLICATE: "A similar memory exists (`similar`). Update it, or name it in `supersedes`.",
    Code.OVERSIZE: f"This is longer than {OVERSIZE_CHARACTERS:,} characters. Short notes are easier to find.",
}


class Action(StrEnum):
    NOTE = "note"
    QUARANTINE = "quarantine"
    REFUSE = "refuse"


DEFAULT: Mapping[Code, Action] = dict.fromkeys(Code, Action.NOTE)
POLICY: Mapping[str, Mapping[Code, Action]] = {
    "assistant": {**DEFAULT, Code.LIVE_STATE: Action.REFUSE},
}
"""The action of a vocabulary for each code; vocabularies that are not listed only note it."""
LESS_TRUSTED = frozenset({Source.TOOL, Source.IMPORT})
"""Sources without a person behind them: their instructions to the model are quarantined."""


def action(vocabulary: str, code: Code, source: Source) -> Action:
    if code is Code.INSTRUCTION and source in LESS_TRUSTED:
        return Action.QUARANTINE
    return POLICY.get(vocabulary, DEFAULT)[code]


def advised(codes: Iterable[Code]) -> tuple[Advice, ...]:
    return tuple(Advice(code.value, SENTENCES[code]) for code in codes)


def doubts(text: str, *, dated: bool = False, trusted: bool = True) -> tuple[Code, ...]:
    """Returns the codes that apply to a text. `dated` texts have a known time. Texts that are not `trusted` are also
    searched for hidden instructions: look-alike letters, invisible characters, encoded passages."""
    plain = _plain(text)
    patterns = _patterns_for(plain)
    if patterns is _NONE and len(text) <= OVERSIZE_CHARACTERS and trusted and plain.isascii():
        return ()
    found = [Code.OVERSIZE] if len(text) > OVERSIZE_CHARACTERS else []
    if _addresses_model(plain, patterns) or (not trusted and _smuggles_orders(text, plain)):
        found.append(Code.INSTRUCTION)
    if _is_live_state(plain, patterns):
        found.append(Code.LIVE_STATE)
    if not dated and _is_relative(plain, patterns):
        found.append(Code.RELATIVE_DATE)
    return tuple(found)


class _Patterns(NamedTuple):
    """The patterns to try on a text, which holds a word of each of their groups."""

    addressing: tuple[re.Pattern[str], ...] = ()
    readings: tuple[re.Pattern[str], ...] = ()
    relative: tuple[re.Pattern[str], ...] = ()
    now: bool = False


_NONE = _Patterns()
_GROUPS: Mapping[frozenset[str], int] = {
    group: 1 << position
    for position, group in enumerate(
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


def _patterns_for(plain: str) -> _Patterns:
    groups = 0
    for word in _KNOWN.intersection(words_of(plain)):
        groups |= _BITS[word]
    return _patterns_of(groups) if groups else _NONE


@lru_cache(1_024)
def _patterns_of(groups: int) -> _Patterns:
    def matching(signs: Iterable[Sign]) -> tuple[re.Pattern[str], ...]:
        return tuple(sign.pattern for sign in signs if all(_GROUPS[group] & groups for group in sign.needs))

    now = all(_GROUPS[group] & groups for group in (NOW_WORDS, LIVE_WORDS))
    patterns = _Patterns(matching(ADDRESSING), matching(READINGS), matching(RELATIVE), now)
    return _NONE if patterns == _NONE else patterns


def _is_live_state(plain: str, patterns: _Patterns) -> bool:
    """Matches a reading, or a state that holds now. A state under a condition (`when`, `if`) is a lasting fact."""
    return _matches(patterns.readings, plain) or (
        patterns.now
        and any(
            LIVE.search(sentence)
            for sentence in _SENTENCE_ENDS.split(plain)
            if NOW.search(sentence) and not _CONDITION.search(sentence)
        )
    )


_SENTENCE_ENDS = re.compile(r"[.!?;\n](?=\s|$)")
_CONDITION = re.compile(r"\b(?:when|whenever|if|unless|wenn|falls|sobald)\b")


def _is_relative(plain: str, patterns: _Patterns) -> bool:
    if _matches(patterns.relative, plain):
        return True
    return not plain.isascii() and any(sign in plain for sign in FAR_RELATIVE)


def _smuggles_orders(text: str, plain: str) -> bool:
    """Matches persistent orders, and hidden text that addresses the model."""
    if gives_orders(plain):
        return True
    hidden = map(_plain, _hidden_texts(text, plain))
    return any(_addresses_model(each, _patterns_for(each)) for each in hidden)


def _addresses_model(plain: str, patterns: _Patterns) -> bool:
    if _matches(patterns.addressing, plain):
        return True
    return not plain.isascii() and any(
        all(any(sign in plain for sign in group) for group in groups) for groups in FAR_SIGNS
    )


def _matches(patterns: tuple[re.Pattern[str], ...], plain: str) -> bool:
    return bool(patterns) and any(pattern.search(plain) for pattern in patterns)


def _plain(text: str) -> str:
    """Returns the text in lower case, without invisible characters."""
    lowered = text.lower()
    if lowered.isascii():
        return lowered
    folded = unicodedata.normalize("NFKC", lowered)
    return "".join(sign for sign in folded if unicodedata.category(sign) != "Cf")


def _hidden_texts(text: str, plain: str) -> list[str]:
    """Returns the text with look-alike letters replaced, spaced-out letters joined, and encoded passages decoded."""
    latin = plain.translate(LOOKALIKES)
    texts = [latin, _joined(plain), _joined(latin)]
    for found in list(ENCODED.finditer(text))[:MAX_DECODED]:
        try:
            texts.append(base64.b64decode(found[0] + "=" * (-len(found[0]) % 4)).decode("utf-8"))
        except (ValueError, binascii.Error):
            continue
    return texts


def _joined(plain: str) -> str:
    return _SPACED_OUT.sub(lambda found: found[0].replace(" ", ""), plain)


_SPACED_OUT = re.compile(r"\b(?:\w ){4,80}\w\b")
