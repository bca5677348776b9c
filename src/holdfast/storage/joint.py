"""Small views joined into one, to be ranked together. Made from what each caller may see, and kept for those who see
the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from holdfast.domain.ids import NUMBER_BITS
from holdfast.search.joined import joined
from holdfast.search.prepared import Prepared
from holdfast.search.space import Bools, Ints
from holdfast.storage.view import VIEW_BYTES, Longs, View

MOST_KEPT = 64


@dataclass(frozen=True, slots=True)
class Joint:
    """The entries of the first view, then those of the second and so on."""

    parts: tuple[Prepared, ...]
    """By which it is known again. Not the views, which would keep vectors that nobody uses any more."""
    prepared: Prepared
    starts: tuple[int, ...]
    of_entry: Ints
    """The number of the view that an entry is in."""
    numbers: Longs
    updated: Longs
    named: Longs
    """Number of the view before that of the entry; sorted, and one above all at the end."""
    positions: Ints
    nbytes: int

    def find(self, views: Ints, numbers: Longs) -> tuple[Ints, Bools]:
        """Where these entries stand, and which of them are known."""
        asked = views.astype(np.int64) << NUMBER_BITS | numbers
        at = self.named.searchsorted(asked)
        return self.positions.take(at), self.named.take(at) == asked


def join(views: Sequence[View]) -> Joint:
    sizes = [len(view) for view in views]
    starts = np.cumsum(sizes) - sizes
    of_entry = np.repeat(np.arange(len(views), dtype=np.int32), sizes)
    numbers = np.concatenate([view.directory.numbers[:-1] for view in views])  # sorted, view by view
    positions = np.concatenate([view.directory.positions[:-1] for view in views]) + np.repeat(starts, sizes)
    parts = tuple(view.prepared for view in views)
    return Joint(
        parts=parts,
        prepared=joined(parts),
        starts=tuple(starts.tolist()),
        of_entry=of_entry,
        numbers=np.concatenate([view.columns.numbers for view in views]),
        updated=np.concatenate([view.columns.updated for view in views]),
        named=np.append(of_entry.astype(np.int64) << NUMBER_BITS | numbers, np.iinfo(np.int64).max),
        positions=np.append(positions, -1).astype(np.int32),
        # What it is made of too: that may have gone from where it was kept.
        nbytes=2 * sum(4 * view.columns.nbytes + VIEW_BYTES for view in views),
    )


class Joints:
    """Those used last, within a ceiling of bytes."""

    def __init__(self, ceiling: int) -> None:
        self._ceiling = ceiling
        self._kept: OrderedDict[tuple[int, ...], Joint] = OrderedDict()
        self._lock = Lock()
        self.nbytes = 0

    def of(self, views: Sequence[View]) -> Joint:
        name = tuple([id(view.prepared) for view in views])  # of no other while the joint one holds them
        with self._lock:
            joint = self._kept.get(name)
            if joint is not None:
                self._kept.move_to_end(name)
                return joint
        joint = join(views)
        with self._lock:
            if name not in self._kept:
                self._kept[name] = joint
                self.nbytes += joint.nbytes
            while self._kept and (self.nbytes > self._ceiling or len(self._kept) > MOST_KEPT):
                self.nbytes -= self._kept.popitem(last=False)[1].nbytes
        return joint
