"""Blinds: equal for equals, different for everything else, and of no use without the key."""

from __future__ import annotations

import hmac
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b, sha256
from uuid import UUID

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.crypto.blind import blind_key, blind_label, blind_name, blind_terms, fingerprint, row_code
from holdfast.crypto.keys import DataKey

SPACE = UUID("11111111-2222-8333-8444-555500000000")
OTHER = UUID("11111111-2222-8333-8444-555600000000")
KEY = DataKey(SPACE, 1, b"\x02" + bytes(range(32)))
ANOTHER = DataKey(OTHER, 1, b"\x02" + bytes(range(1, 33)))
"""Such keys blinded words by a keyed hash each."""
TRICKY = st.text(st.sampled_from("ab:\0/1 2"), max_size=6)
WITHOUT_NUL = st.text(st.sampled_from("ab:/1 2"), max_size=6)
"""Namespaces, tags and categories: the engine refuses NUL in them."""


def test_equal_names_have_equal_blinds() -> None:
    assert blind_key(KEY, "", "prefs/lang") == blind_key(KEY, "", "prefs/lang")
    assert blind_label(KEY, 1, "tag", "red") == blind_label(KEY, 1, "tag", "red")
    assert blind_terms(KEY, ["red", "red"])[0] == blind_terms(KEY, ["red"])[0]
    assert blind_name(KEY, "principal", "user", "ada") == blind_name(KEY, "principal", "user", "ada")


def test_blinds_differ_between_spaces() -> None:
    assert blind_key(KEY, "", "lang") != blind_key(ANOTHER, "", "lang")
    assert blind_label(KEY, 1, "tag", "red") != blind_label(ANOTHER, 1, "tag", "red")
    assert blind_terms(KEY, ["red"]) != blind_terms(ANOTHER, ["red"])
    assert blind_name(KEY, "ada") != blind_name(ANOTHER, "ada")
    assert fingerprint(KEY, b"red") != fingerprint(ANOTHER, b"red")
    assert row_code(KEY, b"red") != row_code(ANOTHER, b"red")


def test_one_word_has_different_blinds_for_different_purposes() -> None:
    term = bytes.fromhex(blind_terms(KEY, ["red"])[0])
    blinds = [
        term,
        blind_key(KEY, "", "red"),
        blind_label(KEY, 1, "tag", "red"),
        blind_label(KEY, 1, "category", "red"),
        blind_label(KEY, 2, "tag", "red"),
        blind_name(KEY, "red"),
        fingerprint(KEY, b"red"),
        row_code(KEY, b"red"),
    ]

    assert len({blind[: len(term)] for blind in blinds}) == len(blinds)


def test_a_blind_cannot_be_made_without_the_key() -> None:
    for size in (6, 8, 16):
        bare = blake2b(b"red", digest_size=size).digest()
        assert bare != blind_key(KEY, "", "red")
        assert bare != fingerprint(KEY, b"red")
        assert bare.hex() != blind_terms(KEY, ["red"])[0]


WORDS = ["a", "Straße", "日本", "x" * 1_000, "\ud800", ""]


def test_a_blind_term_is_twelve_hex_characters_whatever_the_word() -> None:
    assert all(len(term) == 12 and int(term, 16) >= 0 for term in blind_terms(KEY, WORDS))
    assert len(set(blind_terms(KEY, WORDS))) == len(WORDS)
    assert blind_terms(KEY, []) == []


def test_a_term_is_a_block_of_aes_over_its_digest_under_the_key_of_terms() -> None:
    extracted = hmac.new(bytes(32), bytes(range(32)), sha256).digest()
    terms = hmac.new(extracted, b"holdfast/1/terms\x01", sha256).digest()
    encryptor = Cipher(AES(terms), ECB()).encryptor()
    assert blind_terms(KEY, ["red", "blue"]) == [
        encryptor.update(blake2b(word, digest_size=16).digest())[:6].hex() for word in (b"red", b"blue")
    ]


def test_many_threads_get_the_blinds_of_their_own_words() -> None:
    def blind(thread: int) -> bool:
        words = [f"{thread} {number}" for number in range(50)]
        alone = [blind_terms(DataKey(SPACE, 1, b"\x02" + bytes(range(32))), [word])[0] for word in words]
        return all(blind_terms(KEY, words) == alone for _ in range(100))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(blind, range(8)))


def test_names_are_compared_exactly() -> None:
    names = ["prefs/lang", "prefs/language", "Prefs/lang", "prefs/lang ", "prefs/lan", "\u00e9", "e\u0301"]

    assert len({blind_key(KEY, "", name) for name in names}) == len(names)


@given(WITHOUT_NUL, TRICKY, WITHOUT_NUL, TRICKY)
def test_no_colon_or_nul_makes_two_keys_collide(
    namespace: str, name: str, other_namespace: str, other: str
) -> None:
    assume((namespace, name) != (other_namespace, other))

    assert blind_key(KEY, namespace, name) != blind_key(KEY, other_namespace, other)


@given(st.lists(TRICKY, max_size=4), st.lists(TRICKY, max_size=4))
def test_no_colon_nul_or_digit_makes_two_principals_or_spaces_collide(
    parts: list[str], others: list[str]
) -> None:
    assert (blind_name(KEY, *parts) == blind_name(KEY, *others)) == (parts == others)


def test_a_subject_with_a_colon_is_never_a_subject_with_a_session() -> None:
    assert blind_name(KEY, "space", "user", "user:a:b", "a:b") != blind_name(
        KEY, "space", "session", "user:a", "b"
    )
    assert blind_name(KEY, "principal", "user", "a") != blind_name(KEY, "principal", "agent", "a")


@given(
    st.integers(1, 99),
    st.sampled_from(["tag", "category", "prefix"]),
    WITHOUT_NUL,
    st.integers(1, 99),
    st.sampled_from(["tag", "category", "prefix"]),
    WITHOUT_NUL,
)
def test_labels_of_different_rooms_kinds_and_values_differ(
    room: int, kind: str, value: str, other_room: int, other_kind: str, other: str
) -> None:
    same = blind_label(KEY, room, kind, value) == blind_label(KEY, other_room, other_kind, other)

    assert same == ((room, kind, value) == (other_room, other_kind, other))


def test_a_fingerprint_is_keyed_and_shows_equality_within_a_space_alone() -> None:
    assert fingerprint(KEY, b"value") == fingerprint(KEY, b"value")
    assert fingerprint(KEY, b"value") != fingerprint(KEY, b"valuE")
    assert fingerprint(KEY, b"value") != fingerprint(DataKey(SPACE, 2, bytes(32)), b"value")
