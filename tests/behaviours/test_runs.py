"""Recorded runs: what tools and pipelines did for whom, what is learned from it, and how it is forgotten."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast import Cache
from holdfast.domain.partition import Partition
from holdfast.domain.profile import RUNS
from holdfast.domain.run import LEARNABLE
from holdfast.entrypoints.python.memory import Memory
from holdfast.entrypoints.python.tool_context import Handle, Tool, ToolContext
from holdfast.operations.notes import NoteInput
from holdfast.operations.read import Listing, list_entries
from holdfast.operations.tool_runs import record
from tests.behaviours.interface import AWAITED, PYTHON, Interface
from tests.behaviours.looking import engine_of, keys, refused, session_of, unchanged, write_as
from tests.support import FixedClock

pytestmark = pytest.mark.interfaces(PYTHON, AWAITED)


def slides(memory: Memory, name: str = "slides", cache: Cache | None = None) -> Tool[str]:
    @memory.tool(name, version="1", cache=cache)
    def made(topic: str = "", theme: str = "light", fail: bool = False, **more: Any) -> str:
        if fail:
            raise LookupError("a message with SECRETDETAIL")
        return f"{topic} in {theme}"

    return made


def rows(memory: Memory, subject: str = "alice") -> list[tuple[str, dict[str, Any]]]:
    """What the store holds of somebody's runs."""
    record(engine_of(memory))
    page = list_entries(session_of(memory, subject), Listing((Partition.RUNS,), limit=1_000))
    return [(entry.category, json.loads(entry.value)) for entry in page]


# Recording


def test_every_run_is_recorded_and_a_hit_too(memory: Memory) -> None:
    made = slides(memory, cache=Cache(ttl=300))
    with memory.calling("alice", session="s1"):
        made("x", "dark")
        made("x", "dark")
    (second, first) = [run for _, run in rows(memory)]
    assert (first["ok"], first["hit"], second["ok"], second["hit"]) == (True, False, True, True)
    assert {category for category, _ in rows(memory)} == {"pack_history"}
    assert (first["id"], first["version"], first["session"]) == ("slides", "1", "s1")


def test_a_failed_run_is_recorded_with_the_kind_of_failure_and_without_its_message(memory: Memory) -> None:
    made = slides(memory)
    with memory.calling("alice"), pytest.raises(LookupError):
        made(fail=True)
    [(_, run)] = rows(memory)
    assert (run["ok"], run["error"]) == (False, "LookupError")
    assert "SECRETDETAIL" not in json.dumps(run)


def test_a_pipeline_is_recorded_as_one_and_the_tools_in_it_as_tools(memory: Memory) -> None:
    made = slides(memory)

    @memory.pipeline("weekly-report")
    def report(language: str, ec: ToolContext[Handle]) -> str:
        assert ec.memory is not None
        return str(made("x"))

    with memory.calling("alice"):
        assert report("en") == "x in light"
    assert {(category, run["id"]) for category, run in rows(memory)} == {
        ("pack_history", "slides"),
        ("pipeline_history", "weekly-report"),
    }


def test_nothing_of_an_input_or_output_is_recorded_but_the_learnable_words(memory: Memory) -> None:
    @memory.tool("write")
    def write(
        topic: str, theme: str, language: str, tone: str, persona: str, format: str, style: int, region: str
    ) -> str:
        return f"SECRETOUTPUT {topic}"

    token = "ghp_x7Kq9ZtB2mWc4Rv8Ls1Nd6Yf3Hj5Gp0Ua2Qe"
    with memory.calling("alice"):
        write(
            "SECRETTOPIC", "dark", "https://example.org/SECRET", "x" * 65, "two\nlines", " padded", 7, token
        )
    [(_, run)] = rows(memory)
    assert run["inputs"] == {"theme": "dark"}
    assert not any(word in json.dumps(run) for word in ("SECRET", "xxx", "ghp_"))


def test_the_learnable_fields_are_a_closed_list_of_eleven() -> None:
    assert len(LEARNABLE) == 11


def test_runs_live_thirty_days(memory: Memory, clock: FixedClock) -> None:
    made = slides(memory)
    with memory.calling("alice"):
        made("x")
    assert len(rows(memory)) == 1
    clock.advance(days=30)
    assert rows(memory) == []
    assert memory.user("alice").facts.defaults().packs == ()


def test_runs_are_recorded_by_the_time_memory_is_closed(interface: Interface, tmp_path: Path) -> None:
    memory = interface.open(tmp_path / "m.db")
    made = slides(memory)
    with memory.calling("alice"):
        for _ in range(5):
            made("x")
    memory.close()
    assert len(rows(interface.open(tmp_path / "m.db"))) == 5


def test_many_hits_alike_within_a_moment_are_counted_and_not_each_written(memory: Memory) -> None:
    made = slides(memory, cache=Cache(ttl=300))
    with memory.calling("alice"):
        for _ in range(500):
            made("x", "dark")
    [habit] = memory.user("alice").facts.defaults().packs
    assert (habit.count, habit.hits, habit.inputs) == (500, 499, {"theme": "dark"})
    assert len(rows(memory)) < 100


def test_a_run_that_cannot_be_recorded_is_tried_again_and_fails_no_tool(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.domain.errors import Unavailable
    from holdfast.operations.engine import Engine

    made = slides(memory)

    def fail(*_: object) -> None:
        raise Unavailable

    with monkeypatch.context() as broken:
        broken.setattr(Engine, "write", fail)
        with memory.calling("alice"):
            assert made("x") == "x in light"
        record(engine_of(memory))
    assert len(rows(memory)) == 1


def test_storing_a_fact_is_no_run(memory: Memory) -> None:
    memory.user("alice").facts.store("a", "b")
    memory.user("alice").remember("x")
    assert rows(memory) == []


# Learning


def test_the_most_common_value_of_successful_runs_is_the_default(memory: Memory) -> None:
    made = slides(memory)
    with memory.calling("alice"):
        for theme in ("dark", "dark", "light"):
            made("x", theme)
        for _ in range(5):
            with pytest.raises(LookupError):
                made("x", "neon", fail=True)
    defaults = memory.user("alice").facts.defaults()
    [habit] = defaults.packs
    assert (habit.id, habit.count, habit.failed, habit.inputs) == ("slides", 8, 5, {"theme": "dark"})
    assert (defaults.scope, defaults.pipelines, defaults.note) == ("caller=alice", (), None)
    assert len(defaults.recent) == 8
    assert {run.error for run in defaults.recent} == {None, "LookupError"}


def test_of_two_equally_common_values_the_newer_is_the_default(memory: Memory, clock: FixedClock) -> None:
    made = slides(memory)
    with memory.calling("alice"):
        for theme in ("dark", "light"):
            made("x", theme)
            clock.advance(seconds=1)
    assert memory.user("alice").facts.defaults().packs[0].inputs == {"theme": "light"}


def test_defaults_show_the_twelve_busiest_of_each_and_the_newest_200_runs(
    memory: Memory, clock: FixedClock
) -> None:
    for number in range(14):
        made = slides(memory, f"tool-{number:02}")
        with memory.calling("alice"):
            for _ in range(number + 8):
                made("x")
                clock.advance(seconds=1)
    defaults = memory.user("alice").facts.defaults()
    assert [habit.id for habit in defaults.packs] == [f"tool-{number:02}" for number in range(13, 1, -1)]
    assert len(defaults.recent) == 200
    assert defaults.recent[0].id == "tool-13"
    assert [run.at for run in defaults.recent] == sorted((run.at for run in defaults.recent), reverse=True)


def test_what_tools_found_is_counted_from_failed_runs_too(memory: Memory) -> None:
    @memory.tool("lint")
    def lint(fail: bool, ec: ToolContext[Handle]) -> None:
        ec.finding("missing-title")
        if fail:
            ec.finding("no-alt-text")
            raise LookupError

    with memory.calling("alice"):
        lint(False)
        with pytest.raises(LookupError):
            lint(True)
    found = memory.user("alice").facts.defaults().common_findings
    assert [(one.finding, one.count) for one in found] == [("missing-title", 2), ("no-alt-text", 1)]


@pytest.mark.parametrize("word", ["", "x" * 65, "two\nlines", "https://example.org", None, 7])
def test_a_finding_is_one_short_word(memory: Memory, word: Any) -> None:
    @memory.tool("lint")
    def lint(ec: ToolContext[Handle]) -> None:
        ec.finding(word)

    with refused("invalid_field"):
        lint()


def test_without_runs_the_defaults_say_so(memory: Memory, clock: FixedClock) -> None:
    defaults = memory.user("alice").facts.defaults()
    assert (defaults.packs, defaults.recent) == ((), ())
    assert defaults.note
    assert defaults.fetched_us == clock.now


def test_one_caller_learns_nothing_from_another(memory: Memory) -> None:
    made = slides(memory)
    with memory.calling("bob"):
        made("x", "dark")
    assert memory.user("alice").facts.defaults().packs == ()
    assert rows(memory) == []
    assert memory.agent("bob").facts.defaults().packs == ()


def test_nothing_that_a_caller_can_write_alters_what_is_learned(memory: Memory) -> None:
    made = slides(memory)
    with memory.calling("alice"):
        made("x", "light")
    [(_, run)] = rows(memory)
    poison = json.dumps(run | {"inputs": {"theme": "poison"}, "times": 1_000})
    alice = memory.user("alice")
    alice.facts.store("preferences/slides", poison)
    alice.remember(poison, key="pack_history/slides/1", category="pack_history")
    alice.remember(poison, key="pack_history/slides/2", category="pack_history", in_context=False)
    handle = memory.handle("alice")
    assert handle is not None
    handle.store("pack_history/slides/3", poison, category="pack_history")
    with unchanged(memory), refused("reserved_key"):
        alice.facts.store("pack_history/slides/1", poison)
    with unchanged(memory), refused("reserved_category"):
        alice.facts.store("slides", poison, category="pack_history")
    [habit] = alice.facts.defaults().packs
    assert (habit.count, habit.inputs) == (1, {"theme": "light"})


def test_a_row_that_cannot_be_read_as_a_run_is_left_out(memory: Memory) -> None:
    for body in (b"not json", b"[]", b"{}", b'{"inputs": 1}'):
        write_as(memory, RUNS, "alice", NoteInput(body, f"pack_history/x/{body!r}", category="pack_history"))
    assert memory.user("alice").facts.defaults().recent == ()


# Who may look


def test_an_administrator_sees_how_often_somebodys_tools_ran_and_not_what_was_learned(memory: Memory) -> None:
    made = slides(memory)
    with memory.calling("alice"):
        made("x", "dark")
    admin = memory.user("root", roles=["admin"])
    for named in ("alice", "user:alice"):
        seen = admin.facts.defaults(caller=named)
        [habit] = seen.packs
        assert (seen.scope, habit.id, habit.count, habit.inputs) == ("caller=alice", "slides", 1, {})
        assert (seen.recent, seen.common_findings) == ((), ())
    assert admin.facts.defaults().packs == ()


def test_who_is_no_administrator_sees_themselves_whatever_they_name(memory: Memory) -> None:
    made = slides(memory)
    with memory.calling("alice"):
        made("x", "dark")
    seen = memory.user("bob").facts.defaults(caller="alice")
    assert (seen.scope, seen.packs) == ("caller=bob", ())
    assert seen.note
    assert memory.user("bob").facts.defaults(caller="nobody").note == seen.note
    assert memory.user("alice").facts.defaults(caller="alice").packs[0].inputs == {"theme": "dark"}


def test_runs_reach_no_model_facing_call(memory: Memory) -> None:
    made = slides(memory, "SECRETTOOL")
    with memory.calling("alice"):
        made("x", "dark")
    alice = memory.user("alice")
    assert len(rows(memory)) == 1
    for found in (alice.list(), alice.recall("SECRETTOOL"), alice.facts.list(), alice.trashed()):
        assert list(found) == []
    assert alice.facts.my_memory().categories == ()
    assert "SECRETTOOL" not in alice.context().text


# Forgetting


def forgettable(memory: Memory) -> None:
    for name in ("a", "a/b", "ab", "A", "a%2Fb"):
        made = slides(memory, name)
        with memory.calling("alice"):
            made("x")

    @memory.pipeline("a")
    def piped() -> None:
        return None

    with memory.calling("alice"):
        piped()
    memory.user("alice").facts.store("fact", "v")


@pytest.mark.parametrize(
    ("scope", "left"),
    [
        ("pack:a", ["A", "a%2Fb", "a/b", "ab", "|a"]),
        ("pack:a/b", ["A", "a", "a%2Fb", "ab", "|a"]),
        ("pack:nothing", ["A", "a", "a%2Fb", "a/b", "ab", "|a"]),
        ("pipeline:a", ["A", "a", "a%2Fb", "a/b", "ab"]),
        ("packs", ["|a"]),
        ("pipelines", ["A", "a", "a%2Fb", "a/b", "ab"]),
        ("all", []),
    ],
)
def test_runs_are_forgotten_by_name_or_all_of_a_kind_even_if_they_wait_to_be_recorded(
    memory: Memory, scope: str, left: list[str]
) -> None:
    forgettable(memory)
    forgotten = memory.user("alice").facts.forget(scope)
    names = sorted(
        run["id"] if category == "pack_history" else f"|{run['id']}" for category, run in rows(memory)
    )
    assert names == left
    assert forgotten.deleted == 6 - len(left) + (scope == "all")
    assert keys(memory.user("alice").facts.list()) == ([] if scope == "all" else ["fact"])
    assert memory.user("alice").facts.forget(scope).deleted == 0


def test_forgetting_a_tools_runs_unlearns_its_defaults(memory: Memory) -> None:
    made = slides(memory)
    with memory.calling("alice"):
        made("x", "dark")
    with memory.calling("bob"):
        made("x", "dark")
    memory.user("alice").facts.forget("pack:slides")
    assert memory.user("alice").facts.defaults().packs == ()
    assert len(memory.user("bob").facts.defaults().packs) == 1
