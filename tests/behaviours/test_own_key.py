"""What a client encrypts with a key of its own: kept, given back, and unreadable to everybody else."""

import json

import pytest

import holdfast
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.looking import refused

KEY = holdfast.OwnKey("ab" * 32)


def test_a_value_comes_back_to_who_has_the_key(memory: Memory) -> None:
    bot = memory.agent("bot")
    private = holdfast.Encrypted(bot, KEY)
    private.create("salary", {"amount": 5000})
    private.remember("behind the painting", key="safe")
    assert private.view("salary") == {"amount": 5000}
    assert private.get("safe") == "behind the painting"
    assert private.view("nothing") is None


def test_the_engine_never_has_the_text_and_finds_none_of_its_words(memory: Memory) -> None:
    bot = memory.agent("bot")
    private = holdfast.Encrypted(bot, KEY)
    private.create("harbour", "the painting hides a safe")
    shown = bot.stores.memory("view", path="/memories/harbour")
    assert shown["encrypted"] is True
    assert "painting" not in json.dumps(shown)
    assert bot.stores.memory("search", query="painting safe harbour")["entries"] == []
    assert bot.recall("painting safe harbour") == []


def test_another_key_and_another_name_open_nothing(memory: Memory) -> None:
    bot = memory.agent("bot")
    holdfast.Encrypted(bot, KEY).create("a", "text")
    with refused("locked"):
        holdfast.Encrypted(bot, holdfast.OwnKey.generate()).view("a")
    sealed = bot.stores.memory("view", key="a")["value"]
    bot.stores.memory("create", key="b", content=sealed, encrypted=True)
    with refused("locked"):
        holdfast.Encrypted(bot, KEY).view("b")


def test_a_key_shows_itself_to_nobody_who_prints_it() -> None:
    assert "ab" * 4 not in repr(KEY)
    assert holdfast.OwnKey(KEY.hex()).decrypt(KEY.encrypt("text", "name"), "name") == "text"


@pytest.mark.parametrize("secret", ["", "ab", "zz" * 32, b"short"])
def test_what_is_no_key_is_refused(secret: str | bytes) -> None:
    with refused("invalid_field"):
        holdfast.OwnKey(secret)
