"""Notes and questions whose words are spread as people's are: few words often, thousands seldom. The words are those of
Python's own help texts, in every installation, and names put together from them, as coding agents write."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from pydoc_data.topics import topics
from random import Random
from typing import Any

NOTE_CHARACTERS = 120
FILLING = 40
"""The most frequent words, which no question asks for."""

_NAMES = 3_000
_NAME_WEIGHT = 1.0
_TURNS = 20
_SPEAKERS = ("user", "assistant", "Mila", "Jonas", "Priya")
_BEGAN = datetime(2031, 1, 1, tzinfo=UTC)


@cache
def _vocabulary() -> tuple[list[str], list[float]]:
    """Words, the most frequent first, and their weights added up."""
    found = Counter(word.lower() for word in re.findall(r"\b[A-Za-z]{2,14}\b", " ".join(topics.values())))
    ranked = [word for word, _ in found.most_common()]
    random = Random("names")
    names = dict.fromkeys("_".join(random.choices(ranked[FILLING:], k=2)) for _ in range(_NAMES))
    weights = [*(float(found[word]) for word in ranked), *([_NAME_WEIGHT] * len(names))]
    return [*ranked, *names], list(accumulate(weights))


def plain_text(random: Random) -> str:
    words, weights = _vocabulary()
    text = ""
    while len(text) < NOTE_CHARACTERS:
        text += " ".join(random.choices(words, cum_weights=weights, k=6)) + " "
    return text[:NOTE_CHARACTERS].rsplit(" ", 1)[0].capitalize() + "."


def wordy_notes(seed: str, count: int, start: int = 0) -> list[dict[str, Any]]:
    """Arguments of remember(): every other note is a plain fact, the others are turns of conversations."""
    return [_note(seed, number) for number in range(start, start + count)]


def _note(seed: str, number: int) -> dict[str, Any]:
    random = Random(f"{seed} {number}")
    text = plain_text(random)
    if number % 2:
        return {"text": text, "key": f"notes/{number}", "tags": [random.choice(("work", "home", "travel"))]}
    conversation = number // (2 * _TURNS)
    return {
        "text": text,
        "conversation": f"chat-{conversation}",
        "speaker": random.choice(_SPEAKERS),
        "at": (_BEGAN + timedelta(hours=conversation, minutes=number % (2 * _TURNS))).isoformat(),
    }


def questions(seed: str, notes: int, count: int) -> list[str]:
    """Two to six words out of one of the notes, the filling ones left out, in another order."""
    random = Random(f"{seed} questions")
    filling = set(_vocabulary()[0][:FILLING])
    asked: list[str] = []
    while len(asked) < count:
        text = _note(seed, random.randrange(notes))["text"]
        words = [word for word in text.lower().rstrip(".").split() if word not in filling]
        if len(words) > 1:
            asked.append(" ".join(random.sample(words, k=min(len(words), random.randint(2, 6)))))
    return asked
