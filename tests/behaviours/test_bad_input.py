"""What cannot be accepted is refused with its stated code, and nothing is written: no count, no line of the audit."""

import random
import string
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from holdfast.domain.errors import HoldfastError
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.interface import Interface
from tests.behaviours.looking import handle_of, keys, refused, unchanged

SURROGATE = "\ud800"


@pytest.fixture
def alice(memory: Memory) -> Own:
    own = memory.user("alice")
    own.remember("text", key="there", tags=["t"])
    return own


BAD_FIELDS = [
    ("text", "", "missing_value"),
    ("text", " \t\n\u3000", "missing_value"),
    ("text", None, "missing_value"),
    ("text", 5, "invalid_field"),
    ("text", b"bytes", "invalid_field"),
    ("text", ["x"], "invalid_field"),
    ("text", f"a{SURROGATE}b", "invalid_field"),
    ("text", "a\x00b", "invalid_field"),
    ("text", "x" * 65_537, "too_large"),
    ("text", "é" * 32_769, "too_large"),
    ("text", "x" * 66_560, "too_large"),
    ("key", "", "invalid_key"),
    ("key", "  ", "invalid_key"),
    ("key", 5, "invalid_key"),
    ("key", b"k", "invalid_key"),
    ("key", SURROGATE, "invalid_key"),
    ("key", "a\x00b", "invalid_key"),
    ("key", "a\nb", "invalid_key"),
    ("key", "a\x7fb", "invalid_key"),
    ("key", "k" * 513, "too_large"),
    ("key", "漢" * 171, "too_large"),
    ("hint", "h" * 501, "too_large"),
    ("hint", "two\nlines", "invalid_field"),
    ("hint", "ends\n", "invalid_field"),
    ("hint", "two\u2028lines", "invalid_field"),
    ("hint", "nul\x00", "invalid_field"),
    ("hint", "escape\x1b[31m", "invalid_field"),
    ("hint", SURROGATE, "invalid_field"),
    ("hint", 5, "invalid_field"),
    ("hint", [], "invalid_field"),
    ("category", "c" * 501, "too_large"),
    ("category", "a\nb", "invalid_field"),
    ("category", SURROGATE, "invalid_field"),
    ("category", 5, "invalid_field"),
    ("category", 0, "invalid_field"),
    ("tags", ["t"] * 33, "too_large"),
    ("tags", [f"t{number}" for number in range(33)], "too_large"),
    ("tags", ["t" * 65], "too_large"),
    ("tags", [""], "invalid_field"),
    ("tags", [" "], "invalid_field"),
    ("tags", ["a\nb"], "invalid_field"),
    ("tags", [SURROGATE], "invalid_field"),
    ("tags", ["a\x00"], "invalid_field"),
    ("tags", [5], "invalid_field"),
    ("tags", [None], "invalid_field"),
    ("tags", "one,two", "invalid_field"),
    ("tags", 5, "invalid_field"),
    ("always_inject", "yes", "invalid_field"),
    ("encrypted", "no", "invalid_field"),
    ("in_context", "no", "invalid_field"),
    ("conversation", 5, "invalid_field"),
    ("conversation", "a\nb", "invalid_field"),
    ("speaker", 5, "invalid_field"),
    ("speaker", "s" * 501, "too_large"),
    ("at", "2026-01-01", "invalid_field"),
    ("at", datetime(2026, 1, 1), "invalid_field"),
    ("at", 5, "invalid_field"),
    ("space", 5, "invalid_field"),
    ("space", [], "invalid_field"),
    ("space", f"chat:{SURROGATE}", "invalid_field"),
    ("space", f"system:{SURROGATE}", "invalid_field"),
    ("space", f"user:{SURROGATE}", "invalid_field"),
    ("space", "user:bob", "access_denied"),
]


@pytest.mark.parametrize(("field", "value", "code"), BAD_FIELDS)
def test_remember_refuses_what_it_cannot_keep_and_writes_nothing(
    memory: Memory, alice: Own, field: str, value: object, code: str
) -> None:
    said: dict[str, Any] = {"text": "x", "key": "k"} | {field: value}
    with unchanged(memory), refused(code):
        alice.remember(**said)


EDITABLE = ("text", "hint", "category", "tags", "always_inject")


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [row for row in BAD_FIELDS if row[0] in EDITABLE and row[1] is not None],
)
def test_edit_refuses_the_same_and_writes_nothing(
    memory: Memory, alice: Own, field: str, value: object, code: str
) -> None:
    said: dict[str, Any] = {field: value}
    with unchanged(memory), refused(code):
        alice.edit("there", **said)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", "x" * 65_536),
        ("text", "é" * 32_768),
        ("text", "\u202e bidi \u200b zero width \x1b escape"),
        ("key", "k" * 512),
        ("key", "漢" * 170),
        ("key", "sp ace/%_'\"\\;--"),
        ("hint", "h" * 500),
        ("category", "c" * 500),
        ("tags", [f"t{number}" for number in range(32)]),
        ("tags", ["t" * 64]),
        ("tags", []),
    ],
)
def test_what_is_just_within_its_cap_comes_back_as_it_was(alice: Own, field: str, value: Any) -> None:
    said: dict[str, Any] = {"text": "x", "key": "k"} | {field: value}
    alice.remember(**said)
    found = getattr(alice.get(said["key"]), field)
    assert list(found) == value if field == "tags" else found == value


@pytest.mark.parametrize("key", [SURROGATE, f"a/{SURROGATE}"])
def test_a_key_that_is_no_text_is_refused_or_not_found_by_every_call(
    memory: Memory, alice: Own, key: str
) -> None:
    handle = handle_of(memory)
    handle.store("there", b"x")
    for call in (
        lambda: alice.get(key),
        lambda: alice.history(key),
        lambda: alice.edit(key, text="x"),
        lambda: alice.replace(key, old="x", new="y"),
        lambda: alice.rename(key, new_key="y"),
        lambda: alice.undo(key),
        lambda: alice.trash(key),
        lambda: alice.restore(key),
        lambda: alice.purge(key),
        lambda: alice.facts.get(key),
        lambda: alice.facts.history(key),
        lambda: handle.recall(key),
    ):
        with unchanged(memory), pytest.raises(Exception) as caught:  # noqa: PT011
            call()
        assert getattr(caught.value, "code", caught.value) in ("not_found", "invalid_key")


@pytest.mark.parametrize("call", ["forget", "facts.forget", "handle.delete"])
def test_forgetting_a_key_that_is_no_text_is_refused_or_forgets_nothing(
    memory: Memory, alice: Own, call: str
) -> None:
    handle = handle_of(memory)
    handle.store("there", b"x")
    calls: dict[str, Callable[[], object]] = {
        "forget": lambda: alice.forget(f"key:{SURROGATE}").deleted,
        "facts.forget": lambda: alice.facts.forget(f"key:{SURROGATE}").deleted,
        "handle.delete": lambda: handle.delete(SURROGATE),
    }
    try:
        assert not calls[call]()
    except HoldfastError as refusal:
        assert refusal.code in ("invalid_key", "invalid_scope")  # noqa: PT017


@pytest.mark.parametrize(
    "asked",
    [
        {"prefix": None},
        {"prefix": 5},
        {"prefix": f"{SURROGATE}/"},
        {"tag": SURROGATE},
        {"category": SURROGATE},
        {"tag": 5},
        {"category": 5},
        {"space": f"chat:{SURROGATE}"},
    ],
)
def test_a_list_asked_for_with_what_is_no_text_is_refused(alice: Own, asked: dict[str, Any]) -> None:
    with refused("invalid_field"):
        alice.list(**asked)


def test_without_a_key_or_an_id_nothing_is_meant(memory: Memory, alice: Own) -> None:
    for call in (alice.get, alice.history, alice.trash, alice.restore, alice.purge, alice.undo, alice.edit):
        with unchanged(memory), refused("missing_key"):
            call()


@pytest.mark.parametrize("key", [5, b"there", ["there"]])
def test_a_key_of_another_type_is_refused(memory: Memory, alice: Own, key: str) -> None:
    for call in (alice.get, alice.history, alice.trash, alice.restore, alice.purge, alice.undo):
        with unchanged(memory), refused("invalid_key"):
            call(key)


@pytest.mark.parametrize("grantee", [None, 5, b"user:bob", ["user:bob"]])
def test_a_grantee_that_is_no_text_is_refused(memory: Memory, alice: Own, grantee: str) -> None:
    for call in (alice.share, alice.unshare):
        with unchanged(memory), refused("invalid_field"):
            call(grantee)


@pytest.mark.parametrize("ref", ["", " ", None, 5, SURROGATE, "a\x00", "r" * 513])
def test_a_shared_space_needs_a_name(memory: Memory, alice: Own, ref: str) -> None:
    with unchanged(memory), pytest.raises(Exception) as caught:  # noqa: PT011
        alice.create_space(ref)
    assert getattr(caught.value, "code", caught.value) in ("invalid_key", "too_large", "missing_key")


@pytest.mark.parametrize("subject", [5, b"alice", SURROGATE, "a\x00b", "a\nb", "s" * 513, None])
def test_a_subject_that_is_no_name_is_refused(memory: Memory, subject: str) -> None:
    for session in (memory.user, memory.agent, memory.service, memory.handle, memory.administration):
        with refused("invalid_field"):
            session(subject)


@pytest.mark.parametrize(
    "call",
    [
        lambda root: root.set_participants("c", [5]),
        lambda root: root.set_participants("c", [None]),
        lambda root: root.set_participants("c", [""]),
        lambda root: root.set_system_access("s", {5: "read"}),
        lambda root: root.set_system_access("s", {"": "read"}),
        lambda root: root.set_system_access("s", {"team:": "read"}),
        lambda root: root.set_system_access("s", {"team:\ud800": "read"}),
    ],
)
def test_an_access_list_that_names_nobody_is_refused(memory: Memory, call: Any) -> None:
    with unchanged(memory), refused("invalid_field"):
        call(memory.administration("root"))


@pytest.mark.parametrize("teams", ["platform", "ab"])
def test_teams_are_a_list_not_one_text(memory: Memory, teams: str) -> None:
    memory.administration("root").set_system_access("s", {"team:a": "manage", "team:platform": "manage"})
    with refused("invalid_field"):
        memory.user("alice", teams=teams)


def test_a_secret_is_taken_out_of_text_hint_key_and_tags_and_counted(memory: Memory) -> None:
    alice = memory.user("alice")
    token = "ghp_" + "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=36))
    done = alice.remember(f"token is {token}", key=f"k/{token}", hint=f"use {token}", tags=[token])
    assert (done.redacted, done.redactions) == (4, (("github-token", 4),))
    (entry,) = alice.list()
    assert token not in repr(entry.content)
    assert entry.text.startswith("token is ")
    assert alice.facts.store("fact", f"token is {token}").redacted == 1
    assert token not in alice.facts.get("fact").text
    alice.edit("fact", text=f"again {token}")
    assert token not in alice.facts.get("fact").text
    assert token not in repr([state.content for state in alice.facts.history("fact")])


def test_a_refused_write_leaves_a_later_one_as_if_nothing_had_been(memory: Memory, alice: Own) -> None:
    with refused("too_large"):
        alice.remember("x" * 65_537, key="k")
    done = alice.remember("x", key="k")
    assert (done.created, done.revision) == (True, 1)
    assert keys(alice.list()) == ["k", "there"]


def test_card_numbers_are_taken_out_where_the_host_asks_for_it(
    interface: Interface, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "the card is 4111 1111 1111 1111, the order 4111 1111 1111 1112"
    assert interface.open().user("alice").remember(said).redacted == 0
    monkeypatch.setenv("HOLDFAST_SCRUB_CARDS", "on")
    kept = interface.open().user("alice").remember(said)
    assert kept.redactions == (("card-number", 1),)
