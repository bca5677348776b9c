"""Traits of a note that ranking uses beyond its words: four bits and a role, computed once when the note is written.
Also cuts long texts into chunks and composes the text to embed."""

import re
from enum import IntEnum, IntFlag

CHUNK_CHARACTERS = 600
READ_CHARACTERS = 600
PREVIOUS_CHARACTERS = 300

_QUESTION_MARKS = ("?", "？", "؟", "\u037e", "፧")  # Latin, full width, Arabic, Greek, Ethiopic
_CAPTION = re.compile(r"\s*\[[^\]]*\]\s*$")
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|weeks?|weekends?|months?|years?|morning|since|recently"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|january|february|march|april|may|june|july|august|september|october|november|december|\d+)\b"
    r"|\d[年月日時时년월일]",
    re.IGNORECASE,
)
_STANDING = re.compile(
    r"(?:^|[.!?]\s+)(?:please,? )?(?:always|never)\b|\bfrom now on\b|\bwhen(?:ever)? I ask\b", re.IGNORECASE
)
_USERS = frozenset({"user", "human"})
_ASSISTANTS = frozenset({"assistant", "system", "tool", "model", "ai", "bot"})
# A full stop inside `main.py` or 3.14 ends no sentence; the signs of CJK end one without a space.
_SENTENCE_END = re.compile(r"[.!?…]['\")\]]*\s+|[。！？｡]+\s*|\n\s*")
_SPACE = re.compile(r"\s+")


class Trait(IntFlag):
    """Bits of `SpaceArrays.traits`, stored with the note: never renumber."""

    ASKS = 1  # ends with a question
    HOLDS_QUESTION = 2
    TELLS_TIME = 4
    STANDING = 8  # an instruction from now on


class Role(IntEnum):
    """Values of `SpaceArrays.role`, stored with the note: never renumber."""

    NONE = 0  # no speaker: a plain fact, to which no chat signal applies
    PERSON = 1
    USER = 2
    ASSISTANT = 3


def traits_of(text: str) -> Trait:
    """Reads only the opening and the end, so a long body costs no more than a short one."""
    opening, end = text[:READ_CHARACTERS], text[-READ_CHARACTERS:]
    spoken = _CAPTION.sub("", end) if end.endswith("]") else end
    found = Trait(0)
    if spoken.rstrip().endswith(_QUESTION_MARKS):
        found |= Trait.ASKS
    if any(mark in opening for mark in _QUESTION_MARKS):
        found |= Trait.HOLDS_QUESTION
    if _TIME.search(opening):
        found |= Trait.TELLS_TIME
    if _STANDING.search(opening):
        found |= Trait.STANDING
    return found


def role_of(speaker: str | None) -> Role:
    """The role behind a speaker's name. Chat programs have names for their two sides; every other name is a
    person's."""
    name = (speaker or "").strip().casefold()
    if not name:
        return Role.NONE
    if name in _USERS:
        return Role.USER
    return Role.ASSISTANT if name in _ASSISTANTS else Role.PERSON


def chunks(text: str) -> list[str]:
    """Pieces of at most CHUNK_CHARACTERS in order, cut after a sentence where possible; at least one.

    Only white space is lost between two pieces."""
    if len(text) <= CHUNK_CHARACTERS:
        return [text]
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = _cut(text, start)
        if piece := text[start:end].strip():
            pieces.append(piece)
        start = end
    return pieces or [""]


def embedding_text(text: str, hint: str | None, previous: str | None) -> str:
    """The text to embed for a note. A short note carries the opening of the short note before it: "Yes, in May!" means
    nothing alone."""
    own = f"{hint}\n{text}" if hint else text
    if previous is None or len(own) > CHUNK_CHARACTERS or len(previous) > CHUNK_CHARACTERS:
        return own
    return f"{previous[:PREVIOUS_CHARACTERS]}\n{own}"


def _cut(text: str, start: int) -> int:
    """The end of the piece that begins at `start`: after the last sentence, else the last word, in its second half."""
    limit = start + CHUNK_CHARACTERS
    if limit >= len(text):
        return len(text)
    for gap in (_SENTENCE_END, _SPACE):
        ends = [match.end() for match in gap.finditer(text, start + CHUNK_CHARACTERS // 2, limit)]
        if ends:
            return ends[-1]
    return limit
