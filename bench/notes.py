"""Short notes as agents keep them: about 120 characters, a key with a slash, a category and a tag."""

from __future__ import annotations

from random import Random
from typing import TypedDict

NOTE_CHARACTERS = 120

_TEXT = """
account agenda alarm answer april archive august backup balance banner batch berlin billing branch bridge budget build
cache calendar carrier chapter checkout client cluster coffee column commit company contract copper corner customer
daily dashboard deadline default deploy design detail device dinner document draft driver editor email engine error
escalate evening export family feature february figure filter finance flight folder forecast format friday garden
gateway german github grace header holiday hotel image import incident index invoice iron issue january journal june
kernel keyboard kitchen label ladder laptop latency launch lawyer ledger letter library limit lisbon local lunch
machine manager march margin market meeting memory merge message metric migration minute mirror model monday monitor
morning museum network night north notebook november number october office onboarding order output oxygen package
page panel paper partner passport payment pencil phone pipeline planner policy postgres prefers printer profile
project protein quarter query queue rabbit reader receipt recipe region release remind rename report request review
rollout router runner sailing salary sample saturday schedule schema school script season secret server session
settings shadow shipping signal silver sister sketch software source spring staging station status steel storage
story stream student subject summer sunday supplier support surface table target teacher team template tenant terminal
thread thursday ticket timeline token train travel tuesday tunnel update upgrade vendor vienna village visit volume
wallet warning water weather website wednesday weekly window winter worker writer yellow zurich
"""
_WORDS = _TEXT.split()
_CATEGORIES = ("preference", "project", "person", "decision", "procedure", "event")
_PLACES = ("work", "home", "prefs", "people", "projects")


class Note(TypedDict):
    text: str
    key: str
    category: str
    tags: list[str]


def notes(seed: str, count: int, start: int = 0) -> list[Note]:
    """Reproducible notes of a seed; `start` goes on where an earlier call ended."""
    return [_note(Random(f"{seed} {number}"), number) for number in range(start, start + count)]


def _note(random: Random, number: int) -> Note:
    text = random.choice(_WORDS).capitalize()
    while len(text) < NOTE_CHARACTERS - 4:
        text += f" {random.choice(_WORDS)}"
    return Note(
        text=f"{text} {random.randrange(1_000)}.",
        key=f"{random.choice(_PLACES)}/{random.choice(_WORDS)}-{number}",
        category=random.choice(_CATEGORIES),
        tags=[random.choice(_WORDS)],
    )
