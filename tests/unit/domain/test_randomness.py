"""Random bytes are drawn for many at once, and still each is fresh."""

import os

from holdfast.domain.ids import PIECES, fresh_bytes


def test_no_piece_is_given_out_twice() -> None:
    given = [fresh_bytes(12) for _ in range(3 * PIECES)]
    assert len(set(given)) == len(given)
    assert {len(piece) for piece in given} == {12}


def test_a_child_process_draws_for_itself() -> None:
    fresh_bytes(16)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, fresh_bytes(16))
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reading, 16)
    assert theirs not in [fresh_bytes(16) for _ in range(PIECES)]
