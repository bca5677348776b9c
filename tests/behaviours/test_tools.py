"""Cached tools: an input that was answered before is answered from the caller's own cache, for a while; the cache never
changes what a tool answers, never fails it, and never holds what it must not."""

import inspect
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import timedelta
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from holdfast import Cache
from holdfast.domain.errors import Backend, InvalidField
from holdfast.domain.partition import Partition
from holdfast.entrypoints.python.memory import Memory
from holdfast.entrypoints.python.tool_context import Handle, ToolContext
from holdfast.operations.read import Listing, list_entries
from holdfast.vocabularies.cached import CachedCalls
from tests.behaviours.interface import AWAITED, PYTHON, Interface
from tests.behaviours.looking import keys, refused, session_of, unchanged
from tests.support import FixedClock

pytestmark = pytest.mark.interfaces(PYTHON, AWAITED)

FIVE_MINUTES = Cache(ttl=300)
MIB = 1_048_576
ROOT = Path(__file__).resolve().parents[2]
TOKEN = "ghp_" + "x7Kq9ZtB2mWc4Rv8Ls1Nd6Yf3Hj5Gp0Ua2Qe"


class Counted:
    """A tool that notes how often it really ran."""

    def __init__(self, memory: Memory, output: Any = None, **how: Any) -> None:
        self.runs: list[Any] = []
        how = {"name": "counted", "version": "1", "cache": FIVE_MINUTES, **how}

        @memory.tool(**how)
        def run(value: Any = None, **more: Any) -> Any:
            self.runs.append(value)
            return {"value": value, "run": len(self.runs)} if output is None else output

        self.call = run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)


# Hits and misses


def test_a_second_identical_call_is_answered_from_the_cache_and_skips_the_function(memory: Memory) -> None:
    tool = Counted(memory)
    with memory.calling("alice"):
        assert tool("x") == tool("x") == {"value": "x", "run": 1}
    assert tool.runs == ["x"]
    info = tool.call.cache_info()
    assert (info.hits, info.misses, info.uncached, info.errors) == (1, 1, 0, 0)


def test_another_input_is_a_miss(memory: Memory) -> None:
    tool = Counted(memory)
    with memory.calling("alice"):
        for value in ("x", "y", "", None, 1, True, 1.0, [1], {"a": 1}, "1"):
            tool(value)
    assert len(tool.runs) == 10


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ({"a": 1, "b": [1, 2]}, {"b": [1, 2], "a": 1}),
        ({"x": {"b": 1, "a": 2}}, {"x": {"a": 2, "b": 1}}),
        ([1, 2], (1, 2)),
    ],
)
def test_inputs_that_are_equal_as_json_are_one_input(memory: Memory, one: Any, same: Any) -> None:
    tool = Counted(memory)
    with memory.calling("alice"):
        assert tool(one) == tool(same)
    assert len(tool.runs) == 1


def test_an_argument_is_the_same_however_it_is_passed_and_a_default_is_said(memory: Memory) -> None:
    runs = []

    @memory.tool("list", version="1", cache=FIVE_MINUTES)
    def listed(owner: str, repo: str = "holdfast", *, state: str = "open") -> str:
        runs.append(owner)
        return f"{owner}/{repo}/{state}"

    with memory.calling("alice"):
        answers = {
            listed("a"),
            listed(owner="a"),
            listed("a", "holdfast"),
            listed("a", repo="holdfast", state="open"),
        }
    assert (answers, runs) == ({"a/holdfast/open"}, ["a"])


def test_the_same_words_for_other_arguments_are_another_input_in_whatever_order_they_are_said(
    memory: Memory,
) -> None:
    runs = []

    @memory.tool("move", version="1", cache=FIVE_MINUTES)
    def move(source: str, target: str) -> str:
        runs.append(source)
        return f"{source} to {target}"

    with memory.calling("alice"):
        assert move(source="A", target="B") == move(target="B", source="A") == "A to B"
        assert move(target="A", source="B") == move("B", "A") == "B to A"
    assert runs == ["A", "B"]


def test_a_name_that_is_a_number_is_not_the_same_name_as_text(memory: Memory) -> None:
    tool = Counted(memory)
    with memory.calling("alice"):
        tool({"1": "a"})
        tool({1: "a"})
        tool({1: "a"})
    assert len(tool.runs) == 3


def test_the_wrapper_takes_what_the_function_takes_and_nothing_else(memory: Memory) -> None:
    @memory.tool("f", cache=FIVE_MINUTES)
    def f(a: int, b: int = 2, *, ec: ToolContext[Handle]) -> int:
        """Says the sum."""
        return a + b

    assert list(inspect.signature(f).parameters) == ["a", "b"]
    assert (f.__name__, f.__doc__) == ("f", "Says the sum.")  # type: ignore[attr-defined]
    for args, kwargs in ([], {}), ([1], {"c": 3}), ([1], {"ec": None}):
        with pytest.raises(TypeError):
            f(*args, **kwargs)


def test_an_entry_ends_with_its_time_to_live(memory: Memory, clock: FixedClock) -> None:
    tool = Counted(memory, cache=Cache(ttl=timedelta(minutes=5)))
    with memory.calling("alice"):
        tool("x")
        clock.advance(seconds=299)
        assert tool("x")["run"] == 1
        clock.advance(seconds=1)
        assert tool("x")["run"] == 2
        assert tool("x")["run"] == 2


def test_a_new_version_never_sees_what_the_old_one_kept(memory: Memory) -> None:
    old, new = Counted(memory, version="1"), Counted(memory, version="2")
    with memory.calling("alice"):
        old("x")
        assert new("x") == {"value": "x", "run": 1}
        assert old("x") == {"value": "x", "run": 1}
    assert (len(old.runs), len(new.runs)) == (1, 1)


def test_two_tools_never_share_however_they_are_called(memory: Memory) -> None:
    tools = [Counted(memory, name=name) for name in ("a", "b", "a/b", "A", "a/", "a b", 'a","1')]
    with memory.calling("alice"):
        for tool in tools:
            tool("v")
    assert [len(tool.runs) for tool in tools] == [1] * len(tools)


def test_two_callers_never_share_and_unknown_is_one_of_them(memory: Memory) -> None:
    tool = Counted(memory)
    for subject in ("alice", "bob", "", "alice:s1"):
        with memory.calling(subject):
            tool("x")
            tool("x")
    assert len(tool.runs) == 4
    tool("x")
    assert len(tool.runs) == 4, "without a caller it is unknown, who has asked already"


def test_sessions_of_one_caller_share_what_was_answered(memory: Memory) -> None:
    tool = Counted(memory)
    for session in ("s1", "s2", None):
        with memory.calling("alice", session=session):
            tool("x")
    assert len(tool.runs) == 1


def test_the_cache_outlives_the_process(interface: Interface, tmp_path: Any) -> None:
    for expected in (1, 0):
        memory = interface.open(tmp_path / "m.db")
        tool = Counted(memory)
        with memory.calling("alice"):
            assert tool("x") == {"value": "x", "run": 1}
        assert len(tool.runs) == expected
        memory.close()


def test_a_tool_without_a_cache_runs_each_time(memory: Memory) -> None:
    tool = Counted(memory, cache=None)
    with memory.calling("alice"):
        tool("x")
        tool("x")
    assert len(tool.runs) == 2


def test_an_error_of_the_tool_is_its_own_and_is_not_kept(memory: Memory) -> None:
    runs = []

    @memory.tool("fails", cache=FIVE_MINUTES)
    def fails(value: str) -> str:
        runs.append(value)
        raise LookupError(value)

    with memory.calling("alice"):
        for _ in range(2):
            with pytest.raises(LookupError, match="x"):
                fails("x")
    assert len(runs) == 2


@pytest.mark.parametrize("error", [StopIteration, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_every_kind_of_exception_comes_through(memory: Memory, error: type[BaseException]) -> None:
    @memory.tool("fails", cache=FIVE_MINUTES)
    def fails() -> None:
        raise error

    with pytest.raises(error):
        fails()


# What a hit gives back


@pytest.mark.parametrize(
    "output",
    [
        {"issues": [{"title": "é 漢字 🙂", "n": 1, "x": 1.5, "ok": True, "none": None}]},
        [],
        "",
        0,
        False,
        "text",
        b"\x00\xff bytes",
        b"",
        {"deep": [[[[{"a": [1]}]]]]},
    ],
)
def test_a_hit_gives_back_what_the_tool_gave_type_for_type(memory: Memory, output: Any) -> None:
    tool = Counted(memory, output=output)
    with memory.calling("alice"):
        first, second = tool("x"), tool("x")
    assert (first, type(first)) == (second, type(second)) == (output, type(output))
    assert len(tool.runs) == 1


def test_what_a_caller_does_to_an_answer_changes_no_later_answer(memory: Memory) -> None:
    tool = Counted(memory, output={"list": [1]})
    with memory.calling("alice"):
        tool("x")["list"].append(2)
        tool("x")["list"].append(3)
        assert tool("x") == {"list": [1]}


@pytest.mark.parametrize(
    "output",
    [(1, 2), {1: "a"}, {"a": (1,)}, object(), {1, 2}, float("nan"), [float("inf")], "\ud800", 1 + 2j],
    ids=lambda output: type(output).__name__,
)
def test_what_would_come_back_as_something_else_is_not_kept_and_that_is_counted_and_logged(
    memory: Memory, caplog: pytest.LogCaptureFixture, output: Any
) -> None:
    tool = Counted(memory, output=output)
    with memory.calling("alice"), caplog.at_level(logging.WARNING, "holdfast.tools"):
        assert tool("x") is output
        assert tool("x") is output
    assert (len(tool.runs), tool.call.cache_info().uncached) == (2, 2)
    assert "counted" in caplog.text


def test_an_input_that_is_not_json_runs_the_tool_each_time_and_is_counted(memory: Memory) -> None:
    tool = Counted(memory)
    with memory.calling("alice"):
        tool(object)
        tool(object)
    assert (len(tool.runs), tool.call.cache_info().uncached) == (2, 2)


@pytest.mark.parametrize("one", [b"x", "x", '"', "\n"])
def test_values_are_kept_up_to_a_mebibyte_and_no_further(
    memory: Memory, caplog: pytest.LogCaptureFixture, one: Any
) -> None:
    fits = Counted(memory, name="fits", output=one * MIB)
    over = Counted(memory, name="over", output=one * (MIB + 1))
    with memory.calling("alice"):
        assert fits("x") == fits("x") == one * MIB
        assert over("x") == over("x") == one * (MIB + 1)
    assert (len(fits.runs), len(over.runs)) == (1, 2)
    info = over.call.cache_info()
    assert (info.uncached, info.errors) == (2, 0)


# What must not be kept


@pytest.mark.parametrize(
    "output",
    [
        {"token": TOKEN},
        ["fine", {"deep": "AKIA" + "ABCDEFGH" * 2}],
        {"password": "correct horse battery"},
        {"text": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"},
        {"url": "https://alice:hunter2secret@example.org/x"},
        TOKEN.encode(),
    ],
)
def test_an_output_that_carries_credentials_is_given_back_and_never_kept(
    memory: Memory, caplog: pytest.LogCaptureFixture, output: Any
) -> None:
    tool = Counted(memory, output=output)
    with memory.calling("alice"):
        assert tool("x") == tool("x") == output
    assert (len(tool.runs), tool.call.cache_info().uncached) == (2, 2)
    assert "credential" in caplog.text
    assert "ghp_" not in caplog.text


def test_a_tool_can_say_that_an_output_is_for_this_call_alone(memory: Memory) -> None:
    runs = []

    @memory.tool("volatile", cache=FIVE_MINUTES)
    def volatile(value: str, ec: ToolContext[Handle]) -> int:
        runs.append(value)
        if value == "now":
            ec.do_not_cache()
        return len(runs)

    with memory.calling("alice"):
        assert [volatile("now"), volatile("now"), volatile("then"), volatile("then")] == [1, 2, 3, 3]
    assert volatile.cache_info().uncached == 2


# Registration


@pytest.mark.parametrize("ttl", [0, -1, timedelta(0), timedelta(milliseconds=1)])
def test_a_cache_that_never_ends_or_has_ended_already_is_refused_at_registration(
    memory: Memory, ttl: Any
) -> None:
    with refused("ttl_too_short"):
        memory.tool("t", version="1", cache=Cache(ttl=ttl))
    with refused("ttl_too_short"):
        memory.tool("t", version="1", cache=Cache(ttl=None))  # type: ignore[arg-type]


def test_a_cache_that_outlives_everything_is_refused_at_registration(memory: Memory) -> None:
    with refused("ttl_too_long"):
        memory.tool("t", cache=Cache(ttl=10**12))


@pytest.mark.parametrize("name", ["", "  ", None, 7, "a\nb", "x" * 201])
def test_a_name_that_is_none_is_refused_at_registration(memory: Memory, name: Any) -> None:
    with refused("invalid_field"):
        memory.tool(name)
    with refused("invalid_field"):
        memory.tool("t", version=name)
    with refused("invalid_field"):
        memory.pipeline(name)


@pytest.mark.parametrize(
    "cache",
    [
        300,
        "5m",
        {"ttl": 300},
        Cache(ttl="5m"),  # type: ignore[arg-type]
        Cache(ttl=1.5),  # type: ignore[arg-type]
        Cache(300, category="a\nb"),
    ],
    ids=repr,
)
def test_a_cache_that_is_none_is_refused_at_registration(memory: Memory, cache: Any) -> None:
    with refused("invalid_field"):
        memory.tool("t", cache=cache)


def test_registering_and_a_refused_registration_write_nothing(memory: Memory) -> None:
    with unchanged(memory):
        Counted(memory)
        with pytest.raises(InvalidField):
            memory.tool("")


# The context


def test_a_tool_is_given_the_memory_of_its_caller_and_session(memory: Memory, interface: Interface) -> None:
    @memory.tool("notes", version="1")
    def notes(ec: ToolContext[Handle], text: str) -> str:
        assert ec.memory is not None
        ec.memory.store("last", text)
        return f"{ec.memory.namespace()} {ec.subject} {ec.session}"

    with memory.calling("alice", session="s1"):
        assert notes("hello") == "alice:s1 alice s1"
    with memory.calling("alice"):
        assert notes("again") == "alice alice None"
    assert notes("nobody") == "unknown unknown None"
    handle = memory.handle("alice", session="s1")
    assert handle is not None
    assert handle.recall("last").text == "hello"


def test_callers_nest_and_end_with_their_block(memory: Memory) -> None:
    @memory.tool("who")
    def who(ec: ToolContext[Handle]) -> str:
        return ec.subject

    with memory.calling("alice"):
        with memory.calling("bob"):
            assert who() == "bob"
        assert who() == "alice"
        with pytest.raises(RuntimeError), memory.calling("carol"):
            raise RuntimeError
        assert who() == "alice"
    assert who() == "unknown"


def test_a_caller_goes_along_into_a_copied_context_and_not_into_a_bare_thread(memory: Memory) -> None:
    @memory.tool("who")
    def who(ec: ToolContext[Handle]) -> str:
        return ec.subject

    with memory.calling("alice"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(copy_context().run, who).result() == "alice"
        assert pool.submit(who).result() == "unknown"


def test_two_memories_do_not_tell_each_other_who_calls(memory: Memory, interface: Interface) -> None:
    other = interface.open()

    @other.tool("who")
    def who(ec: ToolContext[Handle]) -> str:
        return ec.subject

    with memory.calling("alice"):
        assert who() == "unknown"


# Off, or broken


def test_with_memory_off_a_tool_runs_unchanged_and_gets_no_memory(interface: Interface) -> None:
    memory = interface.open(key="off")
    runs = []

    @memory.tool("t", cache=FIVE_MINUTES)
    def tool(value: str, ec: ToolContext[Handle]) -> bool:
        runs.append(value)
        ec.do_not_cache()
        return ec.memory is None

    with memory.calling("alice", session="s"):
        assert tool("x") is True
        assert tool("x") is True
    assert len(runs) == 2
    with refused("ttl_too_short"):
        memory.tool("t", cache=Cache(ttl=0))


@pytest.mark.parametrize("broken", ["find", "keep"])
@pytest.mark.parametrize("error", [Backend("broken"), RuntimeError("broken"), OSError("disk")])
def test_a_cache_that_fails_never_fails_the_call(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, broken: str, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    tool = Counted(memory)
    monkeypatch.setattr(CachedCalls, broken, fail)
    with memory.calling("alice"):
        assert tool("x")["run"] == 1
        assert tool("x")["run"] == 2
    assert tool.call.cache_info().errors >= 2


def test_a_tool_runs_on_after_the_memory_is_closed(memory: Memory) -> None:
    tool = Counted(memory)
    memory.close()
    with memory.calling("alice"):
        assert tool("x")["run"] == 1
        assert tool("x")["run"] == 2


def test_a_role_that_may_not_use_memory_still_may_use_tools(memory: Memory) -> None:
    memory.administration("root").set_rules("member", {"ai.memory.read": False, "ai.memory.manage": False})
    tool = Counted(memory)
    with memory.calling("alice"):
        assert [tool("x")["run"], tool("x")["run"]] == [1, 2]


def test_tools_leave_half_of_a_space_to_people(interface: Interface, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_MAX_ENTRIES", "8")
    memory = interface.open()
    tool = Counted(memory)
    with memory.calling("alice"):
        for number in range(20):
            tool(number)
    alice = memory.user("alice")
    for number in range(4):
        assert alice.facts.store(f"f{number}", "v").persisted


# Out of a model's sight, and out of its reach


def test_what_is_cached_reaches_no_model_facing_call(memory: Memory) -> None:
    tool = Counted(memory, output="SECRETOUTPUT")
    with memory.calling("alice"):
        tool("x")
    alice = memory.user("alice")
    for found in (alice.list(), alice.recall("SECRETOUTPUT"), alice.facts.list(), alice.trashed()):
        assert list(found) == []
    assert alice.facts.my_memory().categories == ()
    assert "SECRETOUTPUT" not in alice.context().text
    assert "SECRETOUTPUT" not in repr(alice.facts.defaults())


def test_no_fact_note_or_handle_entry_can_poison_a_cached_output(memory: Memory) -> None:
    tool = Counted(memory)
    with memory.calling("alice"):
        tool("x")
    [row] = _cached(memory, "alice")
    poison = json.dumps({"value": "poison"})
    alice = memory.user("alice")
    alice.facts.store(row, poison, category="cache")
    alice.remember(poison, key=row, category="cache")
    alice.remember(poison, key=row, in_context=False)
    handle = memory.handle("alice")
    assert handle is not None
    handle.store(row, poison, category="cache")
    with memory.calling("alice"):
        assert tool("x") == {"value": "x", "run": 1}
    alice.forget(f"key:{row}")
    with memory.calling("alice"):
        assert tool("x") == {"value": "x", "run": 1}, "forgetting a key of one's own touches no cache"


def _cached(memory: Memory, subject: str) -> list[str]:
    return keys(list_entries(session_of(memory, subject), Listing((Partition.CACHE,))))


def test_forgetting_all_forgets_what_was_cached(memory: Memory) -> None:
    tool = Counted(memory)
    with memory.calling("alice"):
        tool("x")
        memory.user("alice").forget("all")
        assert tool("x")["run"] == 2


# The example


def test_the_example_asks_the_service_once_in_five_minutes(memory: Memory, clock: FixedClock) -> None:
    asked = []

    def fetch(url: str) -> list[dict[str, Any]]:
        asked.append(url)
        return [] if "empty" in url else [{"number": 1, "title": "A bug", "body": "long"}]

    example = run_path(str(ROOT / "examples" / "github_list_issues.py"), run_name="example")
    list_issues = example["register"](memory, fetch)
    with memory.calling("alice", session="s1"):
        assert list_issues("acme", "app") == list_issues("acme", "app") == [{"number": 1, "title": "A bug"}]
        assert asked == ["https://api.github.com/repos/acme/app/issues?state=open&per_page=10"]
        clock.advance(seconds=300)
        list_issues("acme", "app")
        assert len(asked) == 2
        list_issues("acme", "empty")
        list_issues("acme", "empty")
        assert len(asked) == 4
    handle = memory.handle("alice")
    assert handle is not None
    assert handle.recall("last/acme/app").text == "1"
