"""The operations: each draws who does what to what, asks the server, and compares with the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from tests.isolation.actors import ACTORS, CHATS, GUS, ROLES, SHARED_REFS, SYSTEMS, Actor
from tests.isolation.calling import Answer, Request
from tests.isolation.model import (
    DAY,
    EVERY_ROOM,
    HOUR,
    LEVELS,
    MANAGE,
    OWNERS_ALONE,
    READ,
    READWRITE,
    ROOMS,
    SEARCH,
    Changes,
    EntryName,
    Given,
    Kept,
    NoteInput,
    Refused,
    Row,
    Space,
    Wanted,
)
from tests.isolation.world import CATEGORIES, KEYS, TAGS, World, moment, revision_of

Step = Callable[[World], None]
STEPS: list[tuple[Step, int]] = []
"""Each with how often it comes, among all."""

TTLS = (60, HOUR, 2 * HOUR, DAY, 40 * DAY)
REPEATS = tuple(f"again-{number}" for number in range(12))
"""Idempotency keys, which everybody uses."""


def step(weight: int) -> Callable[[Step], Step]:
    def enlist(do: Step) -> Step:
        STEPS.append((do, weight))
        return do

    return enlist


# How an entry is named


def _named(world: World, actor: Actor, level: int) -> tuple[EntryName, str, dict[str, str]]:
    """A target, the path that names it, and the fields that do."""
    if world.chance(0.65):
        id = world.address(actor, level)
        return EntryName(id=id), f"entries/{quote(id, safe='')}", {}
    row = world.row_for(actor, level)
    if row is not None and world.chance(0.7):
        ref, key = world.ref_of(actor, row.space), row.head.key
    else:
        ref, key = world.place(actor, level), world.rng.choice(KEYS)
    said = {"key": key} | ({} if ref is None else {"space": ref})
    return EntryName(key=key, ref=ref), "entry", said


def _expected(world: World, target: EntryName) -> tuple[int | None, dict[str, str]]:
    """A revision that the change is bound to: the right one, whoever's it is, or another."""
    if not world.chance(0.25):
        return None, {"if-match": "*"} if world.chance(0.03) else {}
    row = world.model.ids.get(target.id or "")
    revision = row.revision if row is not None and world.chance(0.7) else world.rng.randrange(4)
    return revision, {"if-match": f'"{revision}"'}


def _repeatable(world: World, headers: dict[str, str]) -> dict[str, str]:
    if world.chance(0.08):
        headers = {**headers, "idempotency-key": world.rng.choice(REPEATS)}
    return headers


def _bound(name: str, said: dict[str, Any], target: EntryName, expected: int | None) -> object:
    """What an idempotency key is bound to."""
    asked = {**said, "id": target.id, "key": target.key, "space": target.ref, "expected": expected}
    return name, tuple(sorted((field, repr(value)) for field, value in asked.items() if value is not None))


def _ttl(world: World, share: float) -> int | None:
    return world.rng.choice(TTLS) if world.chance(share) else None


def _tags(world: World, share: float) -> tuple[str, ...] | None:
    if not world.chance(share):
        return None
    return (world.rng.choice(TAGS), world.marks.new())


def _category(world: World, share: float) -> str | None:
    if not world.chance(share):
        return None
    return world.rng.choice(CATEGORIES) if world.chance(0.6) else world.marks.new()


# Remember


def _draft(world: World, actor: Actor, *, fact: bool = False) -> NoteInput:
    crowded = sum(row.space is world.model.own(actor) for row in world.model.rows) > 25
    supersedes = None if fact or not world.chance(0.05) else world.address(actor, READWRITE)
    return NoteInput(
        world.text(),
        world.key() if fact or crowded or world.chance(0.92) else None,
        hint=None if fact or not world.chance(0.3) else f"about {world.marks.new()}",
        category=_category(world, 0.3),
        tags=_tags(world, 0.3),
        speaker=None if fact or not world.chance(0.15) else world.marks.new(),
        ttl=_ttl(world, 0.45),
        always=None if fact or not world.chance(0.12) else world.chance(0.7),
        expected=None if fact or not world.chance(0.06) else world.rng.randrange(3),
        supersedes=supersedes,
    )


def _said(draft: NoteInput, ref: str | None) -> dict[str, Any]:
    said = {
        "text": draft.text,
        "key": draft.key,
        "hint": draft.hint,
        "category": draft.category,
        "tags": None if draft.tags is None else list(draft.tags),
        "speaker": draft.speaker,
        "ttl_seconds": draft.ttl,
        "always_inject": draft.always,
        "expected_revision": draft.expected,
        "supersedes": draft.supersedes,
        "space": ref,
    }
    return {name: value for name, value in said.items() if value is not None}


@step(50)
def remember(world: World) -> None:
    actor = world.actor()
    ref, draft = world.place(actor), _draft(world, actor)
    partition = "internal" if world.chance(0.1) else "notes"
    said = _said(draft, ref) | ({"in_context": False} if partition == "internal" else {})
    said["similar"] = world.chance(0.5)
    headers = _repeatable(world, {})
    if headers and world.chance(0.5):  # the very same request again, or somebody else's
        said = {"text": "said by everybody", "key": "again"}
        draft, ref, partition = NoteInput("said by everybody", "again"), None, "notes"

    def prepare(answer: Answer) -> Callable[[], Kept]:
        _, write = world.model.remember(actor, ref, partition, draft)
        return lambda: write(answer.json.get("key", ""))

    def show(answer: Answer, kept: Kept) -> Row:
        row = world.kept(answer.json, kept)
        near = world.known(actor, answer.json["similar"] or (), READ)
        world.check(all(each.space is row.space for each in near), "similar in another space")
        return row

    request = Request("POST", "remember", body=said, headers=headers)
    world.write(actor, request, prepare, show, lambda: (partition, _where(world, actor, ref), draft))


def _where(world: World, actor: Actor, ref: str | None) -> Space | None:
    """An idempotency key is bound to the space that was meant, however it was called."""
    try:
        return world.model.enter(actor, ref, READWRITE, writes=True)[0]
    except Refused:
        return None


@step(8)
def say_again(world: World) -> None:
    """The very same write with the very same idempotency key, by then maybe without the access for it."""
    if world.repeatable:
        world.rng.choice(world.repeatable)()


@step(8)
def remember_many(world: World) -> None:
    actor = world.actor()
    rows = [(world.place(actor), _draft(world, actor)) for _ in range(world.rng.randint(1, 3))]
    body = {"entries": [_said(draft, ref) for ref, draft in rows]}
    answer = world.ask(actor, Request("POST", "remember/batch", body=body))
    world.equal(answer.status, 200, "status of a batch")
    outcomes = answer.json["outcomes"]
    world.equal(len(outcomes), len(rows), "outcomes")
    ready: list[Callable[[str], Kept] | Refused] = []
    for ref, draft in rows:
        try:
            ready.append(world.model.remember(actor, ref, "notes", draft)[1])
        except Refused as refusal:
            ready.append(refusal)
    for said, write in zip(outcomes, ready, strict=True):
        try:
            if isinstance(write, Refused):
                raise write
            kept = write(said.get("key", ""))
        except Refused as refusal:
            world.equal(said.get("error"), refusal.code, "refusal of a row")
            continue
        world.equal(said.get("error"), None, "refusal of a row")
        world.kept(said, kept)


@step(10)
def store_fact(world: World) -> None:
    actor = world.actor()
    draft = _draft(world, actor, fact=True)
    said: dict[str, Any] = {
        "key": draft.key,
        "value": draft.text,
        "category": draft.category,
        "ttl_seconds": draft.ttl,
    }
    said |= {} if draft.tags is None else {"tags": list(draft.tags)}
    body = {name: value for name, value in said.items() if value is not None}

    def prepare(answer: Answer) -> Callable[[], Kept]:
        _, write = world.model.remember(actor, None, "facts", draft)
        return lambda: write(answer.json.get("key", ""))

    request = Request("POST", "memory/store", body=body, headers=_repeatable(world, {}))
    world.write(
        actor,
        request,
        prepare,
        lambda answer, kept: world.kept(answer.json, kept),
        lambda: ("facts", world.model.own(actor), draft),
    )


@step(12)
def plant_private(world: World) -> None:
    """The assistant's rows, in users' spaces above all."""
    actor = world.actor()
    if not world.model.may(actor, writes=True):
        return
    open_to = [space for space in world.model.spaces if world.model.level(actor, space) >= READWRITE]
    shared = [space for space in open_to if space.kind == "user"] or open_to
    space = world.rng.choice(shared if world.chance(0.7) else open_to)
    draft = NoteInput(world.text(), hint=f"about {world.marks.new()}")
    world.plant(actor, space, world.key(), draft)


# Reading


@step(40)
def get(world: World) -> None:
    actor = world.actor()
    target, path, said = _named(world, actor, READ)
    internal = world.chance(0.12)
    rooms = ("internal",) if internal else ROOMS
    query = tuple(said.items()) + ((("in_context", "false"),) if internal else ())
    headers = {}
    if world.chance(0.3):
        row = world.model.ids.get(target.id or "")
        headers["if-none-match"] = f'"{row.revision if row else world.rng.randrange(4)}"'
    answer = world.ask(actor, Request("GET", path, query, headers=headers))
    try:
        row = world.model.get(actor, target, rooms)
    except Refused as refusal:
        world.refused(answer, refusal)
        return
    if headers.get("if-none-match") == f'"{row.revision}"':
        world.equal(
            (answer.status, answer.body, answer.etag), (304, b"", f'"{row.revision}"'), "not modified"
        )
        return
    world.equal(answer.status, 200, "status of a visible entry")
    world.show_row(answer, row)


@step(12)
def history(world: World) -> None:
    actor = world.actor()
    target, path, said = _named(world, actor, READ)
    limit = world.rng.choice((1, 2, 100))
    query = (*said.items(), ("limit", str(limit)))
    answer = world.ask(actor, Request("GET", f"{path}/history", query))
    try:
        row = world.model.get(actor, target)
    except Refused as refusal:
        world.refused(answer, refusal)
        return
    _history(world, answer, row, limit)


def _history(world: World, answer: Answer, row: Row, limit: int) -> None:
    world.equal(answer.status, 200, "status of a history")
    said = answer.json["revisions"]
    expected = [
        {"revision": number, **revision_of(state)}
        for number, state in reversed(list(enumerate(row.states, start=1)))
    ][:limit]
    world.equal([{name: each[name] for name in expected[0]} for each in said], expected, "history")


@step(14)
def similar(world: World) -> None:
    actor = world.actor()
    target, path, said = _named(world, actor, READ)
    private = [row for row in world.model.rows if row.partition in OWNERS_ALONE and row.space.kind == "user"]
    if private and world.chance(0.3):  # with what lies beside it, of others
        row = world.rng.choice(private)
        actor = next(each for each in ACTORS if each.principal == row.owner)
        target, path, said = EntryName(id=row.id), f"entries/{row.id}", {}
    answer = world.ask(actor, Request("GET", f"{path}/similar", (*said.items(), ("limit", "50"))))
    try:
        row = world.model.get(actor, target)
    except Refused as refusal:
        world.refused(answer, refusal)
        return
    world.equal(answer.status, 200, "status of similar")
    near = world.known(actor, answer.json.get("similar", ()), READ)
    world.check(
        all(each.space is row.space and each.partition == row.partition for each in near), "similar elsewhere"
    )
    world.check(row not in near, "similar to itself")


def _wanted(world: World) -> tuple[Wanted, tuple[tuple[str, str], ...]]:
    wanted = Wanted()
    query: tuple[tuple[str, str], ...] = ()
    if world.chance(0.15):
        room = world.rng.choice(ROOMS)
        wanted, query = Wanted((room,)), (("partition", room),)
    draw = world.rng.random()
    if draw < 0.2:
        prefix = world.rng.choice(("plan", "plan/", "own/", "h"))
        return Wanted(wanted.rooms, prefix), (*query, ("prefix", prefix))
    if draw < 0.3:
        category = world.rng.choice(CATEGORIES)
        return Wanted(wanted.rooms, category=category), (*query, ("category", category))
    if draw < 0.4:
        tag = world.rng.choice(TAGS)
        return Wanted(wanted.rooms, tag=tag), (*query, ("tag", tag))
    return wanted, query


@step(30)
def list_entries(world: World) -> None:
    actor = world.actor()
    ref = world.place(actor, READ)
    wanted, query = _wanted(world)
    query += () if ref is None else (("space", ref),)
    limit = world.rng.choice((1, 2, 3, 100, 100))
    _list(world, actor, ref, wanted, (*query, ("limit", str(limit))), limit)


def _list(
    world: World,
    actor: Actor,
    ref: str | None,
    wanted: Wanted,
    query: tuple[tuple[str, str], ...],
    limit: int,
    begun_in: Space | None = None,
) -> None:
    """`begun_in` is where the first page was read: a name may mean another space by now."""
    answer = world.ask(actor, Request("GET", "entries", query))
    try:
        space, _, _ = world.model.enter(actor, ref, READ, writes=False)
    except Refused as refusal:
        world.refused(answer, refusal)
        return
    if begun_in not in (None, space):
        world.equal(answer.code, "invalid_field", "a cursor of another space")
        return
    world.equal(answer.status, 200, "status of a list")
    said = answer.json
    rows, more = world.model.page(actor, space, wanted, limit)
    world.rows(said["entries"], rows)
    world.equal(said["cursor"] is not None, more is not None, "whether there is a cursor")
    world.check("locked" not in said, "nothing is locked")
    if more is not None:
        plain = tuple(pair for pair in query if pair[0] != "cursor")
        told = (ref, more, limit, space)
        world.cursors = [*world.cursors[-40:], (actor, "entries", plain, said["cursor"], told)]


@step(12)
def follow_cursor(world: World) -> None:
    """A further page for the caller it was made for; nothing for another caller or another question."""
    if not world.cursors:
        return
    maker, path, query, cursor, (ref, wanted, limit, space) = world.rng.choice(world.cursors)
    further = (*query, ("cursor", cursor))
    if world.chance(0.5) and path == "entries":
        _list(world, maker, ref, wanted, further, limit, space)
        return
    actor = world.actor() if world.chance(0.8) else maker
    if actor is maker:
        if path == "trash":  # it may well be the same question
            return
        changed = (*tuple(pair for pair in further if pair[0] != "prefix"), ("prefix", world.marks.new()))
        answer = world.ask(actor, Request("GET", path, changed))
    else:
        answer = world.ask(actor, Request("GET", path, further))
    world.check(answer.status in (400, 403, 409), f"a cursor of {maker.principal} helped {actor.principal}")
    if actor is not maker:
        bare = world.ask(actor, Request("GET", path, (*query, ("cursor", cursor[:-4] + "AAAA"))))
        world.equal(answer.shown, bare.shown, "a foreign cursor and a false one")


@step(6)
def expiring(world: World) -> None:
    actor = world.actor()
    ref = world.place(actor, READ)
    wanted, query = _wanted(world)
    within = world.rng.choice((0, HOUR, DAY, 100 * DAY))
    limit = world.rng.choice((2, 100))
    query += (("expiring_within", str(within)), ("limit", str(limit)))
    query += () if ref is None else (("space", ref),)
    answer = world.ask(actor, Request("GET", "entries", query))
    try:
        space, _, _ = world.model.enter(actor, ref, READ, writes=False)
    except Refused as refusal:
        world.refused(answer, refusal)
        return
    rows, more = world.model.expiring(actor, space, wanted, within, limit)
    world.rows(answer.json["entries"], rows)
    world.equal(answer.json["cursor"] is not None, more, "whether more expires")


@step(10)
def trashed(world: World) -> None:
    actor = world.actor()
    ref = world.place(actor, READ)
    limit = world.rng.choice((2, 100))
    query = (("limit", str(limit)),) + (() if ref is None else (("space", ref),))
    answer = world.ask(actor, Request("GET", "trash", query))
    try:
        space, _, _ = world.model.enter(actor, ref, READ, writes=False)
    except Refused as refusal:
        world.refused(answer, refusal)
        return
    rows = world.model.in_trash(actor, space)
    world.rows(answer.json["entries"], rows[:limit])
    world.equal(answer.json["cursor"] is not None, len(rows) >= limit, "whether there may be more trash")
    if answer.json["cursor"] is not None:
        kept = (actor, "trash", query, answer.json["cursor"], (ref, None, limit, None))
        world.cursors = [*world.cursors[-40:], kept]


@step(3)
def locked(world: World) -> None:
    actor = world.actor()
    ref = world.place(actor, READ)
    answer = world.ask(actor, Request("GET", "locked", () if ref is None else (("space", ref),)))
    try:
        world.model.enter(actor, ref, READ, writes=False)
    except Refused as refusal:
        world.refused(answer, refusal)
        return
    world.equal(answer.json, {"ids": []}, "locked")


@step(24)
def recall(world: World) -> None:
    """By the mark of an entry, mostly: it is found by whoever may search it, and by nobody else."""
    actor = world.actor()
    row = world.row_for(actor, SEARCH) if world.chance(0.7) else world.some_row()
    if row is None:
        return
    words = world.rng.choice((row.head.text, row.head.text.split()[-1], row.head.hint or row.head.key))
    answer = world.ask(
        actor,
        Request("POST", "recall", body={"query": words, "limit": 50, "explain": world.chance(0.2)}),
        SEARCH,
    )
    try:
        among = world.model.searchable(actor)
    except Refused as refusal:
        world.refused(answer, refusal)
        return
    found = world.known(actor, answer.json["hits"], SEARCH)
    world.check(all(each in among for each in found), "a hit that is not searchable")
    if row in among and "zq" in words and len(found) < 50:
        world.check(row in found, f"recall of {words!r} does not find what it is of")


@step(8)
def recall_newest(world: World) -> None:
    actor = world.actor()
    answer = world.ask(actor, Request("POST", "recall", body={"query": "", "limit": 50}), READ)
    try:
        among = world.model.searchable(actor, READ)
    except Refused as refusal:
        world.refused(answer, refusal)
        return
    found = world.known(actor, answer.json["hits"], READ)
    if len(among) <= 50:
        world.equal({row.id for row in found}, {row.id for row in among}, "the newest")
    else:
        world.equal(len(found), 50, "how many of the newest")


@step(8)
def recall_in(world: World) -> None:
    actor = world.actor()
    ref = world.place(actor, SEARCH)
    if ref is None:
        return
    query, level = world.rng.choice((("walrus", SEARCH), ("", READ), ("?", READ), ("blue gate", SEARCH)))
    body = {"query": query, "spaces": [ref], "limit": 50}
    answer = world.ask(actor, Request("POST", "recall", body=body), level)
    try:
        space, _, _ = world.model.enter(actor, ref, level, writes=False)
    except Refused as refusal:
        world.refused(answer, refusal)
        return
    found = world.known(actor, answer.json["hits"], level)
    world.check(all(row.space is space for row in found), "a hit of another space")


UNSEEN = "There is no such entry, it lies in the trash or was removed, or you may not see it."


@step(8)
def why_not(world: World) -> None:
    actor = world.actor()
    id = world.address(actor, SEARCH)
    body = {"query": world.rng.choice(("walrus", "", "tea")), "id": id, "limit": 3}
    answer = world.ask(actor, Request("POST", "recall/why-not", body=body), MANAGE + 1)
    row = world.model.ids.get(id)
    world.equal(answer.status, 200, "status of why-not")
    stage = answer.json["stage"]
    if row is None or row.gone or not _searches(world, actor, row) or row.trashed_us is not None:
        world.equal((stage, answer.json["reason"]), ("identity", UNSEEN), "why-not of what is not theirs")
        world.check(
            not any(answer.json[name] for name in ("rank", "word_rank", "score")), "a rank of nothing"
        )
    elif row.expired(world.model.now):
        world.equal(stage, "expiry", "why-not of what has expired")
    else:
        world.check(stage not in ("identity", "expiry"), "why-not of a visible entry")


def _searches(world: World, actor: Actor, row: Row) -> bool:
    return (
        world.model.may(actor, writes=False)
        and world.model.level(actor, row.space) >= SEARCH
        and world.model.shows(actor, row)
        and row.partition in ROOMS
    )


@step(6)
def context(world: World) -> None:
    actor = world.actor()
    answer = world.ask(actor, Request("GET", "context", (("budget", "100000"),)))
    if not world.model.may(actor, writes=False):
        world.refused(answer, Refused("access_denied"))
        return
    text = answer.json["text"]
    always = world.model.applied(actor)
    if len(always) <= 25:
        for row in always:
            world.check(row.head.text.split()[-1] in text or row.head.text.split()[0] in text, "always-apply")
    lines = text.partition("Always apply:\n")[2].split("\n")
    shown = 0
    while shown < len(lines) and lines[shown].startswith("- "):
        shown += 1
    world.equal(shown, min(len(always), 25), "always-apply lines")
    files = list(world.model.live(actor, world.model.own(actor), ("files",)))
    index = text.partition("Index of files:\n")[2].partition("\nNotes and facts")[0]
    world.equal(index.count("\n- ") + index.startswith("- "), len(files), "index of files")


# Facts


@step(10)
def facts(world: World) -> None:
    """Of the caller alone, by key, by prefix, in pages."""
    actor = world.actor()
    row = world.some_row()
    key = row.head.key if row is not None and world.chance(0.6) else world.rng.choice(KEYS)
    kind = world.rng.choice(("fact", "key", "prefix", "page", "history", "query"))
    target, own = EntryName(key=key), world.model.own(actor)
    match kind:
        case "fact":
            answer = world.ask(actor, Request("GET", "memory/fact", (("key", key),)))
        case "key":
            answer = world.ask(actor, Request("POST", "memory/recall", body={"key": key}))
        case "prefix":
            answer = world.ask(actor, Request("POST", "memory/recall", body={"prefix": key[:4], "limit": 5}))
        case "page":
            answer = world.ask(actor, Request("GET", "memory/facts", (("prefix", key[:4]), ("limit", "3"))))
        case "history":
            answer = world.ask(actor, Request("GET", "memory/history", (("key", key),)))
        case _:
            answer = world.ask(actor, Request("POST", "memory/recall", body={"query": "walrus", "limit": 50}))
    if not world.model.may(actor, writes=False):
        world.refused(answer, Refused("access_denied"))
        return
    if kind in ("fact", "history"):
        try:
            found = world.model.look_up(actor, own, target, ("facts",))
        except Refused as refusal:
            world.refused(answer, refusal)
            return
        if kind == "fact":
            world.same(answer.json, found, "value")
        else:
            _history(world, answer, found, 100)
        return
    world.equal(answer.status, 200, "status of facts")
    if kind == "query":
        for each in answer.json["facts"]:
            row = world.model.ids[each["id"]]
            world.check(row.space is own and row.partition == "facts" and not row.gone, "somebody's fact")
            world.same(each, row, "value")
        return
    if kind == "key":
        rows = [row for row in world.model.live(actor, own, ("facts",)) if row.head.key == key]
        rows = sorted(rows, key=lambda row: row.owner != actor.principal)[:1]
    else:
        limit = 5 if kind == "prefix" else 3
        rows, _ = world.model.page(actor, own, Wanted(("facts",), key[:4]), limit)
    world.rows(answer.json["facts"], rows, "value")


@step(5)
def my_memory(world: World) -> None:
    actor = world.actor()
    answer = world.ask(actor, Request("GET", "memory/my-memory"))
    if not world.model.may(actor, writes=False):
        world.refused(answer, Refused("access_denied"))
        return
    keys: dict[str, list[str]] = {}
    for row in world.model.live(actor, world.model.own(actor), ("notes", "facts")):
        keys.setdefault(row.head.category or "uncategorized", []).append(row.head.key)
    expected = [
        {"name": name, "count": len(keys[name]), "recent_keys": keys[name][:5]} for name in sorted(keys)
    ]
    world.equal(answer.json["categories"], expected, "my memory")


# Changing


@step(24)
def edit(world: World) -> None:
    actor = world.actor()
    target, path, said = _named(world, actor, READWRITE)
    changes = Changes(
        text=world.text() if world.chance(0.5) else None,
        hint=f"about {world.marks.new()}" if world.chance(0.2) else None,
        category=_category(world, 0.2),
        tags=_tags(world, 0.2),
        ttl=_ttl(world, 0.25),
        always=world.chance(0.6) if world.chance(0.1) else None,
    )
    if changes.ttl is None and world.chance(0.1):
        changes = Changes(no_expiry=True)
    body = {
        "text": changes.text,
        "hint": changes.hint,
        "category": changes.category,
        "tags": None if changes.tags is None else list(changes.tags),
        "ttl_seconds": changes.ttl,
        "no_expiry": True if changes.no_expiry else None,
        "always_inject": changes.always,
    }
    body = {name: value for name, value in body.items() if value is not None}
    expected, headers = _expected(world, target)
    request = Request("PATCH", path, body=body | said, headers=_repeatable(world, headers))
    world.write(
        actor,
        request,
        lambda _: world.model.edit(actor, target, changes, expected),
        world.show_row,
        lambda: _bound("edit", body, target, expected),
    )


@step(6)
def renew(world: World) -> None:
    actor = world.actor()
    target, path, said = _named(world, actor, READWRITE)
    ttl = _ttl(world, 0.5)
    body = {} if ttl is None else {"ttl_seconds": ttl}
    expected, headers = _expected(world, target)
    request = Request("POST", f"{path}/renew", body={**body, **said}, headers=_repeatable(world, headers))
    world.write(
        actor,
        request,
        lambda _: world.model.renew(actor, target, ttl, expected),
        world.show_row,
        lambda: _bound("renew", body, target, expected),
    )


@step(6)
def replace(world: World) -> None:
    actor = world.actor()
    target, path, said = _named(world, actor, READWRITE)
    old, new = world.rng.choice(("walrus", "tea", "the", "absent")), f"tea {world.marks.new()}"
    expected, headers = _expected(world, target)
    body = {"old": old, "new": new}
    request = Request("POST", f"{path}/replace", body={**body, **said}, headers=_repeatable(world, headers))

    def show(answer: Answer, result: tuple[Row, int]) -> Row:
        row, occurrences = result
        world.adopt(row, row.id)
        world.same(answer.json["entry"], row)
        world.equal(answer.json["occurrences"], occurrences, "occurrences")
        return row

    world.write(
        actor,
        request,
        lambda _: world.model.replace(actor, target, old, new, expected),
        show,
        lambda: _bound("replace", body, target, expected),
    )


@step(12)
def rename(world: World) -> None:
    actor = world.actor()
    target, path, said = _named(world, actor, READWRITE)
    key = world.key()
    to = world.place(actor) if world.chance(0.5) else None
    body = {"new_key": key} | ({} if to is None else {"to_space": to})
    expected, headers = _expected(world, target)
    request = Request("POST", f"{path}/rename", body={**body, **said}, headers=_repeatable(world, headers))
    world.write(
        actor,
        request,
        lambda _: world.model.rename(actor, target, key, to, expected),
        world.show_row,
        lambda: _bound("rename", body, target, expected),
    )


@step(10)
def undo(world: World) -> None:
    actor = world.actor()
    target, path, said = _named(world, actor, READWRITE)
    to = world.rng.randrange(4) if world.chance(0.4) else None
    body = {} if to is None else {"to_revision": to}
    expected, headers = _expected(world, target)
    request = Request("POST", f"{path}/undo", body={**body, **said}, headers=_repeatable(world, headers))
    world.write(
        actor,
        request,
        lambda _: world.model.undo(actor, target, to, expected),
        world.show_row,
        lambda: _bound("undo", body, target, expected),
    )


# Removing


@step(16)
def trash(world: World) -> None:
    actor = world.actor()
    target, path, said = _named(world, actor, READWRITE)
    expected, headers = _expected(world, target)
    request = Request("DELETE", path, tuple(said.items()), headers=_repeatable(world, headers))
    world.write(
        actor,
        request,
        lambda _: world.model.trash(actor, target, expected),
        world.show_row,
        lambda: _bound("trash", {}, target, expected),
    )


@step(16)
def purge(world: World) -> None:
    actor = world.actor()
    target, path, said = _named(world, actor, READWRITE)
    expected, headers = _expected(world, target)
    query = (*said.items(), ("purge", "true"))
    request = Request("DELETE", path, query, headers=_repeatable(world, headers))
    world.write(
        actor,
        request,
        lambda _: world.model.purge(actor, target, expected),
        lambda answer, deleted: world.equal(answer.json, {"deleted": deleted}, "purged"),
        lambda: _bound("purge", {}, target, expected),
    )


@step(10)
def restore(world: World) -> None:
    actor = world.actor()
    target, path, said = _named(world, actor, READWRITE)
    trash = [row for row in world.model.rows if row.trashed_us is not None]
    if trash and world.chance(0.7):
        target, path, said = EntryName(id=(id := world.rng.choice(trash).id)), f"entries/{id}", {}
    request = Request("POST", f"{path}/restore", body=dict(said), headers=_repeatable(world, {}))
    world.write(
        actor,
        request,
        lambda _: world.model.restore(actor, target),
        world.show_row,
        lambda: _bound("restore", {}, target, None),
    )


@step(8)
def forget(world: World) -> None:
    actor = world.actor()
    surface = world.rng.choice(("forget", "memory/forget"))
    rooms: tuple[str, ...] = ROOMS if surface == "forget" else ("facts",)
    row = world.some_row()
    if world.chance(0.5):
        target, rooms = EntryName(id=world.address(actor, READWRITE)), EVERY_ROOM
        scope = f"id:{target.id}"
    else:
        target = EntryName(
            key=row.head.key if row is not None and world.chance(0.6) else world.rng.choice(KEYS)
        )
        scope = f"key:{target.key}"
    request = Request("POST", surface, body={"scope": scope}, headers=_repeatable(world, {}))

    def show(answer: Answer, deleted: int) -> None:
        expected = {"scope": scope, "deleted": deleted, "kept_elsewhere": 0, "persisted": True}
        world.equal(answer.json, expected, "forgotten")

    world.write(
        actor,
        request,
        lambda _: world.model.forget(actor, target, rooms),
        show,
        lambda: (surface, scope),
    )


@step(2)
def forget_all(world: World) -> None:
    actor = world.actor()
    if world.chance(0.5):
        scope = world.rng.choice(("packs", "pipelines", "pack:x", "everything", ""))
        answer = world.ask(actor, Request("POST", "forget", body={"scope": scope}))
        if scope in ("everything", ""):
            world.refused(answer, Refused("invalid_scope"))
        else:
            world.equal((answer.status, answer.json["deleted"]), (200, 0), "forgotten runs")
        return
    answer = world.ask(actor, Request("POST", "forget", body={"scope": "all"}))
    world.equal(answer.status, 200, "status of forgetting all")
    deleted, elsewhere = world.model.forget_all(actor)
    world.equal((answer.json["deleted"], answer.json["kept_elsewhere"]), (deleted, elsewhere), "forgotten")


# Sharing


@step(26)
def share(world: World) -> None:
    actor = world.actor()
    ref = world.place(actor, MANAGE if world.chance(0.5) else READWRITE)
    given = [name for name, grant in world.model.grants.items() if grant.level >= READWRITE]
    if given and world.chance(0.3):  # on to others
        space, holder, _ = world.rng.choice(given)
        actor = next(each for each in ACTORS if each.principal == holder)
        ref = space.id
    grantee = world.actor().principal
    level = world.rng.choice(LEVELS[1:]) if world.chance(0.98) else "everything"
    ttl = world.rng.choice((60, HOUR, DAY, 20 * DAY)) if world.chance(0.5) else None
    body = {"level": level} | ({} if ttl is None else {"ttl_seconds": ttl})
    request = Request(
        "PUT", f"spaces/{quote(ref or '~', safe='')}/grants/{quote(grantee, safe='')}", body=body,
        headers=_repeatable(world, {}),
    )  # fmt: skip

    def show(answer: Answer, given: Given) -> None:
        said = answer.json
        found = said["grantee"], said["level"], said["granted_by"], said["expires_at"]
        expected = grantee, level, actor.principal, moment(given.expires_us)
        world.equal(found, expected, "grant")

    world.write(
        actor,
        request,
        lambda _: world.model.share(actor, ref, grantee, level, ttl),
        show,
        lambda: ("share", ref, grantee, tuple(sorted(body.items()))),
    )


@step(7)
def unshare(world: World) -> None:
    actor, ref = world.actor(), None
    grantee = world.actor().principal
    if world.model.grants and world.chance(0.8):
        space, grantee, giver = world.rng.choice(list(world.model.grants))
        givers = [each for each in ACTORS if each.principal in (giver, space.owner)]
        actor = world.rng.choice(givers) if world.chance(0.7) else actor
        ref = world.ref_of(actor, space)
    else:
        ref = world.place(actor)
    request = Request(
        "DELETE", f"spaces/{quote(ref or '~', safe='')}/grants/{quote(grantee, safe='')}",
        headers=_repeatable(world, {}),
    )  # fmt: skip
    world.write(
        actor,
        request,
        lambda _: world.model.unshare(actor, ref, grantee),
        lambda answer, done: world.equal(
            answer.json, {"revoked": done[0], "cascaded": done[1]}, "grants taken back"
        ),
        lambda: ("unshare", ref, grantee),
    )


@step(8)
def grants(world: World) -> None:
    actor = world.actor()
    ref = world.place(actor)
    answer = world.ask(actor, Request("GET", f"spaces/{quote(ref or '~', safe='')}/grants"))
    try:
        expected = world.model.granted(actor, ref)
    except Refused as refusal:
        world.refused(answer, refusal)
        return
    said = [
        (each["grantee"], each["granted_by"], each["level"], each["expires_at"])
        for each in answer.json["grants"]
    ]
    world.equal(
        sorted(said, key=repr), sorted(((*one[:3], moment(one[3])) for one in expected), key=repr), "grants"
    )


@step(10)
def spaces(world: World) -> None:
    actor = world.actor()
    answer = world.ask(actor, Request("GET", "spaces"))
    said = [
        (each["id"], each["kind"], each["ref"], each["level"], each["source"])
        for each in answer.json["spaces"]
    ]
    world.equal(sorted(said), sorted(world.model.enterable(actor)), "spaces")


@step(3)
def create_space(world: World) -> None:
    actor = world.actor()
    ref = world.rng.choice(SHARED_REFS)

    def show(answer: Answer, space: Space) -> None:
        found = answer.json["kind"], answer.json["ref"], answer.json["level"], answer.json["source"]
        world.equal(found, ("shared", space.ref, "manage", "self"), "space")

    world.write(
        actor,
        Request("POST", "spaces", body={"ref": ref}),
        lambda answer: lambda: world.model.create_space(actor, ref)(answer.json.get("id", "")),
        show,
    )


@step(5)
def index(world: World) -> None:
    """How much waits of the caller's own, never of others'."""
    actor = world.actor()
    answer = world.ask(actor, Request("GET", "index"))
    world.equal(answer.status, 200, "status of the index")
    if world.still:
        own = world.model.own(actor)
        waiting = [
            row
            for row in world.model.rows
            if row.trashed_us is None
            and row.partition != "internal"
            and (actor.is_admin or (row.space is own and world.model.sees_own(actor, row)))
        ]
        world.equal(answer.json["pending"], len(waiting), "what waits for its vector")


# Administration


def _administrator(world: World) -> Actor:
    return GUS if world.chance(0.75) else world.actor()


@step(4)
def set_participants(world: World) -> None:
    actor = _administrator(world)
    chat = "room" if world.chance(0.9) else world.rng.choice(CHATS)
    names = sorted({world.actor().principal for _ in range(world.rng.randrange(5))})
    answer = world.ask(actor, Request("PUT", f"chats/{chat}/participants", body=names))
    _list_set(world, actor, answer, "chat", chat, dict.fromkeys(names, READWRITE))


@step(4)
def set_access(world: World) -> None:
    actor = _administrator(world)
    system = "plant" if world.chance(0.9) else world.rng.choice(SYSTEMS)
    names = [*(each.principal for each in ACTORS), "team:platform", "team:nobody"]
    access = {
        world.rng.choice(names): world.rng.choice(("read", "manage")) for _ in range(world.rng.randrange(4))
    }
    answer = world.ask(actor, Request("PUT", f"systems/{system}/access", body=access))
    levels = {name: MANAGE if level == "manage" else READWRITE for name, level in access.items()}
    _list_set(world, actor, answer, "system", system, levels)


def _list_set(
    world: World, actor: Actor, answer: Answer, kind: str, ref: str, members: dict[str, int]
) -> None:
    try:
        world.model.require_admin(actor)
    except Refused as refusal:
        world.refused(answer, refusal)
        return
    world.equal(answer.json, {"changed": len(members)}, "list of access")
    space = next(each for each in world.model.spaces if (each.kind, each.ref) == (kind, ref))
    space.members = members


@step(4)
def set_rules(world: World) -> None:
    actor = _administrator(world)
    role = world.rng.choice(ROLES)
    on = world.rng.choice(((True, True), (True, False), (False, True), (False, True), (False, False)))
    if role == "member" and world.chance(0.7):
        on = True, True
    body = {"ai.memory.read": on[0], "ai.memory.manage": on[1]}
    answer = world.ask(actor, Request("PUT", f"rules/{role}", body=body))
    try:
        world.model.require_admin(actor)
    except Refused as refusal:
        world.refused(answer, refusal)
        return
    world.equal(answer.json, {"done": True}, "rules")
    world.model.rules[role] = on


@step(5)
def lift_rules(world: World) -> None:
    for role in world.model.rules:
        answer = world.ask(GUS, Request("PUT", f"rules/{role}", body={}))
        world.equal(answer.status, 200, "rules")
        world.model.rules[role] = True, True


@step(4)
def stats(world: World) -> None:
    actor = _administrator(world)
    answer = world.ask(actor, Request("GET", "admin/stats"))
    try:
        world.model.require_admin(actor)
    except Refused as refusal:
        world.refused(answer, refusal)
        return
    counts = answer.json["spaces"], answer.json["entries"]
    world.equal(counts, (len(world.model.spaces), len(world.model.rows)), "stats")


@step(3)
def audit(world: World) -> None:
    actor = _administrator(world)
    answer = world.ask(actor, Request("GET", "audit", (("after", "0"), ("limit", "20"))), MANAGE + 1)
    if not actor.is_admin:
        world.refused(answer, Refused("access_denied"))
        return
    world.equal(answer.status, 200, "status of the audit log")


# Time


@step(16)
def time_passes(world: World) -> None:
    seconds = world.rng.choice((1, 30, 30, 300, HOUR, HOUR, 6 * HOUR, DAY))
    if world.chance(0.03):
        seconds = 31 * DAY
    world.model.now = world.clock.advance(seconds=seconds)


@step(3)
def sweep(world: World) -> None:
    swept = world.memory.sweep()
    world.equal((swept.expired, swept.trash, swept.grants), world.model.sweep(), "swept")
