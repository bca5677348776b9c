"""Two users, two agents, a chat they share, a system with teams, and a stranger: they speak every vocabulary at once,
beside a model that knows who may see which text. Every text holds a mark that occurs nowhere else, so whatever somebody
is shown can be traced to where it was written."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from holdfast.domain.errors import HoldfastError
from holdfast.entrypoints.python.memory import Memory, Own
from tests.support import FixedClock

NOTHING, SEARCH, READ, READWRITE, MANAGE = range(5)
ACTIONS = {"create": "set", "view": "get", "delete": "delete"}
LEVELS = {"search": SEARCH, "read": READ, "readwrite": READWRITE}
CHAT, SYSTEM = "standup", "crm"
PRIVATE = ("files", "assistant")
"""In a user's space their owner's alone."""
VISIBLE = ("notes", "facts", "stores", "files", "assistant")
HOUR = 3_600
LETTERS = "bcdfghjklmnpqrstvw"
MARK = re.compile(rf"zq[{LETTERS}]+x")


class Leak(AssertionError):
    """Somebody was shown what they may not see, or not shown what they may."""


@dataclass(frozen=True)
class Actor:
    kind: str
    id: str
    works_for: str = ""

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.id}"


ADA, BOB = Actor("user", "ada"), Actor("user", "bob")
DOT, EVE = Actor("agent", "dot", "ada"), Actor("agent", "eve", "bob")
MAL = Actor("user", "mal")
ACTORS = (ADA, BOB, DOT, EVE, MAL)
IN_CHAT = (ADA, BOB, DOT, EVE)
SYSTEM_LEVELS = {ADA: MANAGE, BOB: READWRITE}


@dataclass(eq=False)
class Place:
    kind: str
    ref: str
    owner: str = ""
    id: str = ""

    @property
    def named(self) -> str:
        return self.id or f"{self.kind}:{self.ref}"


@dataclass(eq=False)
class Row:
    place: Place
    owner: Actor
    room: str
    key: str
    mark: str
    id: str = ""
    gone: bool = False
    old: list[str] = field(default_factory=list)
    """Marks of what it said before."""


@dataclass
class Given:
    place: Place
    to: Actor
    by: Actor
    level: int
    until: int | None


class World:
    def __init__(self, memory: Memory, clock: FixedClock) -> None:
        self.clock = clock
        self.rng = Random(0)
        self.rows: list[Row] = []
        self.grants: list[Given] = []
        self.done: Counter[str] = Counter()
        self.numbers = itertools.count()
        self.doors: dict[Actor, Own] = {
            ADA: memory.user("ada", teams=("platform",)),
            BOB: memory.user("bob"),
            DOT: memory.agent("dot", user="ada", chat=CHAT),
            EVE: memory.agent("eve", user="bob", chat=CHAT),
            MAL: memory.user("mal"),
        }
        self.own = {actor: Place(actor.kind, actor.id, actor.name) for actor in ACTORS}
        self.chat, self.system = Place("chat", CHAT), Place("system", SYSTEM)
        self.shared = {
            actor: Place(
                "shared",
                f"team-{actor.id}",
                actor.name,
                str(self.doors[actor].create_space(f"team-{actor.id}").id),
            )
            for actor in (ADA, DOT)
        }
        administration = memory.administration("root")
        administration.set_participants(CHAT, [actor.name for actor in IN_CHAT])
        administration.set_system_access(SYSTEM, {"team:platform": "manage", "user:bob": "read"})

    # The model

    @property
    def places(self) -> list[Place]:
        return [*self.own.values(), *self.shared.values(), self.chat, self.system]

    def level(self, actor: Actor, place: Place) -> int:
        if place.owner == actor.name:
            return MANAGE
        granted = [
            given.level
            for given in self.grants
            if given.place is place
            and given.to is actor
            and (given.until is None or given.until > self.clock.now)
        ]
        if granted:
            return max(granted)
        if place.kind == "chat":
            return READWRITE if actor in IN_CHAT else NOTHING
        if place.kind == "user" and actor.works_for == place.ref:
            return READWRITE
        if place.kind == "system":
            return SYSTEM_LEVELS.get(actor, NOTHING)
        return NOTHING

    def sees(self, actor: Actor, row: Row, needed: int) -> bool:
        if row.gone or row.room not in VISIBLE or self.level(actor, row.place) < needed:
            return False
        return not (row.room in PRIVATE and row.place.kind == "user") or row.owner is actor

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
            rows = [row for row in self.rows if row.mark == mark or (history and mark in row.old)]
            if not any(self.sees(actor, row, needed) for row in rows):
                raise Leak(
                    f"{actor.name} was shown {mark}, of {[(r.place.named, r.room, r.owner.name, r.gone) for r in rows]}"
                )

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

    def place(self) -> Place:
        return self.rng.choice(self.places)

    def live(self, room: str, of: Actor | None = None) -> list[Row]:
        return [
            row for row in self.rows if row.room == room and not row.gone and (of is None or row.owner is of)
        ]

    def keep(self, place: Place, owner: Actor, room: str, key: str, mark: str, id: str = "") -> Row:
        """A new row, or what the owner's row of this key says from now on."""
        for row in self.rows:
            if (row.place, row.owner, row.room, row.key, row.gone) == (place, owner, room, key, False):
                row.old.append(row.mark)
                row.mark = mark
                return row
        row = Row(place, owner, room, key, mark, id)
        self.rows.append(row)
        return row


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


def _key(world: World, actor: Actor, room: str, place: Place) -> str:
    """One of the actor's own again, now and then."""
    again = [row.key for row in world.live(room, actor) if row.place is place]
    return world.rng.choice(again) if again and world.rng.random() < 0.3 else f"k{next(world.numbers)}"


# Core


@step(8)
def remember(world: World) -> None:
    actor, place, mark = world.actor(), world.place(), world.new_mark()
    key, allowed = _key(world, actor, "notes", place), world.level(actor, place) >= READWRITE
    call = lambda: world.doors[actor].remember(_text(mark), key=key, space=place.named)  # noqa: E731
    kept = world.ask(call, allowed, f"remember in {place.named} by {actor.name}")
    if kept is not None:
        world.keep(place, actor, "notes", key, mark, str(kept.id))


@step(8)
def recall(world: World) -> None:
    """By a mark that is there once: found by all who may search its space and by nobody else."""
    if not world.rows:
        return
    actor, row = world.actor(), world.rng.choice(world.rows)
    hits = world.doors[actor].recall(row.mark, limit=50)
    world.look(actor, [(hit.text, hit.hint, hit.key) for hit in hits], SEARCH)
    world.equal(
        any(row.mark in hit.text or row.mark in hit.hint for hit in hits),
        world.sees(actor, row, SEARCH),
        f"whether {actor.name} finds {row.room} of {row.place.named}",
    )


@step(5)
def get(world: World) -> None:
    rows = [row for row in world.rows if row.id]
    if not rows:
        return
    actor, row = world.actor(), world.rng.choice(rows)
    entry = world.ask(
        lambda: world.doors[actor].get(id=row.id), world.sees(actor, row, READ), f"get of {row.room}"
    )
    if entry is not None:
        world.look(actor, entry, READ)


@step(4)
def list_entries(world: World) -> None:
    actor, place = world.actor(), world.place()
    call = lambda: world.doors[actor].list(space=place.named, limit=1_000)  # noqa: E731
    page = world.ask(call, world.level(actor, place) >= READ, f"list of {place.named}")
    if page is not None:
        shown = {mark for entry in page for mark in MARK.findall(f"{entry.text} {entry.hint}")}
        mine = {row.mark for row in world.rows if row.place is place and world.sees(actor, row, READ)}
        world.equal(shown, mine, f"what {actor.name} sees listed of {place.named}")


@step(3)
def history(world: World) -> None:
    rows = [row for row in world.rows if row.id]
    if not rows:
        return
    actor, row = world.actor(), world.rng.choice(rows)
    call = lambda: world.doors[actor].history(id=row.id)  # noqa: E731
    states = world.ask(call, world.sees(actor, row, READ), f"history of {row.room}")
    if states is not None:
        world.look(actor, [state.text for state in states], READ, history=True)


@step(3)
def context(world: World) -> None:
    actor = world.actor()
    world.look(actor, world.doors[actor].context(budget=100_000).text, READ)


# Facts


@step(6)
def store_fact(world: World) -> None:
    actor, mark = world.actor(), world.new_mark()
    key = _key(world, actor, "facts", world.own[actor])
    world.doors[actor].facts.store(key, _text(mark))
    world.keep(world.own[actor], actor, "facts", key, mark)


@step(4)
def recall_fact(world: World) -> None:
    actor, rows = world.actor(), world.live("facts")
    if not rows:
        return
    row = world.rng.choice(rows)
    own = row.owner is actor
    asks: list[dict[str, Any]] = [{"key": row.key}, {"query": row.mark}]
    for asked in asks:
        facts = world.doors[actor].facts.recall(**asked)
        world.look(actor, [fact.text for fact in facts], READ)
        if own:
            world.equal(
                row.mark in str([fact.text for fact in facts]), True, "whether one's own fact is found"
            )
    world.look(actor, world.doors[actor].facts.my_memory(), READ)


@step(3)
def forget_fact(world: World) -> None:
    actor, rows = world.actor(), world.live("facts")
    if not rows:
        return
    row = world.rng.choice(rows)
    deleted = world.doors[actor].facts.forget(f"key:{row.key}").deleted
    world.equal(deleted, int(row.owner is actor), "how many facts went")
    row.gone = row.gone or row.owner is actor


# Files


@step(5)
def write_file(world: World) -> None:
    actor, mark = world.rng.choice((ADA, BOB, MAL)), world.new_mark()
    name = _key(world, actor, "files", world.own[actor])
    world.doors[actor].files.update_user_memory(
        "upsert", name, type="project", description=f"about {mark}", body=_text(mark)
    )
    world.keep(world.own[actor], actor, "files", name, mark)


@step(4)
def read_file(world: World) -> None:
    actor, rows = world.rng.choice((ADA, BOB, MAL)), world.live("files")
    if not rows:
        return
    row = world.rng.choice(rows)
    call = lambda: world.doors[actor].files.read_user_memory(row.key)  # noqa: E731
    mine = any(one.key == row.key for one in world.live("files", actor))
    read = world.ask(call, mine, f"file {row.key} by {actor.name}")
    if read is not None:
        world.look(actor, read.text, READ)
    index = world.doors[actor].files.index()
    marks = {one.mark for one in world.live("files", actor)}
    world.look(actor, index, READ)
    if len(marks) <= 150:
        world.equal(set(MARK.findall(index)), marks, "what the index lists")


@step(2)
def delete_file(world: World) -> None:
    rows = world.live("files")
    if rows:
        row = world.rng.choice(rows)
        world.doors[row.owner].files.update_user_memory("delete", row.key)
        row.gone = True


# Stores, kv and the tool of Claude models


def _address(world: World, actor: Actor, place: Place) -> dict[str, Any]:
    if place.owner == actor.name and place.kind != "shared":
        return {"scope": "agent"}
    if place.kind == "user" and actor.works_for == place.ref and world.rng.random() < 0.5:
        return {"scope": "user"}
    return {"store": place.named}


def _memory(
    world: World, actor: Actor, place: Place, command: str, key: str, **more: Any
) -> Callable[[], Any]:
    """The same request in one of the three vocabularies."""
    at, way = _address(world, actor, place), world.rng.choice(("path", "key", "action"))
    said: dict[str, Any] = {"command": command, "key": key, **at, **more}
    if way == "path" and at != {"scope": "user"}:
        folder = "/memories" if at == {"scope": "agent"} else f"/memories/shared/{place.named}"
        said = {"command": command, "path": f"{folder}/{key}", **more}
    elif way == "action" and command in ACTIONS:
        value = {"value": more["content"]} if "content" in more else {}
        said = {"action": ACTIONS[command], "key": key, **at, **value}
    return lambda: world.doors[actor].stores.memory(**said)


@step(8)
def create(world: World) -> None:
    actor, place, mark = world.actor(), world.place(), world.new_mark()
    key = _key(world, actor, "stores", place)
    call = _memory(world, actor, place, "create", key, content=_text(mark))
    allowed = world.level(actor, place) >= READWRITE
    if world.ask(call, allowed, f"create in {place.named} by {actor.name}") is not None:
        world.keep(place, actor, "stores", key, mark)


@step(7)
def view(world: World) -> None:
    actor, rows = world.actor(), [row for row in world.rows if row.room == "stores"]
    if not rows:
        return
    row = world.rng.choice(rows)
    asked, allowed = _memory(world, actor, row.place, "view", row.key), world.level(actor, row.place) >= READ
    call = lambda: (asked(), True)  # noqa: E731
    viewed = world.ask(call, allowed, f"view in {row.place.named} by {actor.name}")
    if viewed is not None:
        world.look(actor, viewed, READ)
        there = any((one.place, one.key) == (row.place, row.key) for one in world.live("stores"))
        world.equal(viewed[0] is not None, there, "whether an entry is there")


@step(5)
def list_store(world: World) -> None:
    actor, place = world.actor(), world.place()
    at = _address(world, actor, place)
    call = lambda: world.doors[actor].stores.memory("view", limit=1_000, **at)  # noqa: E731
    listed = world.ask(call, world.level(actor, place) >= READ, f"listing of {place.named} by {actor.name}")
    if listed is not None:
        mine = {row.mark for row in world.live("stores") if row.place is place}
        world.equal(set(MARK.findall(str(listed))), mine, f"what is listed of {place.named}")


@step(5)
def search(world: World) -> None:
    actor, rows = world.actor(), [row for row in world.rows if row.room == "stores"]
    if not rows:
        return
    row = world.rng.choice(rows)
    found = world.doors[actor].stores.memory("search", query=row.mark, limit=50)
    world.look(actor, found, SEARCH)
    world.equal(row.mark in str(found), world.sees(actor, row, SEARCH), f"whether {actor.name} finds it")


@step(2)
def search_for_nothing(world: World) -> None:
    """Who may only search is listed nothing."""
    actor = world.actor()
    query = world.rng.choice(("", "?", " - "))
    world.look(actor, world.doors[actor].stores.memory("search", query=query, limit=50), READ)
    place = world.place()
    call = lambda: world.doors[actor].recall(query, spaces=[place.named])  # noqa: E731
    world.ask(call, world.level(actor, place) >= READ, f"recall of nothing in {place.named} by {actor.name}")


@step(3)
def edit(world: World) -> None:
    rows = world.live("stores")
    if not rows:
        return
    actor, row, mark = world.actor(), world.rng.choice(rows), world.new_mark()
    allowed = world.level(actor, row.place) >= READWRITE
    call = _memory(world, actor, row.place, "edit", row.key, old_str=row.mark, new_str=mark)
    if world.ask(call, allowed, f"edit in {row.place.named} by {actor.name}") is not None:
        row.old.append(row.mark)
        row.mark = mark


@step(3)
def delete(world: World) -> None:
    """Only who made an entry deletes it."""
    rows = world.live("stores")
    if not rows:
        return
    actor, row = world.actor(), world.rng.choice(rows)
    call = _memory(world, actor, row.place, "delete", row.key)
    if (
        world.ask(call, _removes(world, actor, row), f"delete in {row.place.named} by {actor.name}")
        is not None
    ):
        row.gone = True


def _removes(world: World, actor: Actor, row: Row) -> bool:
    level = world.level(actor, row.place)
    return row.owner is actor and level >= (MANAGE if row.place.kind == "system" else READWRITE)


@step(3)
def rename(world: World) -> None:
    """Within a store, or into another one: only who may delete an entry, and only where they may write."""
    rows = world.live("stores")
    if not rows:
        return
    actor, row, key = world.actor(), world.rng.choice(rows), f"k{next(world.numbers)}"
    to = row.place if world.rng.random() < 0.5 else world.place()
    own = to.owner == actor.name and to.kind != "shared"
    name = f"/memories/{key}" if own else f"/memories/shared/{to.named}/{key}"
    if to is row.place:
        name = world.rng.choice((name, key))
    allowed = _removes(world, actor, row) and world.level(actor, to) >= READWRITE
    call = _memory(world, actor, row.place, "rename", row.key, new_str=name)
    if world.ask(call, allowed, f"rename from {row.place.named} to {to.named} by {actor.name}") is not None:
        row.place, row.key = to, key


@step(2)
def share(world: World) -> None:
    """From one's own and from shared spaces: to anybody, for an hour or until it is taken back."""
    place = world.rng.choice([*world.own.values(), *world.shared.values()])
    by = next(actor for actor in ACTORS if actor.name == place.owner)
    to = world.rng.choice([actor for actor in ACTORS if actor is not by])
    label, hours = world.rng.choice(list(LEVELS)), world.rng.choice((None, 1))
    ttl = None if hours is None else hours * HOUR
    world.doors[by].stores.memory("share", agent=to.name, level=label, ttl=ttl, **_address(world, by, place))
    _take_back(world, place, to, by)
    until = None if ttl is None else world.clock.now + ttl * 1_000_000
    world.grants.append(Given(place, to, by, LEVELS[label], until))


@step(1)
def unshare(world: World) -> None:
    if not world.grants:
        return
    given = world.rng.choice(world.grants)
    at = _address(world, given.by, given.place)
    world.doors[given.by].stores.memory("unshare", agent=given.to.name, **at)
    _take_back(world, given.place, given.to, given.by)


def _take_back(world: World, place: Place, to: Actor, by: Actor) -> None:
    world.grants = [one for one in world.grants if (one.place, one.to, one.by) != (place, to, by)]


@step(2)
def stores(world: World) -> None:
    actor = world.actor()
    listed = world.doors[actor].stores.memory("stores")["stores"]
    open_to = [place for place in world.places if world.level(actor, place) >= SEARCH]
    told = {one["storeId"] for one in listed}
    for place in set(world.places) - set(open_to):
        if place.id in told or f"{place.kind}:{place.ref}" in told:
            raise Leak(f"{actor.name} was told of {place.named}")
    for place in open_to:
        if not told & {place.id, place.ref, f"{place.kind}:{place.ref}"} and any(
            row.place is place for row in world.rows
        ):
            raise Leak(f"{actor.name} was not told of {place.named}")


@step(3)
def kv(world: World) -> None:
    actor, mark = world.actor(), world.new_mark()
    key = f"kv-{world.rng.randrange(8)}"
    world.doors[actor].kv.kv_set(key, _text(mark))
    world.keep(world.own[actor], actor, "stores", key, mark)
    other = world.actor()
    held = [row for row in world.live("stores", other) if row.key == key and row.place is world.own[other]]
    got = world.doors[other].kv.kv_get(key)
    world.equal(got, _text(held[0].mark) if held else "", f"what {other.name} keeps under {key}")


@step(3)
def claude(world: World) -> None:
    actor, mark = world.actor(), world.new_mark()
    key = f"claude-{next(world.numbers)}"
    world.doors[actor].anthropic.memory("create", path=f"/memories/{key}", file_text=_text(mark))
    world.keep(world.own[actor], actor, "stores", key, mark)
    other = world.actor()
    listing = world.doors[other].anthropic.memory("view", path="/memories")
    world.equal(key in listing, other is actor, "whether a file is listed")
    world.look(other, listing, READ)


@step(3)
def internal(world: World) -> None:
    """What skills keep is shown to no model, and to no other agent's skill."""
    actor, mark = world.rng.choice((DOT, EVE)), world.new_mark()
    key = f"secret-{world.rng.randrange(4)}"
    world.doors[actor].stores.set_internal(actor.id, key, _text(mark))
    world.keep(world.own[actor], actor, "internal", key, mark)
    for other in (DOT, EVE):
        held = [row for row in world.live("internal", other) if row.key == key]
        got = world.doors[other].stores.get_internal(other.id, key)
        world.equal(got, _text(held[0].mark) if held else None, f"what a skill of {other.name} keeps")
    shown = [hit.text for hit in world.doors[world.actor()].recall(mark)]  # words that look alike may come
    world.equal(mark in str(shown), False, "whether recall shows a skill's secret")


# Assistant


@step(6)
def save_memory(world: World) -> None:
    actor, mark = world.actor(), world.new_mark()
    system = world.rng.random() < 0.4
    place = world.system if system else world.own[actor]
    allowed = world.level(actor, place) >= READWRITE
    call = lambda: world.doors[actor].assistant.save_memory(  # noqa: E731
        "system" if system else "user",
        f"{mark} and when to think of it",
        _text(mark),
        system_id=SYSTEM if system else None,
    )
    saved = world.ask(call, allowed, f"saveMemory of {actor.name} in {place.named}")
    if saved is not None:
        world.equal(saved.updated, False, "whether hints that share no word were merged")
        world.keep(place, actor, "assistant", str(saved.id), mark, str(saved.id))


@step(5)
def search_memory(world: World) -> None:
    actor, rows = world.actor(), [row for row in world.rows if row.room == "assistant"]
    if not rows:
        return
    row = world.rng.choice(rows)
    found = world.doors[actor].assistant.search_memory(row.mark, limit=50)
    world.look(actor, [(one.recall_hint, one.content) for one in found], SEARCH)
    # The assistant knows one's own memories and those of systems, not what else was shared.
    expected = world.sees(actor, row, READ) and (row.owner is actor or row.place is world.system)
    world.equal(row.mark in str(found), expected, f"whether {actor.name} finds a memory of {row.place.named}")


@step(3)
def delete_memory(world: World) -> None:
    rows = world.live("assistant")
    if not rows:
        return
    actor, row = world.actor(), world.rng.choice(rows)
    level = world.level(actor, row.place)
    allowed = level == MANAGE if row.place is world.system else row.owner is actor
    answer = world.doors[actor].assistant.delete_memory(row.id)
    told = answer.deleted, answer.proposal is not None
    is_user = actor.kind == "user"  # an agent only proposes
    world.equal(told, (allowed and is_user, allowed and not is_user), f"deleting in {row.place.named}")
    row.gone = answer.deleted


# Time


@step(1)
def time_passes(world: World) -> None:
    world.clock.advance(seconds=world.rng.choice((1, 60, HOUR // 2)))
