"""Sealing: what it is bound to, and that nothing else opens it."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from holdfast.crypto.keys import NONCE_BYTES, DataKey
from holdfast.crypto.sealing import seal, seal_blob, unseal, unseal_blob

SPACE = UUID("11111111-2222-8333-8444-555500000000")
OTHER = UUID("11111111-2222-8333-8444-555600000000")
SECRET = bytes(range(32))
KEY = DataKey(SPACE, 1, SECRET)
BOUND = b"what it lies beside"


@given(st.binary(max_size=2_000), st.binary(max_size=200))
def test_what_was_sealed_opens_beside_the_same_bytes(plain: bytes, bound: bytes) -> None:
    assert unseal(KEY, bound, seal(KEY, bound, plain)) == plain


def test_a_seal_is_nonce_and_ciphertext_with_what_it_is_bound_to_as_associated_data() -> None:
    sealed = seal(KEY, BOUND, b"text")

    assert len(sealed) == NONCE_BYTES + len(b"text") + 16
    assert KEY.seal.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], BOUND) == b"text"


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_a_seal_opens_beside_other_bytes_never(bound: bytes, other: bytes) -> None:
    assert (unseal(KEY, other, seal(KEY, bound, b"text")) == b"text") == (bound == other)


def test_a_seal_does_not_open_under_another_key() -> None:
    assert unseal(DataKey(SPACE, 1, bytes(32)), BOUND, seal(KEY, BOUND, b"text")) is None


@given(st.data())
def test_a_seal_with_any_byte_changed_or_missing_does_not_open(data: st.DataObject) -> None:
    sealed = seal(KEY, BOUND, b"a text of some length")
    place = data.draw(st.integers(0, len(sealed) - 1))
    flipped = bytearray(sealed)
    flipped[place] ^= data.draw(st.integers(1, 255))

    assert unseal(KEY, BOUND, bytes(flipped)) is None
    assert unseal(KEY, BOUND, sealed[:place]) is None
    assert unseal(KEY, BOUND, sealed + b"\0") is None


def test_no_nonce_comes_twice() -> None:
    assert len({seal(KEY, BOUND, b"text")[:NONCE_BYTES] for _ in range(1_000)}) == 1_000


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
    assert unseal(KEY, BOUND, sealed) is None
    assert unseal_blob(KEY, b"name", sealed) is None
