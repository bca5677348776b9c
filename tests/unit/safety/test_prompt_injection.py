"""Orders that are to stand and rights that are claimed, in words of tools and imports."""

from re import _parser  # type: ignore[attr-defined]

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.safety.prompt_injection import ORDERS, claims_authority, gives_orders
from tests.unit.safety.test_scrub import unbounded


@pytest.mark.parametrize(
    "key",
    [
        "identity.role",
        "identity/permissions",
        "system.prompt",
        "system/instructions",
        "agent.persona",
        "User:Role",
    ],
)
def test_names_of_what_a_host_is_are_no_names_for_a_tool(key: str) -> None:
    assert claims_authority(key)


@pytest.mark.parametrize(
    "key",
    [
        "role",
        "system",
        "system/design",
        "team/roles",
        "notes.security",
        "docs/policy",
        "identity-provider",
        "",
    ],
)
def test_other_names_are(key: str) -> None:
    assert not claims_authority(key)


@pytest.mark.parametrize("order", ORDERS)
def test_no_pattern_can_take_more_than_a_bounded_number_of_steps_at_one_place(order: object) -> None:
    assert unbounded(_parser.parse(order.pattern.pattern)) == []  # type: ignore[attr-defined]


@given(st.text(max_size=300))
def test_any_text_and_any_key_can_be_looked_at(text: str) -> None:
    assert gives_orders(text) in (True, False)
    assert claims_authority(text) in (True, False)
