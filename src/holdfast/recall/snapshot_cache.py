"""Snapshots of the spaces searched last. The store stays the truth: before every use a snapshot is checked against its
space's counters and follows what changed since."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple
from uuid import UUID

import numpy as np

from holdfast.contracts.records import WordTableReads
from holdfast.contracts.rows import (
    FEATURES_ONLY,
    PLACE_FIELD_SHIFT,
    PLACE_NUMBER_SHIFT,
    ModelRow,
    SpaceState,
    Visible,
)
from holdfast.crypto.blind import blind_terms
from holdfast.crypto.keys import DataKey
from holdfast.recall.arrays import NOBODY, Bools, Floats, Ints, Occurrences
from holdfast.recall.cosine import LARGE, RESCORED
from holdfast.recall.joined import JoinedCache, JoinedSnapshot
from holdfast.recall.snapshot import NO_EXPIRY, NO_STATE, Longs, SpaceSnapshot, empty_snapshot, with_columns
from holdfast.recall.snapshot_reader import follow, open_derived
from holdfast.recall.word_table import PLACE_BYTES, WordTable, open_word_table, versions_of
from holdfast.storage.sealed_store import SealedStore
from holdfast.storage.vector_codec import opened_vector, rotated, stored_vector

LEAST_WORD_BYTES = 4 << 20
WORD_BYTES_AN_ENTRY = 256
"""Limits of the cached occurrences in one snapshot: a large space has more of them for each word."""
WORDS_SHARE = 4
"""All words of a space are opened together while they take at most this part of the ceiling."""
JOINED_SHARE = 8
"""Joined snapshots may take this part of the ceiling, beside it."""
WORD_BYTES = 200
"""Memory for one cached word besides its occurrences."""
_NO_PLACES = np.zeros(0, dtype=np.int64)
MOST_PARTS = 16
"""Parts cached of one snapshot: one for each set of partitions, and for each viewer where partitions are private."""
_OFFSET_MASK = (1 << PLACE_FIELD_SHIFT) - 1
_FIELD_MASK = (1 << (PLACE_NUMBER_SHIFT - PLACE_FIELD_SHIFT)) - 1
_FIELDS = np.zeros(_FIELD_MASK + 1, dtype=np.uint8)
for _code, _name in enumerate(("hint", "tags", "key", "body")):
    _FIELDS[ord(_name[0])] = _code


class _VisiblePart(NamedTuple):
    """The part of a snapshot that some callers see, from one moment until something in it expires."""

    snapshot: SpaceSnapshot
    since: int
    until: int
    nbytes: int
    """Memory beside the whole snapshot, whose vectors it shares."""


class _BlindedTerms(NamedTuple):
    """The blinded question terms for one key of one snapshot; `number` is the snapshot's index."""

    number: int
    snapshot: SpaceSnapshot
    keys: Sequence[DataKey]
    blinds: Sequence[str]


class _CachedSpace:
    """A snapshot with its visible parts and the occurrences of recent question terms. All are dropped together."""

    __slots__ = ("former", "nbytes", "parts", "snapshot", "word_bytes", "word_table", "words")

    def __init__(self, snapshot: SpaceSnapshot, former: WordTable | None) -> None:
        self.snapshot = snapshot
        self.former = former
        """The word table of the snapshot before this one."""
        self.word_table: WordTable | None = None
        """All words of the space, where the store gives them; opened with the first question."""
        self.parts: dict[tuple[object, ...], _VisiblePart] = {}
        self.words: dict[str, Longs] = {}
        self.word_bytes = 0
        self.nbytes = self.weighed()

    @property
    def key(self) -> tuple[UUID, int]:
        return self.snapshot.space, self.snapshot.model

    def weighed(self) -> int:
        table = self.word_table or self.former
        parts = sum(part.nbytes for part in self.parts.values())
        return self.snapshot.nbytes + parts + self.word_bytes + (0 if table is None else table.nbytes)


class SnapshotCache:
    """Snapshots of the spaces used last, within a ceiling of bytes."""

    def __init__(self, sealed: SealedStore, ceiling: int) -> None:
        self._sealed = sealed
        self._ceiling = ceiling
        self._kept: OrderedDict[tuple[UUID, int], _CachedSpace] = OrderedDict()
        self._following: dict[tuple[UUID, int], Lock] = {}
        self._lock = Lock()
        self._joined = JoinedCache(ceiling // JOINED_SHARE)
        self.nbytes = 0
        """Memory of all snapshots together."""

    def of(self, space: UUID, model: int, dimensions: int) -> SpaceSnapshot:
        """The space as it is committed now, with every partition."""
        return self._follow_up(space, model, dimensions).snapshot

    def shown(self, visible: Visible, serving: ModelRow | None) -> SpaceSnapshot:
        """The part of the space that this caller may see now. Nothing else has an effect, neither on how rare a word is
        nor on what a note borrows from its neighbours."""
        return self._part(self._follow_up(visible.space, *_model_of(serving)), visible)

    def all_shown(self, visible: Sequence[Visible], serving: ModelRow | None) -> list[SpaceSnapshot]:
        """Does what `shown` does for several spaces, whose counters are read together."""
        if len(visible) == 1:
            return [self.shown(visible[0], serving)]
        model, dimensions = _model_of(serving)
        states = self._sealed.store.spaces.states([each.space for each in visible])
        cached = [
            self._current(each.space, model, state) for each, state in zip(visible, states, strict=True)
        ]
        return [
            self._part(own or self._follow_up(each.space, model, dimensions), each)
            for own, each in zip(cached, visible, strict=True)
        ]

    def _current(self, space: UUID, model: int, state: SpaceState | None) -> _CachedSpace | None:
        """The cached space, if it is in this state."""
        with self._lock:
            kept = self._kept.get((space, model))
            if kept is None or kept.snapshot.state != state:
                return None
            self._kept.move_to_end(kept.key)
        return kept

    def opened(self, visible: Visible, serving: ModelRow | None) -> SpaceSnapshot | None:
        """The part this caller saw when the space was last followed; None unless it can be ranked without the store."""
        with self._lock:
            kept = self._kept.get((visible.space, _model_of(serving)[0]))
            if kept is None or kept.word_table is None:
                return None
            self._kept.move_to_end(kept.key)
        return self._part(kept, visible)

    def _part(self, kept: _CachedSpace, visible: Visible) -> SpaceSnapshot:
        viewpoint = visible.partitions, visible.private, visible.viewer if visible.private else b""
        part = kept.parts.get(viewpoint)
        if part is None or not part.since <= visible.now < part.until:
            part = _visible_part(kept.snapshot, visible)
            with self._lock:
                if len(kept.parts) >= MOST_PARTS:
                    kept.parts.clear()
                kept.parts[viewpoint] = part
                self._weigh(kept)
        return part.snapshot

    def _follow_up(self, space: UUID, model: int, dimensions: int) -> _CachedSpace:
        """One thread follows a space at a time, the others wait for it."""
        with self._lock:
            following = self._following.setdefault((space, model), Lock())
        with following:
            state = self._sealed.store.spaces.state(space) or NO_STATE
            kept = self._kept.get((space, model))
            if kept is None or kept.snapshot.state != state:
                former = None if kept is None else kept.word_table or kept.former
                snapshot = empty_snapshot(space, model, dimensions) if kept is None else kept.snapshot
                kept = _CachedSpace(follow(self._sealed, self._ceiling, snapshot, state), former)
            self._keep(kept)
        return kept

    def occurrences(self, snapshot: SpaceSnapshot, terms: Sequence[str]) -> Occurrences:
        """The occurrences of these terms, under every key in use."""

        def read(keys: Sequence[DataKey]) -> Occurrences:
            places = [
                found for key in keys for found in self._places(snapshot, blind_terms(key, terms), keys)
            ]
            # The places of one term after the other, as many times as there are keys.
            numbers = np.array([*range(len(terms))] * len(keys), dtype=np.int32)
            packed = np.concatenate((_NO_PLACES, *places))
            numbers = numbers.repeat([len(found) for found in places])
            return _occurrences(snapshot.find(packed >> PLACE_NUMBER_SHIFT), numbers, packed)

        return self._sealed.under_every_key(snapshot.space, read)

    def joined(self, snapshots: Sequence[SpaceSnapshot]) -> JoinedSnapshot:
        return self._joined.of(snapshots)

    def joined_occurrences(
        self, joined: JoinedSnapshot, snapshots: Sequence[SpaceSnapshot], terms: Sequence[str]
    ) -> Occurrences:
        """The occurrences of these terms in the snapshots that were joined."""
        blinded = [
            _BlindedTerms(number, snapshot, keys, blind_terms(key, terms))
            for number, snapshot in enumerate(snapshots)
            for keys in (self._sealed.keyring.of(snapshot.space).all(),)
            for key in keys
        ]
        self._read_together(blinded)
        places = [found for one in blinded for found in self._places(one.snapshot, one.blinds, one.keys)]
        lengths = np.fromiter(map(len, places), dtype=np.intp, count=len(places))
        packed = np.concatenate((_NO_PLACES, *places))
        numbers = np.tile(np.arange(len(terms), dtype=np.int32), len(blinded)).repeat(lengths)
        within = np.array([one.number for one in blinded], dtype=np.int32).repeat(len(terms)).repeat(lengths)
        return _occurrences(joined.find(within, packed >> PLACE_NUMBER_SHIFT), numbers, packed)

    def _read_together(self, blinded: Sequence[_BlindedTerms]) -> None:
        """Reads the terms that no snapshot has cached in one go."""
        if self._sealed.store.word_table is not None:
            return
        new: list[tuple[_CachedSpace, list[str]]] = []
        for _, snapshot, keys, blinds in blinded:
            kept = self._kept.get((snapshot.space, snapshot.model))
            if kept is not None and kept.snapshot.state == snapshot.state and len(keys) == 1:
                unknown = [blind for blind in blinds if blind not in kept.words]
                if unknown:
                    new.append((kept, unknown))
        if len(new) < 2:
            return
        found = self._sealed.store.terms.places_in([(kept.snapshot.space, blinds) for kept, blinds in new])
        for (kept, blinds), texts in zip(new, found, strict=True):
            self._remember(kept, dict(zip(blinds, map(_parsed, texts), strict=True)))

    def _places(self, snapshot: SpaceSnapshot, blinds: Sequence[str], keys: Sequence[DataKey]) -> list[Longs]:
        """The places of each term. They are cached while the space stays as it is, but not during a key rotation: it
        moves them from one key to another, which no counter tells."""
        kept = self._kept.get((snapshot.space, snapshot.model))
        if kept is None or kept.snapshot.state != snapshot.state or len(keys) != 1:
            return [_parsed(text) for text in self._sealed.store.terms.places(snapshot.space, blinds)]
        reads = self._sealed.store.word_table
        if reads is not None and (kept.word_table is not None or self._fits_words(kept.snapshot)):
            table = self._word_table(kept, reads, keys[0].key_id)
            return [table.find(reads.number(blind)) for blind in blinds]
        known = kept.words
        new = [blind for blind in blinds if blind not in known]
        if not new:
            return [known[blind] for blind in blinds]
        found = map(_parsed, self._sealed.store.terms.places(snapshot.space, new))
        fresh = dict(zip(new, found, strict=True))
        self._remember(kept, fresh)
        return [fresh[blind] if blind in fresh else known[blind] for blind in blinds]

    def _fits_words(self, snapshot: SpaceSnapshot) -> bool:
        terms = int(snapshot.columns.chunk_terms.sum() + snapshot.columns.label_terms.sum())
        return not snapshot.compared_there and PLACE_BYTES * terms <= self._ceiling // WORDS_SHARE

    def _word_table(self, kept: _CachedSpace, reads: WordTableReads, key_id: int) -> WordTable:
        """The words of the snapshot's entries. A change since then is read too early, and again with the next
        snapshot."""
        known = kept.word_table
        if known is not None and known.key_id == key_id:
            return known
        columns = kept.snapshot.columns
        versions = versions_of(columns.numbers, columns.revisions)
        table = open_word_table(reads, kept.snapshot.space, key_id, versions, kept.former)
        with self._lock:
            kept.word_table, kept.former = table, None
            self._weigh(kept)
        return table

    def _remember(self, kept: _CachedSpace, fresh: dict[str, Longs]) -> None:
        added = sum(places.nbytes + WORD_BYTES for places in fresh.values())
        if added:
            with self._lock:
                most = max(LEAST_WORD_BYTES, WORD_BYTES_AN_ENTRY * len(kept.snapshot))
                if kept.word_bytes + added > most:
                    kept.words, kept.word_bytes = {}, 0
                kept.words.update(fresh)
                kept.word_bytes += added
                self._weigh(kept)

    def labelled(self, snapshot: SpaceSnapshot, labels: Sequence[bytes]) -> Bools:
        """The entries that carry one of these labels."""
        numbers = np.array(self._sealed.store.outlines.labelled(snapshot.space, labels), dtype=np.int64)
        at, known = snapshot.find(numbers)
        carrying = np.zeros(len(snapshot), dtype=np.bool_)
        carrying[at[known]] = True
        return carrying

    def cosines(self, snapshot: SpaceSnapshot, query: Floats, also: Ints | None = None) -> Floats:
        """The cosine of every entry, 0 while it waits for its vector. In a large space only the nearest and the entries
        at the positions `also` are exact."""
        if not snapshot.compared_there:
            slots = snapshot.columns.slots
            return snapshot.matrix.cosines(query, slots, None if also is None else slots[also])
        found = np.zeros(len(snapshot), dtype=np.float32)
        for key in self._sealed.keyring.of(snapshot.space).all():
            self._compare_there(snapshot, key.key_id, stored_vector(rotated(key, query)), found)
        return found

    def cosines_to(self, snapshot: SpaceSnapshot, position: int) -> Floats:
        """The cosine of every entry to one of them; all 0 while that one waits for its vector."""
        vector = self._vector(snapshot, position)
        return np.zeros(len(snapshot), dtype=np.float32) if vector is None else self.cosines(snapshot, vector)

    def _vector(self, snapshot: SpaceSnapshot, position: int) -> Floats | None:
        if not snapshot.compared_there:
            slot = int(snapshot.columns.slots[position])
            return None if slot == NOBODY else snapshot.matrix.rows[slot]
        number = int(snapshot.columns.numbers[position])
        for row in self._sealed.store.derived.of(snapshot.space, snapshot.model, [number]):
            opened = open_derived(self._sealed, snapshot.space, row)
            if opened is not None and opened[1] and row.revision == snapshot.columns.revisions[position]:
                return opened_vector(opened[1])
        return None

    def _compare_there(self, snapshot: SpaceSnapshot, key_id: int, query: bytes, found: Floats) -> None:
        """Lets the store compare the vectors that one key rotated, and writes the cosines into `found`."""
        assert self._sealed.store.vectors is not None
        limit = None if len(snapshot) <= LARGE else RESCORED
        text = self._sealed.store.vectors.cosines(snapshot.space, snapshot.model, key_id, query, limit)
        if text:
            pairs = np.fromstring(text.replace(":", ","), dtype=np.float64, sep=",").reshape(-1, 2)
            at, known = snapshot.find(pairs[:, 0].astype(np.int64))
            found[at[known]] = pairs[known, 1]

    def nearest(self, snapshot: SpaceSnapshot, number: int, count: int) -> set[int]:
        """Numbers of the entries nearest to one of them; none while it waits for its vector."""
        position = snapshot.position(number)
        if position is None:
            return set()
        cosines = self.cosines_to(snapshot, position)
        if not cosines[position]:
            return set()
        cosines[position] = -1.0
        near = np.argsort(-cosines, kind="stable")[:count]
        return set(snapshot.columns.numbers[near].tolist())

    def _weigh(self, kept: _CachedSpace) -> None:
        """Counts what was added to a cached space, unless it was dropped meanwhile. Needs the lock."""
        before, kept.nbytes = kept.nbytes, kept.weighed()
        if self._kept.get(kept.key) is kept:
            self.nbytes += kept.nbytes - before

    def _keep(self, kept: _CachedSpace) -> None:
        with self._lock:
            before = self._kept.get(kept.key)
            if before is not kept:
                self.nbytes += kept.nbytes - (0 if before is None else before.nbytes)
                self._kept[kept.key] = kept
            self._kept.move_to_end(kept.key)
            while self.nbytes > self._ceiling and len(self._kept) > 1:
                key, oldest = self._kept.popitem(last=False)
                self._following.pop(key, None)
                self.nbytes -= oldest.nbytes


def _model_of(serving: ModelRow | None) -> tuple[int, int]:
    return (serving.model, serving.dimensions) if serving else (FEATURES_ONLY, 0)


def _visible_part(snapshot: SpaceSnapshot, visible: Visible) -> _VisiblePart:
    allowed = snapshot.allowed(visible)
    if allowed.all():
        seen, more = snapshot, 0
    else:
        seen = with_columns(snapshot, snapshot.columns.where(allowed))
        more = seen.nbytes - seen.matrix.nbytes
    return _VisiblePart(seen, visible.now, int(seen.columns.expires.min(initial=NO_EXPIRY)), more)


def _parsed(text: str) -> Longs:
    return np.fromstring(text, dtype=np.int64, sep=",") if text else _NO_PLACES


def _occurrences(found: tuple[Ints, Bools], terms: Ints, packed: Longs) -> Occurrences:
    at, known = found
    if not known.all():
        packed, at, terms = packed[known], at[known], terms[known]
    fields = _FIELDS.take((packed >> PLACE_FIELD_SHIFT) & _FIELD_MASK)
    return Occurrences(terms, at, fields, (packed & _OFFSET_MASK).astype(np.int32))
