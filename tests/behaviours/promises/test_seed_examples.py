"""The calls that the documents of the five seed systems show, with their names mapped to ours, and the answers these
documents give to them: over HTTP, and over MCP where a model calls. What was decided otherwise stands in `SUPERSEDED`,
with the reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest

import holdfast
from holdfast.domain.errors import NotFound, TtlTooShort
from tests.http.serving import Service, code, serving
from tests.mcp.talking import Person, call, talk
from tests.mcp.talking import code as refusal
from tests.support import FixedClock

SUPERSEDED = {
    "000: the corpus bridge is the only way to recall a fact": "INTERFACE: memory_recall, and the corpus beside it",
    "000: a history of a fact may come later": "INTERFACE: memory_history",
    "001: Cache: true with TTL: 0 never expires": "DESIGN 4: registration with 0 is refused",
    "001: no key makes an ephemeral one with a warning": "INTERFACE: a key file is made once; `ephemeral` is said",
    "002: new RobutlerMemorySkill({portalUrl, apiKey, agentId})": "INTERFACE: holdfast.Client(url, token=…)",
    "002: new LocalMemorySkill({agentId, storagePath})": "INTERFACE: holdfast.open(path).agent(id)",
    "002: rename is view + create + delete": "SPEC head: rename is one transaction",
    "002: share and unshare at once when a model asks": "DESIGN 9: they wait for a person",
    "002: kv tools are deprecated aliases": "INTERFACE: surface kv",
    "004: deleteMemory and alwaysInject are confirmed on a card": "DESIGN 9: a proposal that a person approves",
}

FACT: dict[str, Any] = {
    "key": "preferences/frontend-framework",
    "value": "React over Vue (Konflux project constraint)",
    "category": "preferences",
    "tags": ["frontend", "konflux"],
    "ttl_seconds": 7_776_000,
}
OTHER_FACTS = (
    {"key": "preferences/lang/backend", "value": "Go", "category": "preferences"},
    {"key": "preferences/slide-theme", "value": "holdfast-dark", "category": "preferences"},
    {"key": "konflux/deploy", "value": "never manual kubectl", "category": "project_conventions"},
)
LANGUAGE = {
    "action": "upsert",
    "name": "preferred-language",
    "type": "user",
    "description": "User prefers Japanese output",
    "body": "Always respond in Japanese unless the user explicitly asks for another language.",
}
DELETE = {"action": "delete", "name": "preferred-language"}
INDEX = "- [preferred-language](preferred-language.md) — User prefers Japanese output\n"
SAVED = {
    "scope": "user",
    "recallHint": "where to file infra tickets",
    "content": "file infra tickets in OPS",
    "tags": ["ops"],
    "alwaysInject": False,
}
OF_A_SYSTEM = {
    "scope": "system",
    "systemId": "crm",
    "recallHint": "crm health check",
    "content": "its /health returns 200 even when the DB is down; check /ready",
}
HINTS = ("walrus", "otter", "heron", "lynx")
TOKEN = "ghp_" + "R7kq2Zx9Lm4Tn8Vb3Cw6Yp1Hd5Js0Fg2Qe7A"
MEMORY_FIELDS = {"id", "scope", "systemId", "recallHint", "content", "tags", "alwaysInject", "savedAt"}


class Model:
    """What a model would call, and a program over REST: one caller, two interfaces."""

    def __init__(self, service: Service, who: str, **claims: Any) -> None:
        self._service = service
        self.who = who
        self._claims = claims

    def rest(self, path: str, body: Any = None, method: str = "POST") -> Any:
        """The answer, or status and code of a refusal."""
        token = self._service.token(self.who, **self._claims)
        headers = {"Authorization": f"Bearer {token}"}
        answered = self._service.ask(
            method, path, headers=headers, **({} if body is None else {"json": body})
        )
        if answered.status_code != 200:
            return code(answered)
        return answered.json() if "json" in answered.headers["content-type"] else answered.text

    def tool(self, surface: str, name: str, /, **said: Any) -> Any:
        """What a tool answers, or the code of its refusal; a person agrees to what is asked."""
        result = call(
            self._service, name, said, who=self.who, surface=surface, person=Person(), **self._claims
        )
        return refusal(result) if result.is_error else result.structured_content

    def resource(self, surface: str, uri: str) -> str:
        async def read(client: Any) -> Any:
            return await client.read_resource(uri)

        [content] = talk(self._service, read, who=self.who, surface=surface, **self._claims).contents
        return str(content.text)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with serving(embedder="none") as service:
        yield service


@pytest.fixture
def user(service: Service, request: pytest.FixtureRequest) -> Model:
    return Model(service, f"user of {request.node.name}", systems={"crm": "manage"})


class TestFacts:
    """Seed 000."""

    @pytest.fixture(params=["rest", "mcp"])
    def store(self, user: Model, request: pytest.FixtureRequest) -> Any:
        if request.param == "rest":
            return lambda **said: user.rest("memory/store", said)
        return lambda **said: user.tool("facts", "memory_store", **said)

    def test_the_request_of_the_page_is_kept_as_it_says(self, user: Model, store: Any) -> None:
        answer = store(**FACT)
        assert (answer["key"], answer["category"], answer["persisted"]) == (
            FACT["key"],
            "preferences",
            True,
        )
        [fact] = user.rest("memory/recall", {"key": FACT["key"]})["facts"]
        assert {name: fact[name] for name in ("key", "value", "category", "tags")} == {
            name: FACT[name] for name in ("key", "value", "category", "tags")
        }
        assert fact["expires_at"] == answer["expires_at"]

    def test_category_and_lifetime_have_their_defaults_and_key_and_value_are_trimmed(
        self, store: Any
    ) -> None:
        said = store(key=" k ", value=" v ")
        assert (said["key"], said["category"]) == ("k", "user_facts")
        assert said["expires_at"] == store(key="k", value="v", ttl_seconds=7_776_000)["expires_at"]
        assert said["expires_at"] == store(key="k", value="v", ttl_seconds=0)["expires_at"]

    @pytest.mark.parametrize(
        ("more", "expected"),
        [
            ({"category": "pack_history"}, "reserved_category"),
            ({"category": "pipeline_history"}, "reserved_category"),
            ({"ttl_seconds": 3_599}, "ttl_too_short"),
            ({"ttl_seconds": 31_536_001}, "ttl_too_long"),
        ],
    )
    def test_what_the_page_refuses_is_refused(self, store: Any, more: dict[str, Any], expected: str) -> None:
        assert store(**FACT | more) in (expected, (400, expected))

    def test_my_memory_has_the_shape_of_the_page_and_no_values(self, user: Model) -> None:
        for fact in reversed(OTHER_FACTS):
            user.rest("memory/store", fact)
        user.rest("memory/store", FACT)
        shown = user.resource("facts", "holdfast://my-memory")
        said = json.loads(shown)
        assert list(said)[:3] == ["scope", "fetched_at", "categories"]
        assert said["scope"].startswith("caller=")
        assert said["categories"] == [
            {
                "name": "preferences",
                "count": 3,
                "recent_keys": [FACT["key"], "preferences/lang/backend", "preferences/slide-theme"],
            },
            {"name": "project_conventions", "count": 1, "recent_keys": ["konflux/deploy"]},
        ]
        assert FACT["value"] not in shown
        assert user.rest("memory/my-memory", method="GET")["categories"] == said["categories"]

    def test_a_fact_is_forgotten_by_its_exact_key_and_audit_scopes_touch_none(self, user: Model) -> None:
        for fact in (FACT, *OTHER_FACTS):
            user.tool("facts", "memory_store", **fact)
        for scope in ("pack:github.list_issues", "pipeline:weekly-report"):
            assert user.tool("facts", "memory_forget", scope=scope)["deleted"] == 0
        scope = "key:preferences/frontend-framework"
        forgotten = user.tool("facts", "memory_forget", scope=scope)
        assert (forgotten["scope"], forgotten["deleted"]) == (scope, 1)
        assert user.rest("memory/recall", {"key": FACT["key"]}) == {"facts": []}
        assert user.rest("memory/forget", {"scope": "all"})["deleted"] >= 3
        assert user.rest("memory/my-memory", method="GET")["categories"] == []

    def test_facts_of_one_subject_are_invisible_to_another(self, service: Service, user: Model) -> None:
        user.rest("memory/store", FACT)
        other = Model(service, "somebody else")
        assert other.rest("memory/my-memory", method="GET")["categories"] == []
        assert other.rest("memory/recall", {"key": FACT["key"]}) == {"facts": []}

    def test_the_same_key_keeps_the_latest_and_the_trajectory(self, user: Model) -> None:
        for value in ("React", "Vue"):
            user.rest("memory/store", FACT | {"value": value})
        [fact] = user.rest("memory/recall", {"key": FACT["key"]})["facts"]
        assert fact["value"] == "Vue"
        history = user.tool("facts", "memory_history", key=FACT["key"])
        assert [state["text"] for state in history["revisions"]] == ["Vue", "React"]


class TestTools:
    """Seed 001, whose calls are those of code in the process."""

    def test_a_handler_recalls_and_stores_its_last_run(self, service: Service) -> None:
        assert service.memory is not None
        handle = service.memory.handle("alice", session="s1")
        assert handle is not None
        with pytest.raises(NotFound):
            handle.recall("last-run")
        handle.store("last-run", b"payload", ttl=timedelta(hours=1), category="runs", tags=["nightly"])
        entry = handle.recall("last-run")
        assert (entry.value, entry.category, entry.tags) == (b"payload", "runs", ("nightly",))
        assert [entry.key for entry in handle.list("last")] == ["last-run"]
        assert handle.namespace() == "alice:s1"
        assert [entry.value for entry in handle.context()["runs"]] == [b"payload"]
        handle.delete("last-run")
        assert handle.list("") == []

    def test_without_memory_a_handler_has_none(self) -> None:
        with holdfast.open(":memory:", key="off") as memory:
            assert memory.handle("alice") is None

    def test_a_tool_with_a_cache_of_five_minutes_runs_once_in_that_time(self) -> None:
        clock, ran = FixedClock(), []
        with holdfast.open(":memory:", key="ephemeral", clock=clock, sweep_seconds=0) as memory:

            @memory.tool("github.list_issues", cache=holdfast.Cache(ttl=timedelta(minutes=5)))
            def list_issues(repo: str) -> list[str]:
                ran.append(repo)
                return ["#1"]

            with memory.calling("alice"):
                assert [list_issues("a/b"), list_issues("a/b"), len(ran)] == [["#1"], ["#1"], 1]
                clock.advance(seconds=301)
                assert [list_issues("a/b"), len(ran)] == [["#1"], 2]

    def test_a_cache_without_an_end_is_refused(self) -> None:
        with holdfast.open(":memory:", key="ephemeral") as memory, pytest.raises(TtlTooShort):
            memory.tool("github.list_issues", cache=holdfast.Cache(ttl=0))(lambda: None)


class TestStores:
    """Seed 002. An agent calls for a user, who answers what a model may not decide."""

    @pytest.fixture
    def agent(self, service: Service, request: pytest.FixtureRequest) -> Model:
        return Model(service, f"agent of {request.node.name}", kind="agent", session_user="carol")

    @pytest.fixture(params=["rest", "mcp"])
    def memory(self, agent: Model, request: pytest.FixtureRequest) -> Any:
        if request.param == "rest":
            return lambda command, **said: agent.rest("memory/tool", {"command": command, **said})
        return lambda command, **said: unwrapped(agent.tool("stores", "memory", command=command, **said))

    def test_an_entry_is_created_viewed_edited_renamed_and_deleted(self, memory: Any) -> None:
        memory("create", path="/memories/style", content="short and short")
        assert memory("view", path="/memories/style")["value"] == "short and short"
        memory("create", path="/memories/limits", content={"words": 50})
        assert memory("view", path="/memories/limits")["value"] == {"words": 50}
        memory("edit", path="/memories/style", old_str="short", new_str="long")
        assert memory("view", path="/memories/style")["value"] == "long and short"
        memory("rename", path="/memories/style", new_str="/memories/settings/style")
        assert memory("view", path="/memories/style") is None
        listed = memory("view", path="/memories/")["entries"]
        assert {entry["key"] for entry in listed} == {"settings/style", "limits"}
        memory("delete", path="/memories/settings/style")
        assert memory("view", path="/memories/settings/style") is None

    def test_a_search_answers_with_key_value_and_store(self, memory: Any, agent: Model) -> None:
        memory("create", path="/memories/style", content="Prefers short answers")
        [hit] = memory("search", query="short answers")["entries"]
        assert (hit["key"], hit["value"], hit["storeId"]) == (
            "style",
            "Prefers short answers",
            agent.who,
        )

    @pytest.mark.parametrize(
        ("level", "views", "writes"),
        [("search", False, False), (None, True, False), ("read", True, False), ("readwrite", True, True)],
    )
    def test_a_store_is_shared_at_a_level_and_taken_back(
        self, service: Service, memory: Any, agent: Model, level: str | None, views: bool, writes: bool
    ) -> None:
        memory("create", path="/memories/price", content="The walrus costs 5")
        memory("share", agent="guest", **({} if level is None else {"level": level}))
        guest = Model(service, "guest", kind="agent")
        there = f"/memories/shared/{agent.who}/"

        def asked(command: str, **said: Any) -> Any:
            return guest.rest("memory/tool", {"command": command, **said})

        found = asked("search", query="walrus")["entries"]
        assert [hit["value"] for hit in found if hit["storeId"] == agent.who] == ["The walrus costs 5"]
        denied = (403, "access_denied")
        assert (asked("view", path=f"{there}price") != denied, asked("view", path=there) != denied) == (
            views,
            views,
        )
        assert (asked("create", path=f"{there}note", content="x") != denied) == writes
        memory("unshare", agent="guest")
        assert asked("view", path=there) == denied
        assert [
            hit for hit in asked("search", query="walrus")["entries"] if hit["storeId"] == agent.who
        ] == []

    def test_the_stores_are_the_own_one_and_those_of_the_moment(self, memory: Any, agent: Model) -> None:
        sources = {store["source"]: store["storeId"] for store in memory("stores")["stores"]}
        assert sources == {"self": agent.who, "user": "carol"}

    def test_only_who_made_an_entry_deletes_it(self, service: Service, memory: Any, agent: Model) -> None:
        memory("create", path="/memories/plan", content="x")
        memory("share", agent="helper", level="readwrite")
        helper = Model(service, "helper", kind="agent")
        path = f"/memories/shared/{agent.who}/plan"
        assert helper.rest("memory/tool", {"command": "delete", "path": path}) == (403, "access_denied")

    def test_a_store_one_has_no_part_in_is_denied(self, memory: Any) -> None:
        refused = memory("view", path="/memories/shared/4a7e1c1e-1111-4222-8333-444455556666/k")
        assert refused in ("access_denied", (403, "access_denied"))

    def test_internal_values_come_back_to_code_and_to_no_command(self, agent: Model) -> None:
        where = f"stores/{quote(agent.who)}/internal/api-key"
        agent.rest(where, {"value": "the walrus key", "encrypted": True, "ttl": 3_600}, "PUT")
        assert agent.rest(where, method="GET")["value"] == "the walrus key"
        for said in ({"command": "view", "path": "/memories/api-key"}, {"action": "get", "key": "api-key"}):
            assert agent.rest("memory/tool", said) is None
        assert agent.rest("memory/tool", {"command": "search", "query": "walrus"})["entries"] == []

    def test_the_memory_of_an_agent_is_switched_by_its_owner(self, service: Service) -> None:
        bot = Model(service, "switched", kind="agent", owner="olga")
        bot.rest("memory/tool", {"command": "create", "path": "/memories/k", "content": "v"})
        owner = Model(service, "olga")
        owner.rest("agents/switched/memory-settings", {"enabled": False}, "PUT")
        settings = owner.rest("agents/switched/memory-settings", method="GET")
        assert {name: settings[name] for name in ("enabled", "self", "chat", "user")} == {
            "enabled": False,
            "self": True,
            "chat": True,
            "user": True,
        }
        view = {"command": "view", "path": "/memories/k"}
        assert bot.rest("memory/tool", view) == (403, "access_denied")

    def test_the_older_tools_work_on_the_own_store(self, agent: Model) -> None:
        agent.tool("kv", "kv_set", key="timezone", value="Europe/Lisbon")
        assert agent.tool("kv", "kv_get", key="timezone") == {"value": "Europe/Lisbon"}
        assert agent.rest("memory/tool", {"action": "get", "key": "timezone"})["value"] == "Europe/Lisbon"
        agent.tool("kv", "kv_delete", key="timezone")
        assert agent.tool("kv", "kv_get", key="timezone") == {"value": ""}


class TestFiles:
    """Seed 003."""

    @pytest.fixture(params=["rest", "mcp"])
    def update(self, user: Model, request: pytest.FixtureRequest) -> Any:
        if request.param == "rest":
            return lambda said: user.rest("user-memory", said)
        return lambda said: user.tool("files", "UpdateUserMemory", **said)

    def test_the_requests_of_the_page_make_and_remove_the_file_and_its_line(
        self, user: Model, update: Any
    ) -> None:
        for _ in range(2):
            update(LANGUAGE)
            assert user.rest("user-memory", method="GET") == INDEX
        assert user.resource("files", "holdfast://MEMORY.md") == INDEX
        assert user.tool("files", "ReadUserMemory", name="preferred-language")["body"] == LANGUAGE["body"]
        update(DELETE)
        assert "preferred-language" not in user.rest("user-memory", method="GET")
        assert [entry["key"] for entry in user.rest("trash", method="GET")["entries"]] == [
            "preferred-language"
        ]
        assert update(DELETE) in ("not_found", (404, "not_found"))

    @pytest.mark.parametrize(
        ("more", "expected"),
        [
            ({"name": "preferred.md"}, "invalid_name"),
            ({"type": "secret"}, "invalid_type"),
            ({"description": None}, "missing_field"),
            ({"body": None}, "missing_field"),
        ],
    )
    def test_what_the_page_does_not_allow_is_refused(
        self, update: Any, more: dict[str, Any], expected: str
    ) -> None:
        assert update(LANGUAGE | more) in (expected, (400, expected))

    @pytest.mark.parametrize("type", ["user", "feedback", "project", "reference"])
    def test_each_type_is_taken(self, user: Model, update: Any, type: str) -> None:
        update(LANGUAGE | {"type": type})
        assert user.rest("user-memory/preferred-language", method="GET")["type"] == type


class TestAssistant:
    """Seed 004."""

    @pytest.fixture(params=["rest", "mcp"])
    def ai(self, user: Model, request: pytest.FixtureRequest) -> Any:
        if request.param == "rest":
            return lambda name, **said: user.rest(f"assistant/{name}", said)
        return lambda name, **said: user.tool("assistant", f"ai_{name}", **said)

    @pytest.mark.parametrize("note", [SAVED, OF_A_SYSTEM], ids=["user", "system"])
    def test_a_memory_is_saved_found_and_deleted(self, ai: Any, note: dict[str, Any]) -> None:
        saved = ai("saveMemory", **note)
        assert isinstance(saved["updated"], bool)
        [memory] = ai("searchMemory", query=note["recallHint"], limit=5)["memories"]
        assert memory.keys() >= MEMORY_FIELDS
        assert {name: memory[name] for name in note} == note
        assert (memory["id"], memory["alwaysInject"]) == (saved["id"], False)
        assert ai("deleteMemory", id=saved["id"]) == {"deleted": True}
        assert ai("searchMemory", query=note["recallHint"])["memories"] == []

    def test_a_near_duplicate_is_updated_in_place(self, ai: Any) -> None:
        first = ai("saveMemory", **SAVED)
        assert first["updated"] is False
        again = ai("saveMemory", **SAVED | {"content": "file them in INFRA"})
        assert (again["id"], again["updated"]) == (first["id"], True)
        [memory] = ai("searchMemory", query="infra tickets")["memories"]
        assert memory["content"] == "file them in INFRA"

    def test_what_always_applies_is_in_the_context_and_can_be_switched(self, user: Model, ai: Any) -> None:
        always = {"scope": "user", "recallHint": "tone", "content": "Answer briefly", "alwaysInject": True}
        id = ai("saveMemory", **always)["id"]
        assert "Answer briefly" in user.rest("context", method="GET")["text"]
        user.rest("assistant/setMemoryAlwaysInject", {"id": id, "alwaysInject": False})
        assert "Answer briefly" not in user.rest("context", method="GET")["text"]

    def test_a_memory_of_a_user_is_theirs_and_one_of_a_system_for_who_reads_it(
        self, service: Service, ai: Any
    ) -> None:
        for note in (SAVED, OF_A_SYSTEM):
            ai("saveMemory", **note)
        reader = Model(service, "reader of crm", systems={"crm": "read"})
        shown = reader.rest("assistant/memories?systemId=crm", method="GET")["memories"]
        assert [memory["content"] for memory in shown] == [OF_A_SYSTEM["content"]]
        assert reader.rest("assistant/searchMemory", {"query": "infra tickets"})["memories"] == []
        assert reader.rest("assistant/deleteMemory", {"id": shown[0]["id"]}) == {"deleted": False}

    def test_a_run_that_nobody_watches_saves_a_few_and_deletes_nothing(
        self, service: Service, request: pytest.FixtureRequest
    ) -> None:
        run = Model(service, f"run of {request.node.name}", kind="service", run="r1")
        saved = [run.rest("assistant/saveMemory", SAVED | {"recallHint": hint}) for hint in HINTS]
        assert [answer == (429, "run_cap") for answer in saved] == [False, False, False, True]
        assert run.rest("assistant/deleteMemory", {"id": saved[0]["id"]}) == (403, "access_denied")

    def test_live_state_is_refused_and_secrets_are_replaced(self, ai: Any) -> None:
        live = ai("saveMemory", **SAVED | {"content": "checkout-api is down right now"})
        assert live in ("live_state", (400, "live_state"))
        ai("saveMemory", **SAVED | {"content": f"The token is {TOKEN}"})
        [memory] = ai("searchMemory", query="infra tickets")["memories"]
        assert TOKEN not in memory["content"]


def unwrapped(answer: Any) -> Any:
    """A result that is no object stands in one over MCP."""
    return answer["result"] if isinstance(answer, dict) and answer.keys() == {"result"} else answer


def test_what_is_superseded_says_why() -> None:
    assert [shown for shown, reason in SUPERSEDED.items() if not reason] == []
