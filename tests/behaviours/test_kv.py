"""The three calls of older agents, on the entries of the own store."""

from typing import Any

import pytest

from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.looking import refused, unchanged
from tests.behaviours.test_stores import create, value


def test_a_value_is_set_read_replaced_and_deleted(memory: Memory) -> None:
    kv = memory.agent("bot").kv
    assert kv.kv_set("timezone", "Europe/Lisbon") is True
    assert kv.kv_get("timezone") == "Europe/Lisbon"
    kv.kv_set("timezone", "")
    assert kv.kv_get("timezone") == ""
    assert (kv.kv_delete("timezone"), kv.kv_delete("timezone")) == (True, False)


def test_a_missing_key_gives_an_empty_text(memory: Memory) -> None:
    assert memory.agent("bot").kv.kv_get("nothing") == ""


def test_keys_are_those_of_the_memory_tool(memory: Memory) -> None:
    bot = memory.agent("bot")
    bot.kv.kv_set("a/b", "text")
    assert value(bot, "/memories/a/b") == "text"
    create(bot, "/memories/c", "other")
    assert bot.kv.kv_get("c") == "other"


def test_namespaces_keep_equal_keys_apart(memory: Memory) -> None:
    kv = memory.agent("bot").kv
    kv.kv_set("k", "one")
    kv.kv_set("k", "two", namespace="billing")
    assert (kv.kv_get("k"), kv.kv_get("k", namespace="billing")) == ("one", "two")
    assert kv.kv_delete("k", namespace="billing")
    assert (kv.kv_get("k"), kv.kv_get("k", namespace="billing")) == ("one", "")


def test_space_around_a_namespace_makes_no_other_one(memory: Memory) -> None:
    kv = memory.agent("bot").kv
    kv.kv_set("k", "two", namespace=" billing")
    assert kv.kv_get("k", namespace="billing ") == "two"
    assert kv.kv_delete("k", namespace=" billing ") is True


def test_a_namespace_that_cannot_be_written_cannot_be_asked_for(memory: Memory) -> None:
    kv = memory.agent("bot").kv
    for ask in (
        lambda: kv.kv_set("k", "x", namespace="a\x0fb"),
        lambda: kv.kv_get("k", namespace="a\x0fb"),
        lambda: kv.kv_delete("k", namespace="a\x0fb"),
    ):
        with unchanged(memory), refused("invalid_field"):
            ask()


def test_only_who_set_a_key_reads_and_deletes_it_here(memory: Memory) -> None:
    owner, guest = memory.agent("owner"), memory.agent("guest")
    owner.stores.memory("share", agent="guest", level="readwrite")
    create(guest, "/memories/shared/owner/k", "of the guest")
    owner.kv.kv_set("own", "of the owner")
    assert owner.kv.kv_get("k") == ""
    assert owner.kv.kv_delete("k") is False
    assert guest.kv.kv_get("own") == ""
    assert value(guest, "/memories/shared/owner/k") == "of the guest"


@pytest.mark.parametrize("key", ["", " ", "\u3000", None])
def test_a_blank_key_is_no_key(memory: Memory, key: Any) -> None:
    kv = memory.agent("bot").kv
    for ask in (lambda: kv.kv_set(key, "x"), lambda: kv.kv_get(key), lambda: kv.kv_delete(key)):
        with unchanged(memory), refused("missing_key"):
            ask()


@pytest.mark.parametrize(
    ("key", "text", "code"),
    [
        ("k", None, "missing_value"),
        ("k", 5, "invalid_field"),
        ("k" * 513, "x", "too_large"),
    ],
)
def test_a_key_without_a_name_or_a_text_is_refused(memory: Memory, key: str, text: Any, code: str) -> None:
    with unchanged(memory), refused(code):
        memory.agent("bot").kv.kv_set(key, text)
