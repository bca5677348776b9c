"""Sealing: what it is bound to, and that nothing else opens it."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.crypto.keys import NONCE_BYTES, DataKey
from holdfast.crypto.sealing import seal, seal_blob, unseal, unseal_blob

SPACE = UUID("11111111-2222-8333-8444-555500000000")
OTHER = UUID("11111111-2222-8333-8444-555600000000")
SECRET = bytes(range(32))
KEY = DataKey(SPACE, 1, SECRET)
NUMBERS = st.integers(1, 2**32 - 1)


@given(st.binary(max_size=2_000), NUMBERS, NUMBERS)
def test_what_was_sealed_opens_as_the_same_entry_and_revision(
    plain: bytes, number: int, revision: int
) -> None:
    assert unseal(KEY, number, revision, seal(KEY, number, revision, plain)) == plain


def test_a_seal_is_nonce_and_ciphertext_bound_to_format_key_space_entry_and_revision() -> None:
    sealed = seal(KEY, 5, 3, b"text")
    bound = b"HFs1" + (1).to_bytes(4) + SPACE.bytes + (5).to_bytes(4) + (3).to_bytes(4)

    assert len(sealed) == NONCE_BYTES + len(b"text") + 16
    assert KEY.seal.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], bound) == b"text"


@pytest.mark.parametrize(
    ("key", "number", "revision"),
    [
        (DataKey(SPACE, 1, SECRET), 6, 3),
        (DataKey(SPACE, 1, SECRET), 5, 2),
        (DataKey(SPACE, 1, SECRET), 3, 5),
        (DataKey(SPACE, 2, SECRET), 5, 3),
        (DataKey(OTHER, 1, SECRET), 5, 3),
        (DataKey(SPACE, 1, bytes(32)), 5, 3),
    ],
    ids=["entry", "revision", "entry and revision exchanged", "key id", "space", "secret"],
)
def test_a_seal_does_not_open_as_anything_else(key: DataKey, number: int, revision: int) -> None:
    assert unseal(key, number, revision, seal(KEY, 5, 3, b"text")) is None


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_a_seal_opens_as_another_entry_or_revision_never(
    number: int, revision: int, other: int, later: int
) -> None:
    opened = unseal(KEY, other, later, seal(KEY, number, revision, b"text"))

    assert (opened == b"text") == ((number, revision) == (other, later))


@given(st.data())
def test_a_seal_with_any_byte_changed_or_missing_does_not_open(data: st.DataObject) -> None:
    sealed = seal(KEY, 5, 3, b"a text of some length")
    place = data.draw(st.integers(0, len(sealed) - 1))
    flipped = bytearray(sealed)
    flipped[place] ^= data.draw(st.integers(1, 255))

    assert unseal(KEY, 5, 3, bytes(flipped)) is None
    assert unseal(KEY, 5, 3, sealed[:place]) is None
    assert unseal(KEY, 5, 3, sealed + b"\0") is None


def test_no_nonce_comes_twice() -> None:
    assert len({seal(KEY, 5, 3, b"text")[:NONCE_BYTES] for _ in range(1_000)}) == 1_000


def test_a_blob_opens_only_for_its_purpose_space_and_key() -> None:
    sealed = seal_blob(KEY, b"name", b"text")

    assert unseal_blob(KEY, b"name", sealed) == b"text"
    assert unseal_blob(KEY, b"cursor", sealed) is None
    assert unseal_blob(KEY, b"names", sealed) is None
    assert unseal_blob(DataKey(OTHER, 1, SECRET), b"name", sealed) is None
    assert unseal_blob(DataKey(SPACE, 2, SECRET), b"name", sealed) is None
    assert unseal_blob(DataKey(SPACE, 1, bytes(32)), b"name", sealed) is None


@given(st.binary(max_size=40))
def test_arbitrary_bytes_open_as_nothing(sealed: bytes) -> None:
    assert unseal(KEY, 5, 3, sealed) is None
    assert unseal_blob(KEY, b"name", sealed) is None


@given(st.binary(max_size=24))
def test_an_entry_never_opens_as_a_blob_nor_a_blob_as_an_entry(purpose: bytes) -> None:
    assert unseal_blob(KEY, purpose, seal(KEY, 5, 3, b"text")) is None
    assert unseal(KEY, 5, 3, seal_blob(KEY, purpose, b"text")) is None
