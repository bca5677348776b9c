"""Random bytes of the operating system, drawn in large pieces. Each draw is a system call that releases the
interpreter, and under load another thread takes it every time. No byte is given out twice."""

from __future__ import annotations

import os
from collections import deque

PIECE_BYTES = 16
PIECES = 256

_drawn: deque[bytes] = deque()


def fresh_bytes(count: int) -> bytes:
    """Returns at most 16 bytes that no other caller gets."""
    try:
        return _drawn.pop()[:count]
    except IndexError:
        drawn = os.urandom(PIECE_BYTES * PIECES)
        _drawn.extend(drawn[at : at + PIECE_BYTES] for at in range(PIECE_BYTES, len(drawn), PIECE_BYTES))
        return drawn[:count]


# A child process must not give out what its parent is going to. Windows knows no such children.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drawn.clear)
