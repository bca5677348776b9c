"""Secrets in text: found by the shape of a provider's token, or by the words beside them, and replaced span by span.

Pure, and linear on any input: each pattern is anchored where a token or a key word starts and takes a bounded number of
characters. When in doubt a value beside "password" goes, and a value beside "token" stays.
"""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from holdfast.safety.secret_keywords import headers, keyed, url_passwords
from holdfast.safety.secret_patterns import (
    LONG,
    LONG_MARKED,
    Span,
    card_numbers,
    marked,
    may_hold_token,
    private_keys,
    tokens,
)


@dataclass(slots=True)
class Scrubbed:
    """The text without its secrets, and how many of each kind were in it, by kind. Not frozen, because one is made for
    every write: that costs half."""

    text: str
    found: tuple[tuple[str, int], ...] = ()

    @property
    def count(self) -> int:
        return sum(number for _, number in self.found)


def scrub(text: str, *, cards: bool = False) -> Scrubbed:
    """Replaces each secret by `[redacted:<kind>]` and nothing else. Scrubbing the result again changes nothing."""
    spans = _spans(text, cards)
    if not spans:
        return Scrubbed(text)
    spans = _merged(spans)
    found: dict[str, int] = {}
    for look in range(1, _LOOKS):
        whole = look >= _PATIENT or _is_crowd(spans, text)
        text, marks = _replaced(text, _whole_runs(text, spans) if whole else spans, found)
        spans = _merged(_beside(text, marks, cards))
        if not spans:
            break
    return Scrubbed(text, tuple(sorted(found.items())))


# A replaced neighbour can free the edge of a second secret, hence another look. Of 60,000 random mixtures of secrets
# one in two hundred needed it: secrets are glued to each other there, and what they are glued to goes with them.
_PATIENT = 2
_LOOKS = 8
_CROWD = 100
_CROWDED = 48
"""So many secrets, and one in so few characters, are no note: a second look at all of them is not worth its time."""
_NEAR = 128
"""How far beside what was replaced the next look goes, and how much it sees around that to judge it."""

_STEMS = (
    *("pass", "secret", "token", "key", "pw", "cred", "auth", "bearer", "basic"),
    *("pin", "kennwort", "contrase"),
)
_FAR_STEMS = ("パスワード", "密码", "密碼", "비밀번호")


_BLANKED = bytes(ord(" " if code < 128 and chr(code).isspace() else "x") for code in range(256))
_LONG_RUN = b"x" * LONG


def _spans(text: str, cards: bool) -> list[Span]:
    spans: list[Span] = []
    # Most texts hold no long run, and bytes tell that at a quarter of the price of words.
    if _LONG_RUN in text.encode("utf-8", "surrogatepass").translate(_BLANKED):
        long = [word for word in text.split() if len(word) >= LONG]
        if may_hold_token(long):
            spans += tokens(text)
        if any(len(word) >= LONG_MARKED for word in long):
            spans += marked(text)
        if long and "-----BEGIN" in text:
            spans += private_keys(text)
    if "://" in text:
        spans += url_passwords(text)
    lowered = _lowered(text)
    for stem in _STEMS if lowered.isascii() else _STEMS + _FAR_STEMS:
        if stem in lowered:
            spans += headers(text, lowered)
            spans += keyed(text, lowered)
            break
    if cards:
        spans += card_numbers(text)
    return spans


def _is_crowd(spans: list[Span], text: str) -> bool:
    return len(spans) > _CROWD and len(spans) * _CROWDED > len(text)


def _replaced(text: str, spans: list[Span], found: dict[str, int]) -> tuple[str, list[Span]]:
    """The text with marks in the place of spans, and where the marks stand."""
    parts: list[str] = []
    marks: list[Span] = []
    at = length = 0
    for span in spans:
        mark = f"[redacted:{span.kind}]"
        parts += (text[at : span.start], mark)
        length += span.start - at + len(mark)
        at = span.end
        marks.append(Span(length - len(mark), length, 0, span.kind))
        found[span.kind] = found.get(span.kind, 0) + 1
    return "".join((*parts, text[at:])), marks


def _beside(text: str, marks: list[Span], cards: bool) -> list[Span]:
    """Secrets near the marks: what lies further off has been looked at, and nothing changed there."""
    freed = [mark for mark in marks if _is_glued(text, mark)]
    runs = _whole_runs(text, freed) if freed else []
    windows = _merged([Span(max(0, run.start - _NEAR), run.end + _NEAR, 0, "") for run in runs])
    if 2 * sum(window.end - window.start for window in windows) > len(text):
        return _spans(text, cards)
    spans: list[Span] = []
    for window in windows:
        start, end = max(0, window.start - _NEAR), min(len(text), window.end + _NEAR)
        for span in _spans(text[start:end], cards):
            found = Span(span.start + start, span.end + start, span.rank, span.kind)
            if found.end == end < len(text):
                return _spans(text, cards)  # cut off: it goes on
            if found.start < window.end and found.end > window.start:
                spans.append(found)
    return spans


def _is_glued(text: str, mark: Span) -> bool:
    """Whether something else may end or begin where the mark stands."""
    return (
        text[max(0, mark.start - 1) : mark.start].strip(_APART) != ""
        or text[mark.end : mark.end + 1].strip(_APART) != ""
    )


_APART = " \t\r\n\"'`()<>|,;"


def _whole_runs(text: str, spans: list[Span]) -> list[Span]:
    """The same spans, each as far as there is no blank."""
    runs = [run.span() for run in _RUN.finditer(text)]
    starts, wide = [start for start, _ in runs], []
    for span in spans:
        first, last = bisect_right(starts, span.start) - 1, bisect_left(starts, span.end) - 1
        start = min(span.start, runs[first][0]) if first >= 0 else span.start
        wide.append(Span(start, max(span.end, runs[last][1]), span.rank, span.kind))
    return _merged(wide)


_RUN = re.compile(r"\S++")


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            best = min(last, span, key=lambda one: one.rank)
            merged[-1] = Span(last.start, max(last.end, span.end), best.rank, best.kind)
        else:
            merged.append(span)
    return merged


def _lowered(text: str) -> str:
    """Lower case with every character at its place: İ alone would become two."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.replace("İ", "i").lower()
