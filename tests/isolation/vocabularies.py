"""Two users, two agents, a chat they share, a system with teams, and a stranger: they speak every vocabulary at once,
beside the model, which knows who may see which text. Every text holds a mark that occurs nowhere else, so what is
shown to somebody can be traced to where it was written."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from holdfast.domain.errors import HoldfastError
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from tests.isolation.actors import Actor
from tests.isolation.model import HOUR, MANAGE, READ, READWRITE, ROOMS, SEARCH, Model, Row, Space, State
from tests.support import FixedClock

ACTIONS = {"create": "set", "view": "get", "delete": "delete"}
CHAT, SYSTEM = "standup", "crm"
LETTERS = "bcdfghjklmnpqrstvw"
MARK = re.compile(rf"zq[{LETTERS}]+x")

ADA, BOB, MAL = Actor("user", "ada", teams=("platform",)), Actor("user", "bob"), Actor("user", "mal")
DOT = Actor("agent", "dot", session_user=ADA.principal)
EVE = Actor("agent", "eve", session_user=BOB.principal)
ACTORS = (ADA, BOB, DOT, EVE, MAL)
IN_CHAT = (ADA, BOB, DOT, EVE)


class Leak(AssertionError):
    """Somebody was shown what they may not see, or not shown what they may."""


class World:
    def __init__(self, memory: Memory, clock: FixedClock) -> None:
        self.clock = clock
        self.rng = Random(0)
        self.model = Model(clock.now)
        self.done: Counter[str] = Counter()
        self.numbers = itertools.count()
        self.speaks: dict[Actor, Own] = {
            ADA: memory.user("ada", teams=("platform",)),
            BOB: memory.user("bob"),
            DOT: memory.agent("dot", user="ada", chat=CHAT),
            EVE: memory.agent("eve", user="bob", chat=CHAT),
            MAL: memory.user("mal"),
        }
        self.own = {actor: self._space(actor.kind, actor.id, actor.principal) for actor in ACTORS}
        self.shared = {actor: self._make_space(actor, f"team-{actor.id}") for actor in (ADA, DOT)}
        self.chat, self.system = self._space("chat", CHAT), self._space("system", SYSTEM)
        self.chat.members = {actor.principal: READWRITE for actor in IN_CHAT}
        self.system.members = {"team:platform": MANAGE, BOB.principal: READWRITE}
        administration = memory.administration("root")
        administration.set_participants(CHAT, [actor.principal for actor in IN_CHAT])
        administration.set_system_access(SYSTEM, {"team:platform": "manage", BOB.principal: "read"})

    def _space(self, kind: str, ref: str, owner: str | None = None) -> Space:
        space = Space(kind, ref, owner, "")
        self.model.spaces.append(space)
        return space

    def _make_space(self, actor: Actor, ref: str) -> Space:
        made = self.speaks[actor].create_space(ref)
        return self.model.create_space(actor, ref)(str(made.id))

    # The model

    @property
    def rows(self) -> list[Row]:
        return self.model.rows

    @property
    def spaces(self) -> list[Space]:
        return self.model.spaces

    def level(self, actor: Actor, space: Space) -> int:
        return self.model.level(actor, space)

    def sees(self, actor: Actor, row: Row, needed: int) -> bool:
        return row.partition in ROOMS and self.model.sees(actor, row, needed)

    def new_mark(self) -> str:
        number, letters = next(self.numbers), ""
        while number or not letters:
            number, digit = divmod(number, len(LETTERS))
            letters += LETTERS[digit]
        return f"zq{letters}x"

    # Telling the two apart

    def look(self, actor: Actor, shown: object, needed: int, *, history: bool = False) -> None:
        """Whatever is shown must be live, present and theirs to see."""
        for mark in set(MARK.findall(str(shown))):
            rows = [row for row in self.rows if mark in (_marks(row) if history else [row.head.text])]
            if not any(self.sees(actor, row, needed) for row in rows):
                raise Leak(f"{actor.principal} was shown {mark}, of {[(str(row), row.gone) for row in rows]}")

    def equal(self, found: object, expected: object, what: str) -> None:
        if found != expected:
            raise Leak(f"{what}: {found!r} instead of {expected!r}")

    def ask(self, call: Callable[[], Any], allowed: bool, what: str) -> Any:
        """What a call answers, or None if it is refused, which it must be exactly when the model says so."""
        try:
            answer = call()
        except HoldfastError as refusal:
            if allowed:
                raise Leak(f"{what} was refused: {refusal.code} {refusal.message}") from refusal
            if MARK.search(refusal.message):
                raise Leak(f"{what} was refused with somebody's words: {refusal.message}") from refusal
            return None
        if not allowed:
            raise Leak(f"{what} was not refused: {answer!r}")
        return answer

    def actor(self) -> Actor:
        return self.rng.choice(ACTORS)

    def space(self) -> Space:
        return self.rng.choice(self.spaces)

    def live(self, room: str, of: Actor | None = None) -> list[Row]:
        return [
            row
            for row in self.rows
            if row.partition == room and not row.gone and (of is None or row.owner == of.principal)
        ]

    def keep(self, space: Space, owner: Actor, room: str, key: str, mark: str, id: str = "") -> Row:
        """A new row, or what the owner's row of this key says from now on."""
        for row in self.live(room, owner):
            if (row.space, row.head.key) == (space, key):
                say(row, text=mark)
                return row
        row = Row(space, owner.principal, room, len(self.rows), self.clock.now, [], id)
        row.states.append(State(key, mark, "", "", (), None, None, always=False))
        self.rows.append(row)
        return row


def say(row: Row, **changed: str) -> None:
    """Its next state. What a row says is the mark in its text."""
    row.states.append(replace(row.head, **changed))  # type: ignore[arg-type]


def named(space: Space) -> str:
    return space.id or f"{space.kind}:{space.ref}"


def _marks(row: Row) -> list[str]:
    return [state.text for state in row.states]


Step = Callable[[World], None]
STEPS: list[tuple[Step, int]] = []


def step(weight: int) -> Callable[[Step], Step]:
    def add(do: Step) -> Step:
        STEPS.append((do, weight))
        return do

    return add


def play(world: World, seed: int, operations: int) -> None:
    steps, weights = zip(*STEPS, strict=True)
    for number in range(operations):
        world.rng = Random(seed << 32 | number)
        do = world.rng.choices(steps, weights)[0]
        try:
            do(world)
        except Leak as leak:
            raise Leak(f"seed {seed}, operation {number}, {do.__name__}: {leak}") from leak
        world.done[do.__name__] += 1


def _text(mark: str) -> str:
    return f"the {mark} gate stays shut at night"


def _key(world: World, actor: Actor, room: str, space: Space) -> str:
    """One of the actor's own again, now and then."""
    again = [row.head.key for row in world.live(room, actor) if row.space is space]
    return world.rng.choice(again) if again and world.rng.random() < 0.3 else f"k{next(world.numbers)}"


# Core


@step(8)
def remember(world: World) -> None:
    actor, space, mark = world.actor(), world.space(), world.new_mark()
    key, allowed = _key(world, actor, "notes", space), world.level(actor, space) >= READWRITE
    call = lambda: world.speaks[actor].remember(_text(mark), key=key, space=named(space))  # noqa: E731
    kept = world.ask(call, allowed, f"remember in {named(space)} by {actor.principal}")
    if kept is not None:
        world.keep(space, actor, "notes", key, mark, str(kept.id))


@step(8)
def recall(world: World) -> None:
    """By a mark that is there once: found by all who may search its space and by nobody else."""
    if not world.rows:
        return
    actor, row = world.actor(), world.rng.choice(world.rows)
    hits = world.speaks[actor].recall(row.head.text, limit=50)
    world.look(actor, [(hit.text, hit.hint, hit.key) for hit in hits], SEARCH)
    world.equal(
        any(row.head.text in hit.text or row.head.text in hit.hint for hit in hits),
        world.sees(actor, row, SEARCH),
        f"whether {actor.principal} finds {row.partition} of {named(row.space)}",
    )


@step(5)
def get(world: World) -> None:
    rows = [row for row in world.rows if row.id]
    if not rows:
        return
    actor, row = world.actor(), world.rng.choice(rows)
    entry = world.ask(
        lambda: world.speaks[actor].get(id=row.id), world.sees(actor, row, READ), f"get of {row.partition}"
    )
    if entry is not None:
        world.look(actor, entry.content, READ)


@step(4)
def list_entries(world: World) -> None:
    actor, space = world.actor(), world.space()
    call = lambda: world.speaks[actor].list(space=named(space), limit=1_000)  # noqa: E731
    page = world.ask(call, world.level(actor, space) >= READ, f"list of {named(space)}")
    if page is not None:
        shown = {mark for entry in page for mark in MARK.findall(f"{entry.text} {entry.hint}")}
        mine = {row.head.text for row in world.rows if row.space is space and world.sees(actor, row, READ)}
        world.equal(shown, mine, f"what {actor.principal} sees listed of {named(space)}")


@step(3)
def history(world: World) -> None:
    rows = [row for row in world.rows if row.id]
    if not rows:
        return
    actor, row = world.actor(), world.rng.choice(rows)
    call = lambda: world.speaks[actor].history(id=row.id)  # noqa: E731
    states = world.ask(call, world.sees(actor, row, READ), f"history of {row.partition}")
    if states is not None:
        world.look(actor, [state.text for state in states], READ, history=True)


@step(3)
def context(world: World) -> None:
    actor = world.actor()
    world.look(actor, world.speaks[actor].context(budget=100_000).text, READ)


# Facts


@step(6)
def store_fact(world: World) -> None:
    actor, mark = world.actor(), world.new_mark()
    key = _key(world, actor, "facts", world.own[actor])
    world.speaks[actor].facts.store(key, _text(mark))
    world.keep(world.own[actor], actor, "facts", key, mark)


@step(4)
def recall_fact(world: World) -> None:
    actor, rows = world.actor(), world.live("facts")
    if not rows:
        return
    row = world.rng.choice(rows)
    own = row.owner == actor.principal
    asks: list[dict[str, Any]] = [{"key": row.head.key}, {"query": row.head.text}]
    for asked in asks:
        facts = world.speaks[actor].facts.recall(**asked)
        world.look(actor, [fact.text for fact in facts], READ)
        if own:
            world.equal(
                row.head.text in str([fact.text for fact in facts]), True, "whether one's own fact is found"
            )
    world.look(actor, world.speaks[actor].facts.my_memory(), READ)


@step(3)
def forget_fact(world: World) -> None:
    actor, rows = world.actor(), world.live("facts")
    if not rows:
        return
    row = world.rng.choice(rows)
    deleted = world.speaks[actor].facts.forget(f"key:{row.head.key}").deleted
    world.equal(deleted, int(row.owner == actor.principal), "how many facts went")
    row.gone = row.gone or row.owner == actor.principal


# Files


@step(5)
def write_file(world: World) -> None:
    actor, mark = world.rng.choice((ADA, BOB, MAL)), world.new_mark()
    name = _key(world, actor, "files", world.own[actor])
    world.speaks[actor].files.update_user_memory(
        "upsert", name, type="project", description=f"about {mark}", body=_text(mark)
    )
    world.keep(world.own[actor], actor, "files", name, mark)


@step(4)
def read_file(world: World) -> None:
    actor, rows = world.rng.choice((ADA, BOB, MAL)), world.live("files")
    if not rows:
        return
    row = world.rng.choice(rows)
    call = lambda: world.speaks[actor].files.read_user_memory(row.head.key)  # noqa: E731
    mine = any(one.head.key == row.head.key for one in world.live("files", actor))
    read = world.ask(call, mine, f"file {row.head.key} by {actor.principal}")
    if read is not None:
        world.look(actor, read.text, READ)
    index = world.speaks[actor].files.index()
    marks = {one.head.text for one in world.live("files", actor)}
    world.look(actor, index, READ)
    if len(marks) <= 150:
        world.equal(set(MARK.findall(index)), marks, "what the index lists")


@step(2)
def delete_file(world: World) -> None:
    rows = world.live("files")
    if rows:
        row = world.rng.choice(rows)
        next(world.speaks[one] for one in ACTORS if one.principal == row.owner).files.update_user_memory(
            "delete", row.head.key
        )
        row.gone = True


# Stores, kv and the tool of Claude models


def _address(world: World, actor: Actor, space: Space) -> dict[str, Any]:
    if space.owner == actor.principal and space.kind != "shared":
        return {"scope": "agent"}
    if space.kind == "user" and actor.session_user == space.owner and world.rng.random() < 0.5:
        return {"scope": "user"}
    return {"store": named(space)}


def _memory(
    world: World, actor: Actor, space: Space, command: str, key: str, **more: Any
) -> Callable[[], Any]:
    """The same request in one of the three vocabularies."""
    at, way = _address(world, actor, space), world.rng.choice(("path", "key", "action"))
    said: dict[str, Any] = {"command": command, "key": key, **at, **more}
    if way == "path" and at != {"scope": "user"}:
        folder = "/memories" if at == {"scope": "agent"} else f"/memories/shared/{named(space)}"
        said = {"command": command, "path": f"{folder}/{key}", **more}
    elif way == "action" and command in ACTIONS:
        value = {"value": more["content"]} if "content" in more else {}
        said = {"action": ACTIONS[command], "key": key, **at, **value}
    return lambda: world.speaks[actor].stores.memory(**said)


@step(8)
def create(world: World) -> None:
    actor, space, mark = world.actor(), world.space(), world.new_mark()
    key = _key(world, actor, "stores", space)
    call = _memory(world, actor, space, "create", key, content=_text(mark))
    allowed = world.level(actor, space) >= READWRITE
    if world.ask(call, allowed, f"create in {named(space)} by {actor.principal}") is not None:
        world.keep(space, actor, "stores", key, mark)


@step(7)
def view(world: World) -> None:
    actor, rows = world.actor(), [row for row in world.rows if row.partition == "stores"]
    if not rows:
        return
    row = world.rng.choice(rows)
    asked, allowed = (
        _memory(world, actor, row.space, "view", row.head.key),
        world.level(actor, row.space) >= READ,
    )
    call = lambda: (asked(), True)  # noqa: E731
    viewed = world.ask(call, allowed, f"view in {named(row.space)} by {actor.principal}")
    if viewed is not None:
        world.look(actor, viewed, READ)
        there = any((one.space, one.head.key) == (row.space, row.head.key) for one in world.live("stores"))
        world.equal(viewed[0] is not None, there, "whether an entry is there")


@step(5)
def list_store(world: World) -> None:
    actor, space = world.actor(), world.space()
    at = _address(world, actor, space)
    call = lambda: world.speaks[actor].stores.memory("view", limit=1_000, **at)  # noqa: E731
    listed = world.ask(
        call, world.level(actor, space) >= READ, f"listing of {named(space)} by {actor.principal}"
    )
    if listed is not None:
        mine = {row.head.text for row in world.live("stores") if row.space is space}
        world.equal(set(MARK.findall(str(listed))), mine, f"what is listed of {named(space)}")


@step(5)
def search(world: World) -> None:
    actor, rows = world.actor(), [row for row in world.rows if row.partition == "stores"]
    if not rows:
        return
    row = world.rng.choice(rows)
    found = world.speaks[actor].stores.memory("search", query=row.head.text, limit=50)
    world.look(actor, found, SEARCH)
    world.equal(
        row.head.text in str(found), world.sees(actor, row, SEARCH), f"whether {actor.principal} finds it"
    )


@step(2)
def search_for_nothing(world: World) -> None:
    """Who may only search is listed nothing."""
    actor = world.actor()
    query = world.rng.choice(("", "?", " - "))
    world.look(actor, world.speaks[actor].stores.memory("search", query=query, limit=50), READ)
    space = world.space()
    call = lambda: world.speaks[actor].recall(query, spaces=[named(space)])  # noqa: E731
    world.ask(
        call, world.level(actor, space) >= READ, f"recall of nothing in {named(space)} by {actor.principal}"
    )


@step(3)
def edit(world: World) -> None:
    rows = world.live("stores")
    if not rows:
        return
    actor, row, mark = world.actor(), world.rng.choice(rows), world.new_mark()
    allowed = world.level(actor, row.space) >= READWRITE
    call = _memory(world, actor, row.space, "edit", row.head.key, old_str=row.head.text, new_str=mark)
    if world.ask(call, allowed, f"edit in {named(row.space)} by {actor.principal}") is not None:
        say(row, text=mark)


@step(3)
def delete(world: World) -> None:
    """Only who made an entry deletes it."""
    rows = world.live("stores")
    if not rows:
        return
    actor, row = world.actor(), world.rng.choice(rows)
    call = _memory(world, actor, row.space, "delete", row.head.key)
    if (
        world.ask(call, _removes(world, actor, row), f"delete in {named(row.space)} by {actor.principal}")
        is not None
    ):
        row.gone = True


def _removes(world: World, actor: Actor, row: Row) -> bool:
    level = world.level(actor, row.space)
    return row.owner == actor.principal and level >= (MANAGE if row.space.kind == "system" else READWRITE)


@step(3)
def rename(world: World) -> None:
    """Within a store, or into another one: only who may delete an entry, and only where they may write."""
    rows = world.live("stores")
    if not rows:
        return
    actor, row, key = world.actor(), world.rng.choice(rows), f"k{next(world.numbers)}"
    to = row.space if world.rng.random() < 0.5 else world.space()
    own = to.owner == actor.principal and to.kind != "shared"
    name = f"/memories/{key}" if own else f"/memories/shared/{named(to)}/{key}"
    if to is row.space:
        name = world.rng.choice((name, key))
    allowed = _removes(world, actor, row) and world.level(actor, to) >= READWRITE
    call = _memory(world, actor, row.space, "rename", row.head.key, new_str=name)
    if (
        world.ask(call, allowed, f"rename from {named(row.space)} to {named(to)} by {actor.principal}")
        is not None
    ):
        row.space = to
        say(row, key=key)


@step(2)
def share(world: World) -> None:
    """From one's own and from shared spaces: to anybody, for an hour or until it is taken back."""
    space = world.rng.choice([*world.own.values(), *world.shared.values()])
    by = next(actor for actor in ACTORS if actor.principal == space.owner)
    to = world.rng.choice([actor for actor in ACTORS if actor is not by])
    label, ttl = world.rng.choice(("search", "read", "readwrite")), world.rng.choice((None, HOUR))
    world.speaks[by].stores.memory(
        "share", agent=to.principal, level=label, ttl=ttl, **_address(world, by, space)
    )
    world.model.share(by, named(space), to.principal, label, ttl)()


@step(1)
def unshare(world: World) -> None:
    if not world.model.grants:
        return
    space, grantee, giver = world.rng.choice(list(world.model.grants))
    by = next(actor for actor in ACTORS if actor.principal == giver)
    world.speaks[by].stores.memory("unshare", agent=grantee, **_address(world, by, space))
    world.model.unshare(by, named(space), grantee)()


@step(2)
def stores(world: World) -> None:
    actor = world.actor()
    listed = world.speaks[actor].stores.memory("stores")["stores"]
    open_to = [space for space in world.spaces if world.level(actor, space) >= SEARCH]
    told = {one["storeId"] for one in listed}
    for space in set(world.spaces) - set(open_to):
        if space.id in told or f"{space.kind}:{space.ref}" in told:
            raise Leak(f"{actor.principal} was told of {named(space)}")
    for space in open_to:
        if not told & {space.id, space.ref, f"{space.kind}:{space.ref}"} and any(
            row.space is space for row in world.rows
        ):
            raise Leak(f"{actor.principal} was not told of {named(space)}")


@step(3)
def kv(world: World) -> None:
    actor, mark = world.actor(), world.new_mark()
    key = f"kv-{world.rng.randrange(8)}"
    world.speaks[actor].kv.kv_set(key, _text(mark))
    world.keep(world.own[actor], actor, "stores", key, mark)
    other = world.actor()
    held = [
        row for row in world.live("stores", other) if row.head.key == key and row.space is world.own[other]
    ]
    got = world.speaks[other].kv.kv_get(key)
    world.equal(got, _text(held[0].head.text) if held else "", f"what {other.principal} keeps under {key}")


@step(3)
def claude(world: World) -> None:
    actor, mark = world.actor(), world.new_mark()
    key = f"claude-{next(world.numbers)}"
    world.speaks[actor].anthropic.memory("create", path=f"/memories/{key}", file_text=_text(mark))
    world.keep(world.own[actor], actor, "stores", key, mark)
    other = world.actor()
    listing = world.speaks[other].anthropic.memory("view", path="/memories")
    world.equal(key in listing, other is actor, "whether a file is listed")
    world.look(other, listing, READ)


@step(3)
def internal(world: World) -> None:
    """What skills keep is shown to no model, and to no other agent's skill."""
    actor, mark = world.rng.choice((DOT, EVE)), world.new_mark()
    key = f"secret-{world.rng.randrange(4)}"
    world.speaks[actor].stores.set_internal(actor.id, key, _text(mark))
    world.keep(world.own[actor], actor, "internal", key, mark)
    for other in (DOT, EVE):
        held = [row for row in world.live("internal", other) if row.head.key == key]
        got = world.speaks[other].stores.get_internal(other.id, key)
        world.equal(
            got, _text(held[0].head.text) if held else None, f"what a skill of {other.principal} keeps"
        )
    shown = [hit.text for hit in world.speaks[world.actor()].recall(mark)]  # words that look alike may come
    world.equal(mark in str(shown), False, "whether recall shows a skill's secret")


# Assistant


@step(6)
def save_memory(world: World) -> None:
    actor, mark = world.actor(), world.new_mark()
    system = world.rng.random() < 0.4
    space = world.system if system else world.own[actor]
    allowed = world.level(actor, space) >= READWRITE
    call = lambda: world.speaks[actor].assistant.save_memory(  # noqa: E731
        "system" if system else "user",
        f"{mark} and when to think of it",
        _text(mark),
        system_id=SYSTEM if system else None,
    )
    saved = world.ask(call, allowed, f"saveMemory of {actor.principal} in {named(space)}")
    if saved is not None:
        world.equal(saved.updated, False, "whether hints that share no word were merged")
        world.keep(space, actor, "assistant", str(saved.id), mark, str(saved.id))


@step(5)
def search_memory(world: World) -> None:
    actor, rows = world.actor(), [row for row in world.rows if row.partition == "assistant"]
    if not rows:
        return
    row = world.rng.choice(rows)
    found = world.speaks[actor].assistant.search_memory(row.head.text, limit=50)
    world.look(actor, [(one.recall_hint, one.content) for one in found], SEARCH)
    # The assistant knows one's own memories and those of systems, not what else was shared.
    expected = world.sees(actor, row, READ) and (row.owner == actor.principal or row.space is world.system)
    world.equal(
        row.head.text in str(found),
        expected,
        f"whether {actor.principal} finds a memory of {named(row.space)}",
    )


@step(3)
def delete_memory(world: World) -> None:
    rows = world.live("assistant")
    if not rows:
        return
    actor, row = world.actor(), world.rng.choice(rows)
    level = world.level(actor, row.space)
    allowed = level == MANAGE if row.space is world.system else row.owner == actor.principal
    answer = world.speaks[actor].assistant.delete_memory(row.id)
    told = answer.deleted, answer.proposal is not None
    is_user = actor.kind == "user"  # an agent only proposes
    world.equal(told, (allowed and is_user, allowed and not is_user), f"deleting in {named(row.space)}")
    row.gone = answer.deleted


# Time


@step(1)
def time_passes(world: World) -> None:
    world.model.now = world.clock.advance(seconds=world.rng.choice((1, 60, HOUR // 2)))
