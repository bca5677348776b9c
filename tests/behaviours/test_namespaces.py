"""Namespaces: sets of keys of their own within a space, for every call of the core vocabulary."""

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.looking import keys, refused, unchanged
from tests.behaviours.models import model_of

ByKey = Callable[[Own, dict[str, Any]], object]
BY_KEY: dict[str, ByKey] = {
    "get": lambda own, named: own.get("k", **named),
    "history": lambda own, named: own.history("k", **named),
    "readers": lambda own, named: own.readers("k", **named),
    "similar": lambda own, named: own.similar("k", **named),
    "edit": lambda own, named: own.edit("k", text="edited", **named),
    "replace": lambda own, named: own.replace("k", old="one", new="two", **named),
    "flag": lambda own, named: own.flag("k", always_inject=True, **named),
    "rename": lambda own, named: own.rename("k", new_key="l", **named),
    "renew": lambda own, named: own.renew("k", ttl=200, **named),
    "undo": lambda own, named: own.undo("k", to_revision=1, **named),
    "trash": lambda own, named: own.trash("k", **named),
    "purge": lambda own, named: own.purge("k", **named),
}


@pytest.fixture
def alice(memory: Memory) -> Own:
    return memory.user("alice")


def test_two_namespaces_hold_one_key_each(alice: Own) -> None:
    kept = [alice.remember(f"of {name or 'none'}", key="k", namespace=name) for name in ("", "a", "b")]
    assert len({one.id for one in kept}) == 3
    assert all(one.created for one in kept)
    again = alice.remember("of a again", key="k", namespace="a")
    assert (again.id, again.revision) == (kept[1].id, 2)
    shown = [alice.get("k"), alice.get("k", namespace="a"), alice.get("k", namespace="b")]
    assert [(entry.text, entry.namespace) for entry in shown] == [
        ("of none", ""),
        ("of a again", "a"),
        ("of b", "b"),
    ]


def test_a_list_shows_one_namespace_and_without_one_what_has_none(alice: Own) -> None:
    for namespace in ("", "a", "b"):
        alice.remember("x", key=f"k/{namespace}1", namespace=namespace)
        alice.remember("x", key=f"k/{namespace}2", namespace=namespace)
    assert keys(alice.list()) == keys(alice.list("k/")) == ["k/2", "k/1"]
    assert keys(alice.list(namespace="a")) == keys(alice.list("k/", namespace="a")) == ["k/a2", "k/a1"]
    assert keys(alice.list("k/b2", namespace="b")) == ["k/b2"]
    assert keys(alice.list(namespace="c")) == keys(alice.list("k/b", namespace="a")) == []


def test_recall_finds_in_every_namespace_unless_one_is_named(alice: Own) -> None:
    for namespace in ("", "a", "ab"):
        alice.remember("a walrus", key=f"k{namespace}", namespace=namespace)
    assert sorted(keys(alice.recall("walrus"))) == sorted(keys(alice.recall(""))) == ["k", "ka", "kab"]
    assert keys(alice.recall("walrus", namespace="a")) == keys(alice.recall("", namespace="a")) == ["ka"]
    assert keys(alice.recall("walrus", namespace="b")) == []


def test_why_not_names_the_filter_that_another_namespace_is(alice: Own) -> None:
    kept = alice.remember("a walrus", key="k", namespace="a").id
    assert kept is not None
    assert alice.why_not("walrus", kept, namespace="a").stage == "shown"
    left_out = alice.why_not("walrus", kept, namespace="b")
    assert (left_out.stage, "namespace" in left_out.reason) == ("filter", True)


@pytest.mark.parametrize("call", BY_KEY.values(), ids=BY_KEY)
def test_every_call_by_key_reaches_a_namespace_that_is_named_and_no_other(
    memory: Memory, alice: Own, call: ByKey
) -> None:
    for text in ("none", "one"):
        alice.remember(text, key="k", namespace="a", ttl=100)
    for named in ({}, {"namespace": "b"}):
        with unchanged(memory), refused("not_found"):
            call(alice, named)
    call(alice, {"namespace": "a"})


def test_an_id_needs_no_namespace(alice: Own) -> None:
    kept = alice.remember("one", key="k", namespace="a").id
    assert alice.get(id=kept).namespace == "a"
    assert alice.edit(id=kept, text="two").revision == 2
    assert alice.rename(id=kept, new_key="l").namespace == "a"
    assert alice.history("l", namespace="a")[0].text == "two"
    for namespace in ("", "a", "b"):
        assert alice.get(id=kept, namespace=namespace).key == "l"
        assert alice.flag(id=kept, always_inject=True, namespace=namespace).always_inject


def test_what_is_trashed_in_a_namespace_is_restored_there(alice: Own) -> None:
    alice.remember("of none", key="k")
    alice.remember("of a", key="k", namespace="a")
    alice.trash("k", namespace="a")
    assert [(entry.key, entry.namespace) for entry in alice.trashed()] == [("k", "a")]
    with refused("not_found"):
        alice.restore("k")
    assert alice.restore("k", namespace="a").text == "of a"
    assert alice.get("k").text == "of none"


def test_a_key_is_forgotten_where_it_has_no_namespace(alice: Own) -> None:
    alice.remember("of none", key="k")
    kept = alice.remember("of a", key="k", namespace="a").id
    assert alice.forget("key:k").deleted == 1
    assert alice.get("k", namespace="a").text == "of a"
    assert alice.forget(f"id:{kept}").deleted == 1
    with refused("not_found"):
        alice.get("k", namespace="a")


def test_rows_of_many_have_a_namespace_each(alice: Own) -> None:
    outcomes = alice.remember_many(
        [
            {"text": "one", "key": "k", "namespace": "a"},
            {"text": "two", "key": "k", "namespace": " b "},
            {"text": "three", "key": "k", "namespace": "a\nb"},
            {"text": "four", "key": "k", "namespace": None},
        ]
    )
    codes = [None if one.error is None else one.error.code for one in outcomes]
    assert codes == [None, None, "invalid_field", "invalid_field"]
    assert alice.get("k", namespace="a").text == "one"
    assert alice.get("k", namespace="b").text == "two"


def test_an_idempotency_key_belongs_to_one_namespace(memory: Memory, alice: Own) -> None:
    first = alice.remember("one", key="k", namespace="a", idempotency_key="once")
    with unchanged(memory):
        assert alice.remember("one", key="k", namespace="a", idempotency_key="once") == first
    for namespace in ("", "b"):
        with unchanged(memory), refused("conflict"):
            alice.remember("one", key="k", namespace=namespace, idempotency_key="once")


@pytest.mark.parametrize("namespace", ["a\nb", "a\x00", 5, None, False, ["a"], "a" * 10_000])
def test_an_impossible_namespace_is_refused_wherever_it_is_given(
    memory: Memory, alice: Own, namespace: Any
) -> None:
    kept = alice.remember("a walrus", key="k").id
    assert kept is not None
    calls: list[Callable[[], object]] = [
        lambda: alice.remember("x", key="k", namespace=namespace),
        lambda: alice.list(namespace=namespace),
        lambda: alice.recall("walrus", namespace=namespace),
        lambda: alice.why_not("walrus", kept, namespace=namespace),
        lambda: alice.restore("k", namespace=namespace),
        *(lambda call=call: call(alice, {"namespace": namespace}) for call in BY_KEY.values()),
    ]
    code = "too_large" if isinstance(namespace, str) and len(namespace) > 5_000 else "invalid_field"
    for call in calls:
        with unchanged(memory), refused(code):
            call()


def test_space_around_a_namespace_makes_no_other_one(alice: Own) -> None:
    alice.remember("one", key="k", namespace=" a")
    assert alice.get("k", namespace="a ").namespace == "a"
    assert keys(alice.list(namespace=" a ")) == keys(alice.recall("one", namespace="a ")) == ["k"]


def test_what_a_model_wants_to_apply_in_a_namespace_is_shown_and_kept_with_it(
    memory: Memory, alice: Own
) -> None:
    alice.create_space("team")
    with refused("confirmation_required"):
        model_of(memory, "alice").remember(
            "Be brief", key="tone", space="shared:team", namespace="billing", always_inject=True
        )
    [waiting] = alice.people.proposals()
    assert "namespace billing" in waiting.shown
    alice.people.approve(waiting.id)
    assert alice.get("tone", space="shared:team", namespace="billing").always_inject


def test_similar_entries_are_looked_for_in_the_same_namespace(alice: Own) -> None:
    alice.remember("Deploys to prod on Fridays are forbidden", key="unnamed")
    first = alice.remember(
        "Deploys to prod on Fridays are forbidden", key="a", namespace="work", similar=True
    )
    again = alice.remember("Deploy to prod on Fridays is forbidden", key="b", namespace="work", similar=True)
    assert first.similar == []
    assert [one.key for one in again.similar or ()] == ["a"]
