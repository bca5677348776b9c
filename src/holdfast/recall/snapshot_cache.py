"""Views of the spaces searched last. The truth stays in the store: a view is checked against the counters of its space
before every use and follows what has changed since."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from threading import Lock
from typing import NamedTuple
from uuid import UUID

import numpy as np

from holdfast.contracts.index import LexiconReads
from holdfast.contracts.rows import (
    FEATURES_ONLY,
    PLACE_FIELD_SHIFT,
    PLACE_NUMBER_SHIFT,
    DerivedRow,
    EntryRow,
    OutlineRow,
    SpaceState,
    Visible,
)
from holdfast.crypto.blind import blind_terms
from holdfast.crypto.keys import DataKey
from holdfast.crypto.sealing import unseal_derived
from holdfast.recall.arrays import NOBODY, Bools, Floats, Ints, Occurrences
from holdfast.recall.cosine import LARGE, RESCORED
from holdfast.recall.joined import JoinedCache, JoinedSnapshot
from holdfast.recall.snapshot import (
    NO_EXPIRY,
    NO_STATE,
    Columns,
    Longs,
    SpaceSnapshot,
    arranged,
    compacted,
    compare_with,
    empty_view,
    made,
)
from holdfast.recall.vector_matrix import Matrix
from holdfast.recall.word_table import PLACE_BYTES, WordTable, open_word_table, versions_of
from holdfast.storage.features import Features, features_of, unpack_features
from holdfast.storage.sealed_store import SealedStore
from holdfast.storage.vector_codec import opened_vector, rotated, stored_vector

OPENED_AT_ONCE = 500
LEAST_WORD_BYTES = 4 << 20
WORD_BYTES_AN_ENTRY = 256
"""How much the places of words may take in one view: more in a large space, where each word has more places."""
WORDS_SHARE = 4
"""All words of a space are opened together while they take at most this part of the ceiling."""
JOINTS_SHARE = 8
"""What was joined of several views may take this part of the ceiling, beside it."""
WORD_BYTES = 200
"""What remembering a word costs besides its places."""
_NO_PLACES = np.zeros(0, dtype=np.int64)
MOST_PARTS = 16
"""Parts kept of one view: one for each set of rooms, and for each viewer where rooms are private."""
_OFFSET_MASK = (1 << PLACE_FIELD_SHIFT) - 1
_FIELD_MASK = (1 << (PLACE_NUMBER_SHIFT - PLACE_FIELD_SHIFT)) - 1
_FIELDS = np.zeros(_FIELD_MASK + 1, dtype=np.uint8)
for _code, _name in enumerate(("hint", "tags", "key", "body")):
    _FIELDS[ord(_name[0])] = _code


class _Part(NamedTuple):
    """What some callers may see of a view, from one moment until something in it expires."""

    view: SpaceSnapshot
    since: int
    until: int
    nbytes: int
    """What it takes beside the view, whose vectors it shares."""


class _Asked(NamedTuple):
    """Words of a question under one key of a view, the so manieth of those asked."""

    number: int
    view: SpaceSnapshot
    keys: Sequence[DataKey]
    blinds: Sequence[str]


class _Kept:
    """A view, its parts, which share its vectors, and where the words asked for lately stand; all go together."""

    __slots__ = ("former", "lexicon", "nbytes", "parts", "view", "word_bytes", "words")

    def __init__(self, view: SpaceSnapshot, former: WordTable | None) -> None:
        self.view = view
        self.former = former
        """The words of the view before this one."""
        self.lexicon: WordTable | None = None
        """All words of the space, where the store lends them; opened when the first is asked for."""
        self.parts: dict[tuple[object, ...], _Part] = {}
        self.words: dict[str, Longs] = {}
        self.word_bytes = 0
        self.nbytes = self.weighed()

    @property
    def place(self) -> tuple[UUID, int]:
        return self.view.space, self.view.model

    def weighed(self) -> int:
        lexicon = self.lexicon or self.former
        parts = sum(part.nbytes for part in self.parts.values())
        return self.view.nbytes + parts + self.word_bytes + (0 if lexicon is None else lexicon.nbytes)


class SnapshotCache:
    """Views of the spaces used last, within a ceiling of bytes."""

    def __init__(self, sealed: SealedStore, ceiling: int) -> None:
        self._sealed = sealed
        self._ceiling = ceiling
        self._kept: OrderedDict[tuple[UUID, int], _Kept] = OrderedDict()
        self._turns: dict[tuple[UUID, int], Lock] = {}
        self._lock = Lock()
        self._joints = JoinedCache(ceiling // JOINTS_SHARE)
        self.nbytes = 0
        """Of all views together."""

    def of(self, space: UUID, model: int, dimensions: int) -> SpaceSnapshot:
        """The space as it is committed now, every room of it."""
        return self._follow_up(space, model, dimensions).view

    def shown(self, visible: Visible, model: int, dimensions: int) -> SpaceSnapshot:
        """What this caller may see of the space now. The rest has no part in it: not in how rare a word is, nor in
        what a note borrows from its neighbours."""
        return self._part(self._follow_up(visible.space, model, dimensions), visible)

    def all_shown(self, visible: Sequence[Visible], model: int, dimensions: int) -> list[SpaceSnapshot]:
        """The same of several spaces, whose counters are read together."""
        if len(visible) == 1:
            return [self.shown(visible[0], model, dimensions)]
        states = self._sealed.store.spaces.states([each.space for each in visible])
        kept = [self._known(each.space, model, state) for each, state in zip(visible, states, strict=True)]
        return [
            self._part(own or self._follow_up(each.space, model, dimensions), each)
            for own, each in zip(kept, visible, strict=True)
        ]

    def _known(self, space: UUID, model: int, state: SpaceState | None) -> _Kept | None:
        """What is kept of a space, if it still holds."""
        place = space, model
        with self._lock:
            kept = self._kept.get(place)
            if kept is None or kept.view.state != state:
                return None
            self._kept.move_to_end(place)
        return kept

    def opened(self, visible: Visible, model: int) -> SpaceSnapshot | None:
        """The same as of the last time the space was followed; None unless it can be ranked without the store."""
        place = visible.space, model
        with self._lock:
            kept = self._kept.get(place)
            if kept is None or kept.lexicon is None:
                return None
            self._kept.move_to_end(place)
        return self._part(kept, visible)

    def _part(self, kept: _Kept, visible: Visible) -> SpaceSnapshot:
        rooms = visible.partitions, visible.private, visible.viewer if visible.private else b""
        part = kept.parts.get(rooms)
        if part is None or not part.since <= visible.now < part.until:
            allowed = kept.view.allowed(visible)
            part = _part(kept.view, allowed, visible.now)
            with self._lock:
                if len(kept.parts) >= MOST_PARTS:
                    kept.parts.clear()
                kept.parts[rooms] = part
                self._weigh(kept)
        return part.view

    def _follow_up(self, space: UUID, model: int, dimensions: int) -> _Kept:
        with self._lock:
            turn = self._turns.setdefault((space, model), Lock())
        with turn:
            state = self._sealed.store.spaces.state(space) or NO_STATE
            kept = self._kept.get((space, model))
            if kept is None or kept.view.state != state:
                view = empty_view(space, model, dimensions) if kept is None else kept.view
                kept = _Kept(self._follow(view, state), None if kept is None else kept.lexicon or kept.former)
            self._keep(kept)
        return kept

    def occurrences(self, view: SpaceSnapshot, terms: Sequence[str]) -> Occurrences:
        """Where these terms stand, under every key in use."""
        return self._sealed.under_every_key(view.space, lambda keys: self._occurrences(view, terms, keys))

    def _occurrences(self, view: SpaceSnapshot, terms: Sequence[str], keys: Sequence[DataKey]) -> Occurrences:
        places = [found for key in keys for found in self._places(view, blind_terms(key, terms), keys)]
        # The places of one term after the other, as many times as there are keys.
        numbers = np.array([*range(len(terms))] * len(keys), dtype=np.int32)
        packed = np.concatenate((_NO_PLACES, *places))
        numbers = numbers.repeat([len(found) for found in places])
        return _at(view.find(packed >> PLACE_NUMBER_SHIFT), numbers, packed)

    def joint(self, views: Sequence[SpaceSnapshot]) -> JoinedSnapshot:
        return self._joints.of(views)

    def joint_occurrences(
        self, joint: JoinedSnapshot, views: Sequence[SpaceSnapshot], terms: Sequence[str]
    ) -> Occurrences:
        """The same in the views that were joined."""
        asked = [
            _Asked(number, view, keys, blind_terms(key, terms))
            for number, view in enumerate(views)
            for keys in (self._sealed.keyring.of(view.space).all(),)
            for key in keys
        ]
        self._read_together(asked)
        places = [found for one in asked for found in self._places(one.view, one.blinds, one.keys)]
        lengths = np.fromiter(map(len, places), dtype=np.intp, count=len(places))
        packed = np.concatenate((_NO_PLACES, *places))
        numbers = np.tile(np.arange(len(terms), dtype=np.int32), len(asked)).repeat(lengths)
        within = np.array([one.number for one in asked], dtype=np.int32).repeat(len(terms)).repeat(lengths)
        return _at(joint.find(within, packed >> PLACE_NUMBER_SHIFT), numbers, packed)

    def _read_together(self, asked: Sequence[_Asked]) -> None:
        """What is not known yet of any view, in one go."""
        if self._sealed.store.lexicon is not None:
            return
        new: list[tuple[_Kept, list[str]]] = []
        for _, view, keys, blinds in asked:
            kept = self._kept.get((view.space, view.model))
            if kept is not None and kept.view.state == view.state and len(keys) == 1:
                unknown = [blind for blind in blinds if blind not in kept.words]
                if unknown:
                    new.append((kept, unknown))
        if len(new) < 2:
            return
        found = self._sealed.store.terms.places_in([(kept.view.space, blinds) for kept, blinds in new])
        for (kept, blinds), texts in zip(new, found, strict=True):
            self._remember(kept, dict(zip(blinds, map(_parsed, texts), strict=True)))

    def _places(self, view: SpaceSnapshot, blinds: Sequence[str], keys: Sequence[DataKey]) -> list[Longs]:
        """Words are asked for again and again while a space stays as it is, so their places are remembered with its
        view. Not while a rotation moves them from one key to another, which no counter tells."""
        kept = self._kept.get((view.space, view.model))
        if kept is None or kept.view.state != view.state or len(keys) != 1:
            return [_parsed(text) for text in self._sealed.store.terms.places(view.space, blinds)]
        reads = self._sealed.store.lexicon
        if reads is not None and (kept.lexicon is not None or self._opens_words(kept.view)):
            lexicon = self._lexicon(kept, reads, keys[0].key_id)
            return [lexicon.find(reads.number(blind)) for blind in blinds]
        known = kept.words
        new = [blind for blind in blinds if blind not in known]
        if not new:
            return [known[blind] for blind in blinds]
        found = map(_parsed, self._sealed.store.terms.places(view.space, new))
        fresh = dict(zip(new, found, strict=True))
        self._remember(kept, fresh)
        return [fresh[blind] if blind in fresh else known[blind] for blind in blinds]

    def _opens_words(self, view: SpaceSnapshot) -> bool:
        """Whether all words of a space find room here."""
        terms = int(view.columns.chunk_terms.sum() + view.columns.label_terms.sum())
        return not view.compared_there and PLACE_BYTES * terms <= self._ceiling // WORDS_SHARE

    def _lexicon(self, kept: _Kept, reads: LexiconReads, key_id: int) -> WordTable:
        """As the view is. What changes in between is read too early, and again with the next view."""
        known = kept.lexicon
        if known is not None and known.key_id == key_id:
            return known
        view, columns = kept.view, kept.view.columns
        versions = versions_of(columns.numbers, columns.revisions)
        lexicon = open_word_table(reads, view.space, key_id, versions, kept.former)
        with self._lock:
            kept.lexicon, kept.former = lexicon, None
            self._weigh(kept)
        return lexicon

    def _remember(self, kept: _Kept, fresh: dict[str, Longs]) -> None:
        added = sum(places.nbytes + WORD_BYTES for places in fresh.values())
        if added:
            with self._lock:
                most = max(LEAST_WORD_BYTES, WORD_BYTES_AN_ENTRY * len(kept.view))
                if kept.word_bytes + added > most:
                    kept.words, kept.word_bytes = {}, 0
                kept.words.update(fresh)
                kept.word_bytes += added
                self._weigh(kept)

    def labelled(self, view: SpaceSnapshot, labels: Sequence[bytes]) -> Bools:
        """Which entries carry one of these labels."""
        numbers = np.array(self._sealed.store.outlines.labelled(view.space, labels), dtype=np.int64)
        at, known = view.find(numbers)
        carrying = np.zeros(len(view), dtype=np.bool_)
        carrying[at[known]] = True
        return carrying

    def cosines(self, view: SpaceSnapshot, query: Floats, also: Ints | None = None) -> Floats:
        """Of every entry, 0 for those that wait for their vector; in a large space exact only for the nearest and for
        those at the places of `also`."""
        if not view.compared_there:
            slots = view.columns.slots
            return view.matrix.cosines(query, slots, None if also is None else slots[also])
        found = np.zeros(len(view), dtype=np.float32)
        for key in self._sealed.keyring.of(view.space).all():
            self._compare_there(view, key.key_id, stored_vector(rotated(key, query)), found)
        return found

    def cosines_to(self, view: SpaceSnapshot, place: int) -> Floats:
        """Of every entry to one of them; all 0 while that one waits for its vector."""
        vector = self._vector(view, place)
        return np.zeros(len(view), dtype=np.float32) if vector is None else self.cosines(view, vector)

    def _vector(self, view: SpaceSnapshot, place: int) -> Floats | None:
        if not view.compared_there:
            slot = int(view.columns.slots[place])
            return None if slot == NOBODY else view.matrix.rows[slot]
        number = int(view.columns.numbers[place])
        for row in self._sealed.store.derived.of(view.space, view.model, [number]):
            opened = self._open(view.space, row)
            if opened is not None and opened[1] and row.revision == view.columns.revisions[place]:
                return opened_vector(opened[1])
        return None

    def _compare_there(self, view: SpaceSnapshot, key_id: int, query: bytes, found: Floats) -> None:
        """Lets the store compare what is rotated by one key, and puts its answer in place."""
        assert self._sealed.store.vectors is not None
        limit = None if len(view) <= LARGE else RESCORED
        text = self._sealed.store.vectors.cosines(view.space, view.model, key_id, query, limit)
        if text:
            pairs = np.fromstring(text.replace(":", ","), dtype=np.float64, sep=",").reshape(-1, 2)
            at, known = view.find(pairs[:, 0].astype(np.int64))
            found[at[known]] = pairs[known, 1]

    def nearest(self, view: SpaceSnapshot, number: int, count: int) -> set[int]:
        """Numbers of the entries nearest to one of them; none while it waits for its vector."""
        place = view.position(number)
        if place is None:
            return set()
        cosines = self.cosines_to(view, place)
        if not cosines[place]:
            return set()
        cosines[place] = -1.0
        near = np.argsort(-cosines, kind="stable")[:count]
        return set(view.columns.numbers[near].tolist())

    def _weigh(self, kept: _Kept) -> None:
        """Counts what was added to a view, unless it went meanwhile. Under the lock."""
        before, kept.nbytes = kept.nbytes, kept.weighed()
        if self._kept.get(kept.place) is kept:
            self.nbytes += kept.nbytes - before

    def _keep(self, kept: _Kept) -> None:
        place = kept.place
        with self._lock:
            before = self._kept.get(place)
            if before is not kept:
                self.nbytes += kept.nbytes - (0 if before is None else before.nbytes)
                self._kept[place] = kept
            self._kept.move_to_end(place)
            while self.nbytes > self._ceiling and len(self._kept) > 1:
                place, oldest = self._kept.popitem(last=False)
                self._turns.pop(place, None)
                self.nbytes -= oldest.nbytes

    def _follow(self, view: SpaceSnapshot, state: SpaceState) -> SpaceSnapshot:
        """The view after what happened since: entries gone, come, changed, and vectors made."""
        outlines = self._sealed.store.outlines
        columns = view.columns
        if state.removed == view.state.removed:
            come = outlines.of(view.space, view.state.seq)
            kept = ~np.isin(columns.numbers, [row.number for row in come])
        else:
            self._sealed.keyring.look_again(view.space)  # forgetting a space gives it another key
            kept, come = compare_with(columns, outlines.of(view.space, 0))
        columns = columns if kept.all() else columns.where(kept)
        if self._too_many(len(columns.numbers) + len(come), view) != view.compared_there:
            anew = empty_view(view.space, view.model, view.matrix.dimensions)
            return self._follow(replace(anew, compared_there=not view.compared_there), state)
        matrix = view.matrix
        if state.settled != view.state.settled or view.state == NO_STATE:
            columns, matrix = self._fill(view, columns, matrix)
        if come:
            more, matrix = self._columns(view, come, matrix)
            columns = columns.followed_by(more)
        columns, matrix = compacted(columns, matrix)
        return arranged(replace(view, state=state, matrix=matrix.with_codes()), columns)

    def _too_many(self, entries: int, view: SpaceSnapshot) -> bool:
        """Whether the vectors of a space, where the store can compare them, would not find room here. Back only at half
        of it, so that a space at the edge is not opened again and again."""
        if self._sealed.store.vectors is None:
            return False
        nbytes = entries * view.matrix.dimensions * view.matrix.rows.itemsize
        return nbytes > (self._ceiling // 2 if view.compared_there else self._ceiling)

    def _fill(self, view: SpaceSnapshot, columns: Columns, matrix: Matrix) -> tuple[Columns, Matrix]:
        """Vectors that were made since for entries known already: they are made in the order of changes."""
        if view.model == FEATURES_ONLY or view.compared_there:
            return columns, matrix
        reached = self._sealed.store.derived.progress(view.model, view.space)
        waiting = np.flatnonzero((columns.slots == NOBODY) & (columns.seqs <= reached))
        if not len(waiting):
            return columns, matrix
        numbers = [int(number) for number in columns.numbers[waiting]]
        place = dict(zip(numbers, waiting, strict=True))
        slots = columns.slots.copy()
        for row in self._sealed.store.derived.of(view.space, view.model, numbers):
            opened = self._open(view.space, row)
            if opened is not None and row.revision == columns.revisions[place[row.number]]:
                matrix, slots[place[row.number]] = matrix.with_vector(opened[1])
        return replace(columns, slots=slots), matrix

    def _columns(
        self, view: SpaceSnapshot, come: Sequence[OutlineRow], matrix: Matrix
    ) -> tuple[Columns, Matrix]:
        """Entries that are new here: their signals from what was derived, else from the opened entry."""
        wanted = None if not len(view) else [row.number for row in come]
        revisions = {row.number: row.revision for row in come}
        known: dict[int, tuple[Features, bytes]] = {}
        for derived in self._sealed.store.derived.of(view.space, view.model, wanted):
            current = revisions.get(derived.number) == derived.revision
            if current and (opened := self._open(view.space, derived)) is not None:
                known[derived.number] = opened
        rest = [row for row in come if row.number not in known]
        known |= ((number, (signals, b"")) for number, signals in self._read(view.space, rest))
        readable = [row for row in come if row.number in known]
        slots = np.full(len(readable), NOBODY, dtype=np.int32)
        for at, row in enumerate(readable):
            if (vector := known[row.number][1]) and not view.compared_there:
                matrix, slots[at] = matrix.with_vector(vector)
        return made(view, readable, [known[row.number][0] for row in readable], slots), matrix

    def _open(self, space: UUID, row: DerivedRow) -> tuple[Features, bytes] | None:
        key = self._sealed.keyring.of(space).get(row.key_id)
        plain = None if key is None else unseal_derived(key, row.number, row.revision, row.model, row.sealed)
        return None if plain is None else unpack_features(plain)

    def _read(self, space: UUID, rows: Sequence[OutlineRow]) -> Iterable[tuple[int, Features]]:
        """Signals of entries from which nothing was derived yet; one that does not open is left out. A large space is
        read for so long that a rotation may begin and end meanwhile: its keys are asked for again and again."""
        sealed = self._sealed
        for start in range(0, len(rows), OPENED_AT_ONCE):
            keys, some = sealed.keyring.of(space), rows[start : start + OPENED_AT_ONCE]
            for row in self._heads(space, some):
                entry = sealed.head(keys, row).entry
                if entry is not None and entry.content.is_text:
                    yield row.number, features_of(entry.content)

    def _heads(self, space: UUID, rows: Sequence[OutlineRow]) -> list[EntryRow]:
        """Whole rows. Many that follow each other are read in one go."""
        wanted = {row.number for row in rows}
        if len(rows) < OPENED_AT_ONCE:
            return self._sealed.store.entries.by_numbers(space, list(wanted))
        found = self._sealed.store.outlines.changed(space, rows[0].seq - 1, 2 * len(rows))
        found = [row for row in found if row.number in wanted]
        rest = wanted.difference(row.number for row in found)
        return found + self._sealed.store.entries.by_numbers(space, list(rest))


def _part(view: SpaceSnapshot, allowed: Bools, now: int) -> _Part:
    if allowed.all():
        seen, more = view, 0
    else:
        seen = arranged(view, view.columns.where(allowed))
        more = seen.nbytes - seen.matrix.nbytes
    return _Part(seen, now, int(seen.columns.expires.min(initial=NO_EXPIRY)), more)


def _parsed(text: str) -> Longs:
    return np.fromstring(text, dtype=np.int64, sep=",") if text else _NO_PLACES


def _at(found: tuple[Ints, Bools], terms: Ints, packed: Longs) -> Occurrences:
    at, known = found
    if not known.all():
        packed, at, terms = packed[known], at[known], terms[known]
    fields = _FIELDS.take((packed >> PLACE_FIELD_SHIFT) & _FIELD_MASK)
    return Occurrences(terms, at, fields, (packed & _OFFSET_MASK).astype(np.int32))
