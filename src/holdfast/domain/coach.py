"""The save coach: what is doubtful about a text, told without a model and in linear time, and what each vocabulary does
about it. Most texts hold none of the words looked for: one look tells."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from holdfast.domain.coach_words import (
    ADDRESSING,
    ENCODED,
    FAR_RELATIVE,
    FAR_SIGNS,
    KNOWN,
    LIVE,
    LOOKALIKES,
    NOW,
    NOW_WORDS,
    READINGS,
    RELATIVE,
    TRIGGERS,
    Sign,
    words_of,
)
from holdfast.domain.entry import Source
from holdfast.domain.standing_orders import gives_orders

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
    held = KNOWN.intersection(words_of(plain))
    if TRIGGERS.isdisjoint(held) and len(text) <= OVERSIZE_CHARACTERS and trusted and plain.isascii():
        return ()
    found = [Code.OVERSIZE] if len(text) > OVERSIZE_CHARACTERS else []
    if _speaks_to_it(plain, held) or (not trusted and _brings_orders(text, plain)):
        found.append(Code.INSTRUCTION)
    if _is_live_state(plain, held):
        found.append(Code.LIVE_STATE)
    if not dated and _is_relative(plain, held):
        found.append(Code.RELATIVE_DATE)
    return tuple(found)


def _is_live_state(plain: str, held: frozenset[str]) -> bool:
    """A reading, or a state said to hold now. What holds on a condition (`when`, `if`) is a lasting fact."""
    for reading in READINGS:
        if _matches(reading, plain, held):
            return True
    return not NOW_WORDS.isdisjoint(held) and any(
        LIVE.search(sentence)
        for sentence in _SENTENCE_ENDS.split(plain)
        if NOW.search(sentence) and not _CONDITION.search(sentence)
    )


_SENTENCE_ENDS = re.compile(r"[.!?;\n](?=\s|$)")
_CONDITION = re.compile(r"\b(?:when|whenever|if|unless|wenn|falls|sobald)\b")


def _is_relative(plain: str, held: frozenset[str]) -> bool:
    if _matches(RELATIVE, plain, held):
        return True
    return not plain.isascii() and any(sign in plain for sign in FAR_RELATIVE)


def _brings_orders(text: str, plain: str) -> bool:
    """What nobody stands behind may neither bring standing orders nor hide that it speaks to the model."""
    return gives_orders(plain) or any(map(_addresses, _hidden(text, plain)))


def _addresses(text: str) -> bool:
    plain = _plain(text)
    return _speaks_to_it(plain, KNOWN.intersection(words_of(plain)))


def _speaks_to_it(plain: str, held: frozenset[str]) -> bool:
    for word in held:
        for sign in _BY_WORD.get(word, ()):
            if _matches(sign, plain, held):
                return True
    return not plain.isascii() and any(
        all(any(sign in plain for sign in group) for group in groups) for groups in FAR_SIGNS
    )


def _by_word() -> Mapping[str, tuple[Sign, ...]]:
    """The signs that a word may be the first need of: of all signs a text with this word calls for a few."""
    signs: dict[str, tuple[Sign, ...]] = {}
    for sign in ADDRESSING:
        for word in sign.needs[0]:
            signs[word] = (*signs.get(word, ()), sign)
    return signs


_BY_WORD = _by_word()


def _matches(sign: Sign, plain: str, held: frozenset[str]) -> bool:
    for words in sign.needs:
        if words.isdisjoint(held):
            return False
    return sign.pattern.search(plain) is not None


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
