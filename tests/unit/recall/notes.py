"""Notes of a space as a test writes them, turned into the arrays that storage delivers."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from holdfast.recall.arrays import (
    DEFAULT,
    NO_DAY,
    NOBODY,
    Bools,
    Constants,
    Floats,
    Occurrences,
    RankingArrays,
    SpaceArrays,
    TermField,
    neighbours,
    prepare_arrays,
)
from holdfast.recall.bm25 import Postings, WordScores, read_postings, score_words
from holdfast.recall.fusion import Ranking, Scale, fuse
from holdfast.text.analyser import analyse
from holdfast.text.question import Question, read_question
from holdfast.text.traits import chunks, role_of, traits_of


@dataclass(frozen=True, slots=True)
class Note:
    text: str
    speaker: str | None = None
    conversation: str | None = None
    hint: str = ""
    tags: tuple[str, ...] = ()
    key: str = ""
    at: date | None = None
    pinned: bool = False


Place = tuple[int, int, TermField, int]
"""Number of the term, entry, field, offset."""


def occurrences(places: Sequence[Place]) -> Occurrences:
    terms, entries, fields, offsets = zip(*places, strict=True) if places else ((), (), (), ())
    return Occurrences(
        np.array(terms, np.int32),
        np.array(entries, np.int32),
        np.array(fields, np.uint8),
        np.array(offsets, np.int32),
    )


class Notebook:
    """A space, its word index and its arrays; the last note is the newest."""

    def __init__(self, *notes: Note | str, constants: Constants = DEFAULT) -> None:
        written = [note if isinstance(note, Note) else Note(note) for note in notes]
        self.index: defaultdict[str, list[tuple[int, TermField, int]]] = defaultdict(list)
        units: list[tuple[int, int, int]] = []
        for entry, note in enumerate(written):
            bodies = [analyse(piece) for piece in chunks(note.text)]
            fields = {
                TermField.HINT: analyse(note.hint),
                TermField.TAGS: [term for tag in note.tags for term in analyse(tag)],
                TermField.KEY: analyse(note.key),
                TermField.BODY: [term for body in bodies for term in body],
            }
            extra = sum(len(fields[place]) for place in (TermField.HINT, TermField.TAGS, TermField.KEY))
            start = 0
            for body in bodies:
                units.append((entry, len(body) + (0 if start else extra), start))
                start += len(body)
            for place, terms in fields.items():
                for offset, term in enumerate(terms):
                    self.index[term].append((entry, place, offset))
        self.arrays: RankingArrays = prepare_arrays(_space(written, units), constants)

    def places(self, question: Question) -> list[Place]:
        return [
            (number, *place)
            for number, term in enumerate(question.terms)
            for place in self.index.get(term, ())
        ]

    def postings(self, question: Question) -> Postings:
        return read_postings(self.arrays, question, occurrences(self.places(question)))

    def words(self, text: str, rarity: Sequence[float] | None = None) -> WordScores:
        return score_words(self.arrays, self.postings(read_question(text)), rarity)

    def recall(
        self, text: str, cosine: Sequence[float] | None = None, scale: Scale | None = None, limit: int = 10
    ) -> Ranking:
        question = read_question(text)
        postings = self.postings(question)
        scores = score_words(self.arrays, postings)
        known: Floats | None = None if cosine is None else np.array(cosine, np.float32)
        return fuse(self.arrays, question, postings, scores, known, scale, limit)


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ranks from 1, None where the entry has none: no word, no vector, or not among the hits."""

    words: int | None
    meaning: int | None
    final: int | None


def ranks_of(ranking: Ranking, entry: int) -> Ranks:
    return Ranks(
        words=_rank(ranking.words, ranking.words > 0.0, entry),
        meaning=_rank(ranking.meaning, ranking.meaning > 0.0, entry),
        final=_rank(ranking.scores, ranking.hits, entry),
    )


def hits_above(ranking: Ranking, score: float) -> int:
    return int(np.count_nonzero(ranking.hits & (ranking.scores > score)))


def _rank(scores: Floats, counted: Bools, entry: int) -> int | None:
    if not counted[entry]:
        return None
    newer = counted[entry + 1 :] & (scores[entry + 1 :] == scores[entry])
    return 1 + int(np.count_nonzero(counted & (scores > scores[entry]))) + int(np.count_nonzero(newer))


def _space(notes: Sequence[Note], units: Sequence[tuple[int, int, int]]) -> SpaceArrays:
    names = tuple(dict.fromkeys(note.speaker for note in notes if note.speaker))
    talks = tuple(dict.fromkeys(note.conversation for note in notes if note.conversation))
    conversation = np.array(
        [talks.index(note.conversation) if note.conversation else NOBODY for note in notes], np.int32
    )
    previous, following = neighbours(conversation, np.arange(len(notes)))
    return SpaceArrays(
        unit_entry=np.array([entry for entry, _, _ in units], np.int32),
        unit_length=np.array([length for _, length, _ in units], np.float32),
        body_start=np.array([start for _, _, start in units], np.int32),
        conversation=conversation,
        previous=previous,
        following=following,
        speaker=np.array([names.index(note.speaker) if note.speaker else NOBODY for note in notes], np.int32),
        names=names,
        role=np.array([role_of(note.speaker) for note in notes], np.uint8),
        traits=np.array([traits_of(note.text) for note in notes], np.uint8),
        characters=np.array([len(note.text) for note in notes], np.int32),
        pinned=np.array([note.pinned for note in notes], np.bool_),
        day=np.array([(note.at - date(1970, 1, 1)).days if note.at else NO_DAY for note in notes], np.int32),
    )
