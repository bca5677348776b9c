"""Several spaces as one, to be ranked in one go: fifty small ones cost hardly more than one of their size. Every score
is what it would be in the space by itself."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.search.prepared import UNIT_KEY_SHIFT, Calendar, Lending, Parts, Prepared, Talks
from holdfast.search.space import NOBODY, Ints, Space

Offsets = NDArray[np.intp]


def joined(spaces: Sequence[Prepared]) -> Prepared:
    """The entries of the first, then those of the second and so on. All are prepared with the same constants."""
    sizes = np.array([each.space.size for each in spaces], dtype=np.intp)
    names = np.array([len(each.space.names) for each in spaces], dtype=np.intp)
    entries = _starts(sizes)
    units = _starts([len(each.space.unit_entry) for each in spaces])
    space = _space(spaces, entries, _starts(names))
    fixed = {
        name: _end_to_end(each.fixed_factors[name] for each in spaces) for name in spaces[0].fixed_factors
    }
    return Prepared(
        space=space,
        constants=spaces[0].constants,
        unit_norm=_end_to_end(each.unit_norm for each in spaces),
        unit_starts=_shifted((each.unit_starts for each in spaces), units),
        unit_keys=_end_to_end(
            each.unit_keys + (int(start) << UNIT_KEY_SHIFT)
            for each, start in zip(spaces, entries, strict=True)
        ),
        one_chunk_each=all(each.one_chunk_each for each in spaces),
        field_weight=spaces[0].field_weight,
        talk=_end_to_end(each.talk for each in spaces),
        lending=Lending(
            _end_to_end(each.lending.lends for each in spaces),
            _shifted((each.lending.borrowers for each in spaces), units),
            _end_to_end(each.lending.shares for each in spaces),
        ),
        calendar=Calendar(
            _end_to_end(each.calendar.year for each in spaces),
            _end_to_end(each.calendar.month for each in spaces),
            _end_to_end(each.calendar.day for each in spaces),
            _end_to_end(each.calendar.weekday for each in spaces),
        ),
        name_terms=_name_terms(spaces, _starts(names)),
        talks=_talks([each.talks for each in spaces], entries),
        role=_end_to_end(each.role for each in spaces),
        fixed_factors=fixed,
        factor=_end_to_end(each.factor for each in spaces),
        tells_time=_end_to_end(each.tells_time for each in spaces),
        nothing=np.zeros(space.size, dtype=np.float32),
        parts=Parts(
            entries, sizes, np.repeat(np.arange(len(sizes)), sizes), np.repeat(np.arange(len(names)), names)
        ),
    )


def _space(spaces: Sequence[Prepared], entries: Offsets, names: Offsets) -> Space:
    parts = [each.space for each in spaces]
    talks = _starts([int(each.conversation.max(initial=NOBODY)) + 1 for each in parts])

    def column(of: Callable[[Space], NDArray[Any]]) -> NDArray[Any]:
        return _end_to_end(map(of, parts))

    return Space(
        unit_entry=_shifted((each.unit_entry for each in parts), entries),
        unit_length=column(lambda each: each.unit_length),
        body_start=column(lambda each: each.body_start),
        conversation=_shifted((each.conversation for each in parts), talks),
        previous=_shifted((each.previous for each in parts), entries),
        following=_shifted((each.following for each in parts), entries),
        speaker=_shifted((each.speaker for each in parts), names),
        names=tuple(name for each in parts for name in each.names),
        role=column(lambda each: each.role),
        traits=column(lambda each: each.traits),
        characters=column(lambda each: each.characters),
        pinned=column(lambda each: each.pinned),
        day=column(lambda each: each.day),
    )


def _name_terms(spaces: Sequence[Prepared], names: Offsets) -> dict[str, tuple[int, ...]]:
    """Somebody who speaks in two spaces is one person in each: who is named is judged there."""
    people: defaultdict[str, list[int]] = defaultdict(list)
    for each, start in zip(spaces, names.tolist(), strict=True):
        for term, numbers in each.name_terms.items():
            people[term] += (start + number for number in numbers)
    return {term: tuple(numbers) for term, numbers in people.items()}


def _talks(talks: Sequence[Talks], entries: Offsets) -> Talks:
    before = _starts([len(each.entries) for each in talks])
    return Talks(
        _end_to_end(each.entries + start for each, start in zip(talks, entries, strict=True)),
        _end_to_end(each.starts + start for each, start in zip(talks, before, strict=True)),
        _end_to_end(each.lengths for each in talks),
    )


def _starts(sizes: Sequence[int] | Offsets) -> Offsets:
    ends: Offsets = np.cumsum(sizes, dtype=np.intp)
    return ends - sizes


def _end_to_end(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(list(arrays))


def _shifted(arrays: Iterable[Ints], starts: Offsets) -> Ints:
    """Numbers that count from the start of their space; NOBODY stays nobody."""
    each = list(arrays)
    numbers = np.concatenate(each)
    shift = np.repeat(starts, [len(own) for own in each]).reshape(-1, *[1] * (numbers.ndim - 1))
    return np.where(numbers == NOBODY, NOBODY, numbers + shift).astype(np.int32)
