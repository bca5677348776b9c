"""The shape of what may be written, at each edge: cap, one over, blank, broken text, wrong type."""

from collections.abc import Callable
from functools import partial

import pytest

from holdfast.domain.errors import HoldfastError
from holdfast.domain.limits import (
    Limits,
    check_bytes,
    check_hint,
    check_key,
    check_label,
    check_limit,
    check_tags,
    check_text,
)

LIMITS = Limits()
KEY = partial(check_key, limits=LIMITS)
TEXT = partial(check_text, cap=LIMITS.body_bytes)
BYTES = partial(check_bytes, cap=LIMITS.value_bytes)
HINT = partial(check_hint, limits=LIMITS)
LABEL = partial(check_label, "category", limits=LIMITS)
TAGS = partial(check_tags, limits=LIMITS)
LIMIT = partial(check_limit, cap=1_000)

Check = Callable[[object], object]


def test_the_caps_are_those_of_the_design() -> None:
    assert (
        Limits(
            key_bytes=512,
            hint_characters=500,
            body_bytes=65_536,
            value_bytes=1_048_576,
            tags=32,
            tag_characters=64,
            entries=100_000,
            list_rows=1_000,
            search_hits=50,
            always_inject=25,
        )
        == LIMITS
    )


@pytest.mark.parametrize(
    ("check", "given", "kept"),
    [
        (KEY, " a/b ", "a/b"),
        (KEY, "k" * 512, "k" * 512),
        (KEY, "漢" * 170, "漢" * 170),
        (KEY, " " + "k" * 512 + " ", "k" * 512),
        (TEXT, " x ", b" x "),
        (TEXT, "x" * 65_536, b"x" * 65_536),
        (TEXT, "é" * 32_768, "é".encode() * 32_768),
        (BYTES, b"", b""),
        (BYTES, "", b""),
        (BYTES, "é", "é".encode()),
        (BYTES, bytearray(b"x"), b"x"),
        (BYTES, memoryview(b"x"), b"x"),
        (BYTES, b"\x00" * 1_048_576, b"\x00" * 1_048_576),
        (HINT, "", ""),
        (HINT, "h" * 500, "h" * 500),
        (HINT, "漢" * 500, "漢" * 500),
        (LABEL, " c ", "c"),
        (LABEL, "", ""),
        (TAGS, [], ()),
        (TAGS, [" a ", "b", "a"], ("a", "b")),
        (TAGS, (tag for tag in "ab"), ("a", "b")),
        (TAGS, {"a": 1}, ("a",)),
        (TAGS, ["t" * 64], ("t" * 64,)),
        (TAGS, [f"{number}" for number in range(32)], tuple(f"{number}" for number in range(32))),
        (LIMIT, 1, 1),
        (LIMIT, 1_000, 1_000),
        (LIMIT, 10**30, 1_000),
    ],
)
def test_what_is_within_its_bounds_is_kept(check: Check, given: object, kept: object) -> None:
    assert check(given) == kept


@pytest.mark.parametrize(
    ("check", "given", "code"),
    [
        (KEY, "", "invalid_key"),
        (KEY, " \t\n", "invalid_key"),
        (KEY, None, "invalid_key"),
        (KEY, 5, "invalid_key"),
        (KEY, b"k", "invalid_key"),
        (KEY, "\ud800", "invalid_key"),
        (KEY, "a\x00b", "invalid_key"),
        (KEY, "a\nb", "invalid_key"),
        (KEY, "a\x1fb", "invalid_key"),
        (KEY, "a\x7fb", "invalid_key"),
        (KEY, "k" * 513, "too_large"),
        (KEY, "漢" * 171, "too_large"),
        (TEXT, "", "missing_value"),
        (TEXT, " \n\u3000", "missing_value"),
        (TEXT, None, "missing_value"),
        (TEXT, b"x", "invalid_field"),
        (TEXT, "a\udc00", "invalid_field"),
        (TEXT, "a\x00", "invalid_field"),
        (TEXT, "x" * 65_537, "too_large"),
        (TEXT, "é" * 32_768 + "x", "too_large"),
        (BYTES, None, "invalid_field"),
        (BYTES, 5, "invalid_field"),
        (BYTES, [1, 2], "invalid_field"),
        (BYTES, "\ud800", "invalid_field"),
        (BYTES, b"x" * 1_048_577, "too_large"),
        (HINT, None, "invalid_field"),
        (HINT, 5, "invalid_field"),
        (HINT, "\ud800", "invalid_field"),
        (HINT, "a\nb", "invalid_field"),
        (HINT, "a\r", "invalid_field"),
        (HINT, "a\u2028b", "invalid_field"),
        (HINT, "a\x85b", "invalid_field"),
        (HINT, "a\x00b", "invalid_field"),
        (HINT, "a\x1b[31mb", "invalid_field"),
        (HINT, "a\x07b", "invalid_field"),
        (HINT, "h" * 501, "too_large"),
        (LABEL, "c" * 501, "too_large"),
        (TAGS, "a", "invalid_field"),
        (TAGS, None, "invalid_field"),
        (TAGS, 5, "invalid_field"),
        (TAGS, [""], "invalid_field"),
        (TAGS, [" "], "invalid_field"),
        (TAGS, [5], "invalid_field"),
        (TAGS, ["a\nb"], "invalid_field"),
        (TAGS, ["\ud800"], "invalid_field"),
        (TAGS, ["t" * 65], "too_large"),
        (TAGS, ["t"] * 33, "too_large"),
        (LIMIT, 0, "invalid_field"),
        (LIMIT, -1, "invalid_field"),
        (LIMIT, True, "invalid_field"),
        (LIMIT, 1.0, "invalid_field"),
        (LIMIT, "1", "invalid_field"),
        (LIMIT, None, "invalid_field"),
    ],
)
def test_what_is_out_of_its_bounds_is_refused_with_its_code(check: Check, given: object, code: str) -> None:
    with pytest.raises(HoldfastError) as caught:
        check(given)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("check", "given", "words"),
    [
        (KEY, "k" * 513, "512.*513"),
        (TEXT, "x" * 65_537, "65536.*65537"),
        (HINT, "h" * 501, "500.*501"),
        (TAGS, ["t"] * 33, "32.*33"),
    ],
)
def test_a_refusal_names_the_cap_and_what_was_given(check: Check, given: object, words: str) -> None:
    with pytest.raises(HoldfastError, match=words):
        check(given)
