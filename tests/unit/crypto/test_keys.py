"""The hierarchy of keys against published vectors and an HKDF written out by hand."""

from __future__ import annotations

import hashlib
import hmac
from hashlib import blake2b
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from holdfast.crypto.keys import KEY_BYTES, NONCE_BYTES, DataKey, Master, new_secret

SPACE = UUID("11111111-2222-8333-8444-555500000000")
OTHER = UUID("11111111-2222-8333-8444-555600000000")
PURPOSES = ("lookups", "labels", "fingerprints", "rows")

LONG_TEXT = (
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
    "b16aedf5aa0de657ba637b391aafd255"
)
LONG_SEALED = (
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
    "c5f61e6393ba7a0abcc9f662898015ad"
)
NIST_KEY = "feffe9928665731c6d6a8f9467308308" * 2
NIST_NONCE = "cafebabefacedbaddecaf888"
GCM_VECTORS = {
    "13: nothing": ("00" * 32, "00" * 12, "", "", "", "530f8afbc74536b9a963b4f1c4cb738b"),
    "14: one block of zeros": (
        "00" * 32,
        "00" * 12,
        "00" * 16,
        "",
        "cea7403d4d606b6e074ec5d3baf39d18",
        "d0d1c8a799996bf0265b98b5d48ab919",
    ),
    "15: four blocks": (NIST_KEY, NIST_NONCE, LONG_TEXT, "", LONG_SEALED, "b094dac5d93471bdec1a502270e3cc6c"),
    "16: with associated data": (
        NIST_KEY,
        NIST_NONCE,
        LONG_TEXT[:120],
        "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        LONG_SEALED[:120],
        "76fc6ece0f4e1768cddf8853bb2d551b",
    ),
}


@pytest.mark.parametrize("case", GCM_VECTORS)
def test_the_cipher_gives_the_published_answers_of_aes_256_gcm(case: str) -> None:
    key, nonce, plain, bound, sealed, tag = (bytes.fromhex(part) for part in GCM_VECTORS[case])

    assert AESGCM(key).encrypt(nonce, plain, bound) == sealed + tag
    assert AESGCM(key).decrypt(nonce, sealed + tag, bound) == plain


def test_the_derivation_gives_the_published_answers_of_rfc_5869() -> None:
    secret = b"\x0b" * 22
    salted = HKDF(SHA256(), 42, salt=bytes(range(13)), info=bytes(range(0xF0, 0xFA)))
    unsalted = HKDF(SHA256(), 42, salt=None, info=b"")

    assert salted.derive(secret).hex() == (
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    )
    assert unsalted.derive(secret).hex() == (
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
    )


def _hkdf_by_hand(secret: bytes, info: bytes) -> bytes:
    extracted = hmac.new(bytes(32), secret, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_sub_key_is_hkdf_of_the_data_key_and_its_purpose(purpose: str) -> None:
    secret = bytes(range(32))

    sub_key = _hkdf_by_hand(secret, b"holdfast/1/" + purpose.encode())

    made = getattr(DataKey(SPACE, 1, secret), purpose)
    assert made.digest() == blake2b(key=sub_key, digest_size=made.digest_size).digest()


def test_bodies_are_sealed_with_a_sub_key_of_their_own() -> None:
    secret = bytes(range(32))
    sealed = DataKey(SPACE, 1, secret).seal.encrypt(bytes(12), b"text", b"")

    assert AESGCM(_hkdf_by_hand(secret, b"holdfast/1/bodies")).decrypt(bytes(12), sealed, b"") == b"text"


@given(st.binary(min_size=32, max_size=32))
def test_sub_keys_differ_by_purpose_and_from_the_key_they_come_from(secret: bytes) -> None:
    key = DataKey(SPACE, 1, secret)
    sub_keys = {purpose: _hkdf_by_hand(secret, b"holdfast/1/" + purpose.encode()) for purpose in PURPOSES}
    for purpose in PURPOSES:
        made = getattr(key, purpose)
        others = [secret, *(sub_key for other, sub_key in sub_keys.items() if other != purpose)]
        assert all(
            made.digest() != blake2b(key=other, digest_size=made.digest_size).digest() for other in others
        )


def test_secrets_are_32_random_bytes() -> None:
    secrets = {new_secret() for _ in range(100)}

    assert len(secrets) == 100
    assert {len(secret) for secret in secrets} == {KEY_BYTES}


def test_a_wrapped_key_opens_with_the_master_that_wrapped_it() -> None:
    master = Master(bytes(32))

    assert master.unwrap(SPACE, 7, master.wrap(SPACE, 7, b"k" * 32)) == b"k" * 32


def test_a_wrapped_key_is_nonce_and_aes_gcm_bound_to_format_space_and_key_id() -> None:
    wrapped = Master(b"m" * 32).wrap(SPACE, 7, b"k" * 32)
    bound = b"HFwrap01" + SPACE.bytes + (7).to_bytes(4)

    assert AESGCM(b"m" * 32).decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], bound) == b"k" * 32


def test_wrapping_twice_never_gives_the_same_bytes() -> None:
    master = Master(bytes(32))

    assert len({master.wrap(SPACE, 1, b"k" * 32) for _ in range(100)}) == 100


@pytest.mark.parametrize(("space", "key_id"), [(OTHER, 7), (SPACE, 8), (SPACE, 0), (UUID(int=0), 7)])
def test_a_wrapped_key_does_not_open_as_the_key_of_another_space_or_number(space: UUID, key_id: int) -> None:
    master = Master(bytes(32))

    assert master.unwrap(space, key_id, master.wrap(SPACE, 7, b"k" * 32)) is None


def test_another_master_opens_nothing() -> None:
    wrapped = Master(bytes(32)).wrap(SPACE, 1, b"k" * 32)

    assert Master(b"\x01" + bytes(31)).unwrap(SPACE, 1, wrapped) is None


@given(st.data())
def test_a_wrapped_key_with_any_byte_changed_or_missing_does_not_open(data: st.DataObject) -> None:
    master = Master(bytes(32))
    wrapped = master.wrap(SPACE, 1, b"k" * 32)
    place = data.draw(st.integers(0, len(wrapped) - 1))
    flipped = bytearray(wrapped)
    flipped[place] ^= data.draw(st.integers(1, 255))

    assert master.unwrap(SPACE, 1, bytes(flipped)) is None
    assert master.unwrap(SPACE, 1, wrapped[:place]) is None
    assert master.unwrap(SPACE, 1, wrapped + b"\0") is None


def test_the_id_of_a_master_is_stable_and_tells_masters_apart() -> None:
    ids = {Master(secret.to_bytes(32)).id for secret in range(100)}

    assert Master(bytes(32)).id == Master(bytes(32)).id
    assert len(ids) == 100
    assert {len(one) for one in ids} == {8}


def test_the_id_of_a_master_is_no_part_of_the_key() -> None:
    secret = bytes(range(32))

    assert Master(secret).id not in secret


@pytest.mark.parametrize("size", [0, 16, 31, 33, 64])
def test_a_master_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Master(bytes(size))
