"""Memory that is off, or cannot open: nothing is kept, nothing is claimed, and everything says so."""

from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.domain.errors import Unavailable
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.interface import Interface
from tests.behaviours.looking import Call, keys, refused
from tests.support import FixedClock

OTHER_KEY = "7a" * 32


@pytest.fixture(params=["switched off", "wrong key"])
def off(request: pytest.FixtureRequest, interface: Interface, tmp_path: Path) -> Memory:
    if request.param == "switched off" or interface.remote:  # a server that cannot open its store answers 503
        return interface.open(key="off")
    made = interface.open(tmp_path / "m.db")
    made.user("alice").remember("x", key="k")
    made.close()
    return interface.open(tmp_path / "m.db", key=OTHER_KEY, required=False)


def test_it_says_why_it_is_off(off: Memory) -> None:
    assert off.enabled is False
    assert off.reason
    assert "HOLDFAST_MEMORY_KEY" in off.reason


def test_memory_that_is_on_has_no_reason(memory: Memory) -> None:
    assert memory.enabled is True
    assert memory.reason is None


def test_writes_are_accepted_but_not_persisted_and_say_so(off: Memory) -> None:
    alice = off.user("alice")
    for done in (alice.remember("x", key="k"), alice.facts.store("k", "x")):
        assert (done.key, done.persisted, done.note) == ("k", False, off.reason)
        assert (done.id, done.space, done.created, done.updated, done.revision) == (
            None,
            None,
            False,
            False,
            0,
        )
    many = alice.remember_many([{"text": "x"}, {"text": "y"}])
    assert [one.remembered.persisted for one in many if one.remembered] == [False, False]
    assert all(one.remembered and one.remembered.note for one in many)


def test_a_fact_that_was_not_persisted_is_answered_with_the_expiry_it_would_have_had(
    off: Memory, clock: FixedClock
) -> None:
    stored = off.user("alice").facts.store("k", "x", ttl_seconds=3_600)
    assert stored.expires_us == clock.now + 3_600_000_000
    assert (stored.category, stored.persisted) == ("user_facts", False)


def test_recalled_facts_learned_defaults_and_callers_are_empty_while_memory_is_off(off: Memory) -> None:
    facts = off.user("alice").facts
    for page in (facts.recall("k"), facts.recall(query="x"), facts.recall()):
        assert (list(page), page.note) == ([], off.reason)
    defaults = facts.defaults()
    assert (defaults.packs, defaults.recent, defaults.note) == ((), (), off.reason)
    assert facts.callers() == []
    with refused("unavailable"):
        facts.renew("k")


def test_lists_are_empty_with_a_note(off: Memory) -> None:
    alice = off.user("alice")
    for page in (alice.list(), alice.facts.list(), alice.trashed()):
        assert (list(page), page.cursor, page.note) == ([], None, off.reason)
    index = alice.facts.my_memory()
    assert (index.categories, index.note, index.scope) == ((), off.reason, "caller=alice")
    assert alice.spaces() == []


def test_reading_one_entry_is_unavailable(off: Memory) -> None:
    alice = off.user("alice")
    looks: tuple[Call, ...] = (
        lambda: alice.get("k"),
        lambda: alice.history("k"),
        lambda: alice.facts.get("k"),
        lambda: alice.facts.history("k"),
    )
    for look in looks:
        with refused("unavailable"):
            look()


def test_changing_one_entry_is_unavailable(off: Memory) -> None:
    alice = off.user("alice")
    for change in (
        lambda: alice.edit("k", text="x"),
        lambda: alice.replace("k", old="x", new="y"),
        lambda: alice.rename("k", new_key="l"),
        lambda: alice.undo("k"),
        lambda: alice.trash("k"),
        lambda: alice.restore("k"),
        lambda: alice.purge("k"),
        lambda: alice.share("user:bob"),
        lambda: alice.create_space("team"),
        lambda: off.administration("root").set_participants("c", []),
    ):
        with refused("unavailable"):
            change()


def test_forgetting_says_that_nothing_was_forgotten(off: Memory) -> None:
    for forget in (off.user("alice").forget, off.user("alice").facts.forget):
        done = forget("all")
        assert (done.scope, done.deleted, done.persisted, done.note) == ("all", 0, False, off.reason)


def test_a_bad_scope_is_refused_even_when_memory_is_off(off: Memory) -> None:
    """A typo must not look like success (SPEC A4)."""
    with refused("invalid_scope"):
        off.user("alice").forget("everything")


@pytest.mark.parametrize(
    ("key", "value", "ttl", "code"),
    [("", "x", None, "missing_key"), ("k", "", None, "missing_value"), ("k", "x", 1, "ttl_too_short")],
)
def test_a_bad_fact_is_refused_even_when_memory_is_off(
    off: Memory, key: str, value: str, ttl: int | None, code: str
) -> None:
    """One validator for every way in (SPEC A1): a tool that never works must not seem to while memory is off."""
    with refused(code):
        off.user("alice").facts.store(key, value, ttl_seconds=ttl)


def test_tools_get_no_handle(off: Memory) -> None:
    assert off.handle("alice") is None
    assert off.handle("alice", session="s1") is None


def test_sweeping_and_closing_do_nothing(off: Memory) -> None:
    assert off.sweep().purged == 0
    off.close()
    off.close()


def test_a_wrong_key_is_refused_at_opening_and_nothing_is_written(
    interface: Interface, tmp_path: Path
) -> None:
    path = tmp_path / "m.db"
    made = interface.open(path)
    made.user("alice").remember("x", key="k")
    made.close()
    before = path.read_bytes()
    with refused("locked"):
        interface.open(path, key=OTHER_KEY)
    off = interface.open(path, key=OTHER_KEY, required=False)
    for call in (lambda: off.user("alice").remember("y", key="k"), lambda: off.user("alice").forget("all")):
        with suppress(Unavailable):  # which is what a server answers
            call()
    off.close()
    assert path.read_bytes() == before
    assert keys(interface.open(path).user("alice").list()) == ["k"]


@pytest.mark.parametrize("key", ["5e" * 31, "xy" * 32, "5e" * 33, "on", "OFF"])
def test_a_key_of_the_wrong_form_is_refused_and_makes_no_store(
    interface: Interface, tmp_path: Path, key: str
) -> None:
    with refused("invalid_field"):
        interface.open(tmp_path / "new" / "m.db", key=key)
    assert not (tmp_path / "new" / "m.db").exists()
    off = interface.open(tmp_path / "new" / "m.db", key=key, required=False)
    assert "64 hex" in (off.reason or "")


def test_a_throw_away_key_keeps_memories_while_the_process_runs_and_warns(
    interface: Interface, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = interface.open(tmp_path / "m.db", key="ephemeral")
    memory.user("alice").remember("x", key="k")
    assert memory.user("alice").get("k").text == "x"
    assert "ephemeral" in caplog.text
    memory.close()
    again = interface.open(tmp_path / "m.db", key="ephemeral")
    page = again.user("alice").list()
    assert (list(page), page.locked) == ([], 1)
    again.user("alice").remember("new", key="n")
    assert keys(again.user("alice").list()) == ["n"]
    assert again.user("alice").forget("all").deleted == 2


def test_without_a_key_a_key_file_is_made_once_for_its_owner_alone(
    interface: Interface, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDFAST_MEMORY_KEY", raising=False)
    folder = tmp_path / "data"
    memory = interface.open(folder, key=None)
    memory.user("alice").remember("x", key="k")
    memory.close()
    (file,) = folder.glob("*.key")
    assert file.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert "key" in caplog.text
    secret = file.read_bytes()
    assert interface.open(folder, key=None).user("alice").get("k").text == "x"
    assert file.read_bytes() == secret


def test_memory_is_switched_off_by_the_environment(
    interface: Interface, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_MEMORY_KEY", "off")
    assert interface.open(key=None).handle("alice") is None


def test_a_bad_note_is_refused_even_when_memory_is_off(off: Memory) -> None:
    alice = off.user("alice")
    with refused("missing_value"):
        alice.remember(" ", key="k")
    with refused("invalid_key"):
        alice.remember("x", key="")
    outcomes = alice.remember_many([{"text": "x", "key": "k"}, {"text": ""}, {"text": "x", "ttl": 0}])
    assert [one.error.code if one.error else "ok" for one in outcomes] == [
        "ok",
        "missing_value",
        "ttl_too_short",
    ]


def test_the_index_says_when_it_was_looked_at_even_when_memory_is_off(
    interface: Interface, clock: FixedClock
) -> None:
    assert interface.open(key="off").user("alice").facts.my_memory().fetched_us == clock.now
