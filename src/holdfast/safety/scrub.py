"""Finds secrets in text, by the shape of a provider's token or by the words beside them, and replaces them.

Pure and linear: each pattern is anchored at the start of a token or a key word and reads a bounded number of
characters. When in doubt, a value beside "password" is replaced and a value beside "token" is kept.
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

Redactions = tuple[tuple[str, int], ...]
"""The number of secrets of each kind that were taken out."""


@dataclass(slots=True)
class Scrubbed:
    """The text without its secrets, and their number by kind. Not frozen: one is made per write, at half the cost."""

    text: str
    found: Redactions = ()

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
    for scan in range(1, _MAX_SCANS):
        is_crowd = len(spans) > _CROWD and len(spans) * _CROWDED > len(text)
        whole = scan >= _WHOLE_RUNS_FROM or is_crowd
        text, marks = _replaced(text, _whole_runs(text, spans) if whole else spans, found)
        spans = _merged(_beside(text, marks, cards))
        if not spans:
            break
    return Scrubbed(text, tuple(sorted(found.items())))


# Replacing a secret can free the edge of its neighbour, hence another scan: 1 in 200 of 60,000 random mixtures needs
# it. From the second scan on, adjoining secrets go as one run.
_WHOLE_RUNS_FROM = 2
_MAX_SCANS = 8
_CROWD = 100
_CROWDED = 48
"""With more secrets than _CROWD, one per _CROWDED characters, whole runs are replaced at the first scan."""
_NEAR = 128
"""Characters around a replaced secret that the next scan covers, and as many more for context."""

_STEMS = (
    *("pass", "secret", "token", "key", "pw", "cred", "auth", "bearer", "basic"),
    *("pin", "kennwort", "contrase"),
)
_FAR_STEMS = ("パスワード", "密码", "密碼", "비밀번호")


_BLANKED = bytes(ord(" " if code < 128 and chr(code).isspace() else "x") for code in range(256))
_LONG_RUN = b"x" * LONG


def _spans(text: str, cards: bool) -> list[Span]:
    spans: list[Span] = []
    # Most texts hold no long run; checking bytes takes a quarter of the time of splitting words.
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
    lowered = text.lower()
    if len(lowered) != len(text):  # İ alone would become two characters
        lowered = text.replace("İ", "i").lower()
    for stem in _STEMS if lowered.isascii() else _STEMS + _FAR_STEMS:
        if stem in lowered:
            spans += headers(text, lowered)
            spans += keyed(text, lowered)
            break
    if cards:
        spans += card_numbers(text)
    return spans


def _replaced(text: str, spans: list[Span], found: dict[str, int]) -> tuple[str, list[Span]]:
    """Returns the text with marks instead of the spans, and the positions of the marks."""
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
    """Returns the secrets near the marks; the rest of the text was scanned and has not changed."""
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
                return _spans(text, cards)  # cut off by the window
            if found.start < window.end and found.end > window.start:
                spans.append(found)
    return spans


def _is_glued(text: str, mark: Span) -> bool:
    """Tells that another secret may touch the mark."""
    return (
        text[max(0, mark.start - 1) : mark.start].strip(_APART) != ""
        or text[mark.end : mark.end + 1].strip(_APART) != ""
    )


_APART = " \t\r\n\"'`()<>|,;"


def _whole_runs(text: str, spans: list[Span]) -> list[Span]:
    """Returns the spans, each extended to the next blank on both sides."""
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
            best = min(last, span, key=lambda each: each.rank)
            merged[-1] = Span(last.start, max(last.end, span.end), best.rank, best.kind)
        else:
            merged.append(span)
    return merged
