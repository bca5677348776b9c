"""The arrays of one space that a ranking reads. Pure values. Entries are numbered 0..n-1, newest last: ties go to the
newer entry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from holdfast.text.analyser import analyse
from holdfast.text.question import MONTH_TERMS, WEEKDAY_TERMS, name_terms
from holdfast.text.traits import Role, Trait


@dataclass(frozen=True, slots=True)
class Constants:
    """Weights of words beside meaning beside chat signals; a factor of 0.1 is ten per cent."""

    # Words
    k1: float = 0.6
    b: float = 0.5
    hint_weight: float = 3.0
    label_weight: float = 2.0  # tags and key
    request_word: float = 0.5  # "list", "summarise", "mention": for the assistant, seldom in the evidence
    speaker_term: float = 1.0
    date_term: float = 1.0
    # Term frequency that a short note borrows from the notes around it
    from_previous: float = 0.1
    from_question: float = 0.4  # more, when the previous note asks
    from_next: float = 0.2
    from_second_previous: float = 0.2
    from_second_next: float = 0.1
    # Fusion
    meaning: float = 1.2  # weight of the vectors beside 1.0 for words
    meaning_misled: float = 0.4  # where a name that many notes hold draws the question's vector to them
    conversation: float = 0.6  # share of the conversation's best note
    conversation_gathering: float = 0.2  # for a question that gathers from many conversations
    # Factors, which add up
    named_speaker: float = 0.1
    named_speaker_gathering: float = 0.3
    named_date: float = 0.3
    asks: float = 0.1
    answers: float = 0.1
    length: float = 0.1
    tells_time: float = 0.1
    tells_time_when_asked: float = 0.2
    standing: float = 0.2  # an instruction of the user's that holds from now on
    pinned: float = 0.1
    assistant: float = 0.5  # factor for notes of an assistant, unless the question is about them


DEFAULT = Constants()


Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]

NOBODY = -1
NO_DAY = -(2**31)
NO_ENTRIES: Ints = np.zeros(0, dtype=np.int32)


class TermField(IntEnum):
    """Values of `Occurrences.fields`."""

    HINT = 0
    TAGS = 1
    KEY = 2
    BODY = 3


@dataclass(frozen=True, slots=True)
class SpaceArrays:
    """A unit is a chunk of an entry. `unit_entry` ascends: each entry has at least one unit, and its units are
    adjacent."""

    unit_entry: Ints
    unit_length: Floats  # terms of the chunk; the first chunk's also counts hint, tags and key
    body_start: Ints  # position of the chunk's first term in its entry's body
    conversation: Ints  # number of the conversation, NOBODY without one
    previous: Ints  # the note before in the same conversation, NOBODY at its start
    following: Ints
    speaker: Ints  # number into `names`, NOBODY without one
    names: tuple[str, ...]
    role: Bytes
    traits: Bytes
    characters: Ints
    pinned: Bools
    day: Ints  # days since 1970-01-01 UTC of `at`, NO_DAY where unset

    @property
    def size(self) -> int:
        return len(self.role)


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Every occurrence of some terms in a space, in any order: the term's number, the entry, the field, and the offset
    among the field's terms."""

    terms: Ints
    entries: Ints
    fields: Bytes
    offsets: Ints

    def counted_as(self, others: Sequence[int]) -> Occurrences:
        """Renumbers the terms, so that the corrections of a mistyped word count as that word."""
        return replace(self, terms=np.array(others, dtype=np.int32)[self.terms])


def neighbours(conversation: Ints, order: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """The previous and the following note of every entry, by `order` in its conversation; of a tie the newer is
    last."""
    size = len(conversation)
    previous = np.full(size, NOBODY, dtype=np.int32)
    following = np.full(size, NOBODY, dtype=np.int32)
    by_place = np.lexsort((order, conversation)).astype(np.int32)
    left, right = by_place[:-1], by_place[1:]
    together = (conversation[left] == conversation[right]) & (conversation[left] != NOBODY)
    previous[right[together]] = left[together]
    following[left[together]] = right[together]
    return previous, following


UNIT_KEY_SHIFT = 32
LENT_TO = 4
_BODY = int(TermField.BODY)  # looking up a member of an enumeration costs a microsecond


@dataclass(frozen=True, slots=True)
class Lending:
    """The notes around each chunk that borrow its words, and their shares: one row for each chunk, because rows are
    read together. A missing neighbour is the chunk itself, with a share of 0."""

    lends: Bools  # True where any note borrows
    borrowers: Ints
    shares: Floats


@dataclass(frozen=True, slots=True)
class Talks:
    """The entries that have a conversation, one conversation after the other."""

    entries: NDArray[np.intp]
    starts: NDArray[np.intp]
    lengths: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Calendar:
    """The parts of every entry's day, all zero where `at` is unset."""

    year: Ints
    month: Bytes  # 1..12
    day: Bytes  # 1..31
    weekday: Bytes  # 1..7

    def entries(self, term: str) -> Ints:
        """Entries whose day is called by this term, as in "8 May 2023 Monday"."""
        if term in MONTH_TERMS:
            return _positions(self.month == MONTH_TERMS[term])
        if term in WEEKDAY_TERMS:
            return _positions(self.weekday == WEEKDAY_TERMS[term] + 1)
        number = int(term) if term.isdecimal() and len(term) <= 4 else 0
        if not number:
            return NO_ENTRIES
        return _positions(self.day == number if number <= 31 else self.year == number)


@dataclass(frozen=True, slots=True)
class Parts:
    """The spaces that `join_arrays` joined into one: what is judged within a space stays so."""

    starts: NDArray[np.intp]  # the first entry of each
    sizes: NDArray[np.intp]
    of_entry: NDArray[np.intp]
    of_name: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class RankingArrays:
    space: SpaceArrays
    constants: Constants
    unit_norm: Floats
    unit_starts: Ints
    unit_keys: NDArray[np.int64]
    one_chunk_each: bool
    field_weight: Floats  # by TermField
    talk: Bools
    lending: Lending
    calendar: Calendar
    name_terms: Mapping[str, tuple[int, ...]]  # the people a term may name, as numbers into `space.names`
    talks: Talks
    role: Floats
    fixed_factors: Mapping[str, Floats]
    factor: Floats  # 1 plus the fixed factors
    tells_time: Floats
    nothing: Floats  # a zero for every entry
    parts: Parts | None = None  # None for a space by itself

    def units(self, found: Occurrences) -> Ints:
        """The chunk of each occurrence; fields other than the body count for the first."""
        if self.one_chunk_each:
            return found.entries
        keys = (found.entries.astype(np.int64) << UNIT_KEY_SHIFT) + found.offsets
        in_body = (np.searchsorted(self.unit_keys, keys, side="right") - 1).astype(np.int32)
        return np.where(found.fields == _BODY, in_body, self.unit_starts[found.entries])

    def all_units(self, entries: Ints) -> Ints:
        """Every chunk of these entries."""
        if self.one_chunk_each:
            return entries
        chosen = np.zeros(self.space.size, dtype=np.bool_)
        chosen[entries] = True
        return _positions(chosen[self.space.unit_entry])

    def spoken_by(self, people: tuple[int, ...]) -> Ints:
        """Entries of these people, by their numbers in `space.names`."""
        if not people:
            return NO_ENTRIES
        # One more element, which NOBODY reaches as the last index, stays False.
        is_named = np.zeros(len(self.space.names) + 1, dtype=np.bool_)
        is_named[list(people)] = True
        return _positions(is_named[self.space.speaker] & self.talk)

    def people_named(self, text: str) -> list[str]:
        """The names of people who share a word with this text, for `in_first_person`."""
        if not self.name_terms:
            return []
        numbers = {number for term in analyse(text) for number in self.name_terms.get(term, ())}
        return [self.space.names[number] for number in sorted(numbers)]


def prepare_arrays(space: SpaceArrays, constants: Constants = DEFAULT) -> RankingArrays:
    average = max(float(space.unit_length.mean()), 1e-9) if len(space.unit_length) else 1.0
    norm = 1.0 - constants.b + constants.b * (space.unit_length / np.float32(average))
    fixed = _fixed_factors(space, constants)
    return RankingArrays(
        space=space,
        constants=constants,
        unit_norm=norm.astype(np.float32),
        unit_starts=np.flatnonzero(np.diff(space.unit_entry, prepend=-1)).astype(np.int32),
        unit_keys=(space.unit_entry.astype(np.int64) << UNIT_KEY_SHIFT) + space.body_start,
        one_chunk_each=len(space.unit_entry) == space.size,
        field_weight=_field_weight(constants),
        talk=_talk(space),
        lending=_lending(space, constants),
        calendar=_calendar(space.day),
        name_terms=_people(space),
        talks=_talks(space.conversation),
        role=np.where(space.role == Role.ASSISTANT, constants.assistant, 1.0).astype(np.float32),
        fixed_factors=fixed,
        factor=sum(fixed.values(), np.ones(space.size, dtype=np.float32)),
        tells_time=(_has(space, Trait.TELLS_TIME) & _talk(space)).astype(np.float32),
        nothing=np.zeros(space.size, dtype=np.float32),
    )


def _field_weight(constants: Constants) -> Floats:
    weight = np.ones(len(TermField), dtype=np.float32)
    weight[TermField.HINT] = constants.hint_weight
    weight[[TermField.TAGS, TermField.KEY]] = constants.label_weight
    return weight


def _fixed_factors(space: SpaceArrays, constants: Constants) -> dict[str, Floats]:
    talk = _talk(space)
    answers = (space.previous != NOBODY) & _has(space, Trait.HOLDS_QUESTION)[space.previous] & talk
    length = np.clip(np.log(np.maximum(space.characters, 1) / 100.0), -1.5, 1.5)
    factors = {
        "asks": -constants.asks * (_has(space, Trait.ASKS) & talk),
        "answers": constants.answers * answers,
        "length": constants.length * length * talk,
        "tells time": constants.tells_time * (_has(space, Trait.TELLS_TIME) & talk),
        "standing": constants.standing * (_has(space, Trait.STANDING) & (space.role == Role.USER)),
        "pinned": constants.pinned * space.pinned,
    }
    return {name: part.astype(np.float32) for name, part in factors.items()}


def _lending(space: SpaceArrays, constants: Constants) -> Lending:
    if (space.previous == NOBODY).all():
        return _no_lending(len(space.unit_entry))
    single: Bools = np.bincount(space.unit_entry, minlength=space.size) == 1
    everyone = np.arange(space.size, dtype=np.int32)
    previous, following = _step(everyone, space.previous, single), _step(everyone, space.following, single)
    asks = _has(space, Trait.HOLDS_QUESTION) & _talk(space)
    answered = constants.from_previous + constants.from_question
    lent = [
        (following, np.where(asks, answered, constants.from_previous)),
        (previous, np.full(space.size, constants.from_next)),
        (_step(following, space.following, single), np.full(space.size, constants.from_second_previous)),
        (_step(previous, space.previous, single), np.full(space.size, constants.from_second_next)),
    ]
    own = np.arange(len(space.unit_entry), dtype=np.int32)
    first = np.searchsorted(space.unit_entry, everyone).astype(np.int32)
    borrowers = np.stack([to[space.unit_entry] for to, _ in lent], axis=1)
    shares = np.stack([share[space.unit_entry] for _, share in lent], axis=1).astype(np.float32)
    nobody = borrowers == NOBODY
    return Lending(
        lends=~nobody.all(axis=1),
        borrowers=np.where(nobody, own[:, None], first[borrowers]) if len(first) else borrowers,
        shares=np.where(nobody, np.float32(0.0), shares),
    )


def _no_lending(units: int) -> Lending:
    """The lending of a space without neighbours. Most are, and each write there prepares them again."""
    return Lending(
        lends=np.zeros(units, dtype=np.bool_),
        borrowers=np.repeat(np.arange(units, dtype=np.int32)[:, None], LENT_TO, axis=1),
        shares=np.zeros((units, LENT_TO), dtype=np.float32),
    )


def _step(start: Ints, pointer: Ints, single: Bools) -> Ints:
    """Goes one step along `pointer` from each start. Stops at a long note: only short notes lend and borrow."""
    target = np.where(start == NOBODY, NOBODY, pointer[start])
    return np.where((target != NOBODY) & single[target] & single, target, NOBODY).astype(np.int32)


def _talks(conversation: Ints) -> Talks:
    order = np.argsort(conversation, kind="stable")
    entries = order[np.count_nonzero(conversation == NOBODY) :]
    starts = np.flatnonzero(np.diff(conversation[entries], prepend=NOBODY))
    return Talks(entries, starts, np.diff(starts, append=len(entries)))


def _calendar(day: Ints) -> Calendar:
    known = day != NO_DAY
    days = np.where(known, day, 0).astype("datetime64[D]")
    months, years = days.astype("datetime64[M]"), days.astype("datetime64[Y]")
    return Calendar(
        year=np.where(known, years.astype(np.int64) + 1970, 0).astype(np.int32),
        month=np.where(known, months.astype(np.int64) % 12 + 1, 0).astype(np.uint8),
        day=np.where(known, (days - months).astype(np.int64) + 1, 0).astype(np.uint8),
        # 1 January 1970 was a Thursday.
        weekday=np.where(known, (day.astype(np.int64) + 3) % 7 + 1, 0).astype(np.uint8),
    )


def _people(space: SpaceArrays) -> dict[str, tuple[int, ...]]:
    people: defaultdict[str, list[int]] = defaultdict(list)
    talking = np.unique(space.speaker[_talk(space)])
    for number in talking[talking != NOBODY].tolist():
        for term in name_terms(space.names[number]):
            people[term].append(number)
    return {term: tuple(numbers) for term, numbers in people.items()}


def _talk(space: SpaceArrays) -> Bools:
    """Notes that one person said to another: there questions, answers and length mean something."""
    talk: Bools = space.role == Role.PERSON
    return talk


def _has(space: SpaceArrays, trait: Trait) -> Bools:
    held: Bools = (space.traits & trait) != 0
    return held


def _positions(where: Bools) -> Ints:
    return np.flatnonzero(where).astype(np.int32)
