"""Twins: the same request once about what is there but not the caller's, once about what is nowhere. Status, headers
and every byte must be equal, whatever the owner does meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import quote

from tests.isolation.actors import Actor
from tests.isolation.calling import Answer, Request
from tests.isolation.model import SEARCH, Row
from tests.isolation.steps import step
from tests.isolation.world import World

HIDDEN = b"<what was asked for>"
MALFORMED = ("nonsense", "not/an/id", "\u00e4", "00000000-0000-0000-0000-000000000000", "x" * 300)


def _on_entry(world: World, revision: int) -> Iterator[Callable[[str], Request]]:
    """Everything that can be asked about an id."""
    tags = {}
    if world.chance(0.5):
        tags["if-match"] = world.rng.choice((f'"{revision}"', '"77"', "*", "nonsense"))
    seen = {"if-none-match": f'"{revision}"'} if world.chance(0.5) else {}
    repeats, sent_before = world.chance(0.2), world.sent
    text = world.marks.new()

    def again(id: str) -> dict[str, str]:
        return {"idempotency-key": f"probe-{sent_before}-{len(id)}{id[-6:]!a}"} if repeats else {}

    def on(
        method: str, tail: str = "", *, body: object = None, headers: dict[str, str] | None = None
    ) -> Callable[[str], Request]:
        query = (("purge", "true"),) if tail == "?" else ()
        end = "" if tail == "?" else tail
        given = headers or {}

        def ask(id: str) -> Request:
            sent = given if method == "GET" else {**given, **again(id)}
            return Request(method, f"entries/{quote(id, safe='')}{end}", query, body, sent)

        return ask

    yield on("GET", headers=seen)
    yield lambda id: Request("GET", "entry", (("id", id),), headers=seen)
    yield lambda id: Request("GET", f"entries/{quote(id, safe='')}", (("in_context", "false"),), headers=seen)
    yield on("GET", "/history")
    yield on("GET", "/similar")
    yield on("PATCH", body={"text": text}, headers=tags)
    yield on("PATCH", body={"always_inject": True}, headers=tags)
    yield on("DELETE", headers=tags)
    yield on("DELETE", "?", headers=tags)
    yield on("POST", "/undo", body={}, headers=tags)
    yield on("POST", "/renew", body={"ttl_seconds": 60}, headers=tags)
    yield on("POST", "/replace", body={"old": "a", "new": "b"}, headers=tags)
    yield on("POST", "/rename", body={"new_key": text}, headers=tags)
    yield on("POST", "/rename", body={"new_key": text, "to_space": "user:nobody"}, headers=tags)
    yield on("POST", "/restore", body={})
    yield lambda id: Request("POST", "recall/why-not", body={"query": "walrus", "id": id})
    yield lambda id: Request("POST", "forget", body={"scope": f"id:{id}"}, headers=again(id))
    yield lambda id: Request("POST", "memory/forget", body={"scope": f"id:{id}"}, headers=again(id))
    yield lambda id: Request(
        "POST", "remember", body={"text": text, "key": "never", "supersedes": id}, headers=again(id)
    )
    yield lambda id: Request(
        "POST", "remember/batch", body={"entries": [{"text": text, "key": "never", "supersedes": id}]}
    )


def _hidden(world: World, actor: Actor, row: Row) -> bool:
    """Whether nothing about this entry may show; who may search its space may find it, and may learn why not."""
    return world.model.level(actor, row.space) < SEARCH


@step(40)
def probe_entry(world: World) -> None:
    actor = world.actor()
    pool = list(world.model.ids.values()) if world.chance(0.3) else world.model.rows
    hidden = [row for row in world.rng.sample(pool, min(12, len(pool))) if _hidden(world, actor, row)]
    if not hidden:
        return
    row = world.rng.choice(hidden)
    ask = world.rng.choice(list(_on_entry(world, row.revision)))
    other = world.rng.choice(MALFORMED) if world.chance(0.25) else world.unknown_id()
    _equal(world, actor, ask, row.id, other, f"an entry in {row.space}")


@step(8)
def probe_searched(world: World) -> None:
    """Who may search finds, but by id there is nothing to be had."""
    actor = world.actor()
    rows = [
        row
        for row in world.model.rows
        if world.model.level(actor, row.space) == SEARCH and world.model.may(actor, writes=False)
    ]
    if not rows:
        return
    row = world.rng.choice(rows)
    asked = [ask for ask in _on_entry(world, row.revision) if ask(row.id).path != "recall/why-not"]
    ask = world.rng.choice(asked)
    other = world.unknown_id(row.space) if world.chance(0.5) else world.unknown_id()
    _equal(world, actor, ask, row.id, other, f"an entry in {row.space}, which may be searched")


@step(8)
def probe_private(world: World) -> None:
    """A private row in a space one may otherwise read is like a number that nothing has."""
    rows = [
        row
        for row in world.model.rows
        if row.partition in ("files", "assistant") and row.space.kind == "user"
    ]
    if not rows:
        return
    row = world.rng.choice(rows)
    actor = world.someone(
        lambda each: each.principal != row.owner and world.model.level(each, row.space) >= SEARCH
    )
    if actor is None:
        return
    ask = world.rng.choice(list(_on_entry(world, row.revision)))
    _equal(world, actor, ask, row.id, world.unknown_id(row.space), f"a private row in {row.space}")


def _on_space(world: World) -> Iterator[Callable[[str], Request]]:
    """Everything that can be asked about a space."""
    text = world.marks.new()
    key = world.rng.choice(("plan", "first", "home"))

    def at(ref: str) -> tuple[tuple[str, str], ...]:
        return (("space", ref),)

    yield lambda ref: Request("GET", "entries", at(ref))
    yield lambda ref: Request("GET", "entries", (*at(ref), ("expiring_within", "60")))
    yield lambda ref: Request("GET", "entries", (*at(ref), ("cursor", "AAAA")))
    yield lambda ref: Request("GET", "entries", (*at(ref), ("limit", "0")))
    yield lambda ref: Request("GET", "trash", at(ref))
    yield lambda ref: Request("GET", "locked", at(ref))
    yield lambda ref: Request("GET", "entry", (*at(ref), ("key", key)))
    yield lambda ref: Request("GET", "entry/history", (*at(ref), ("key", key)))
    yield lambda ref: Request("GET", "entry/similar", (*at(ref), ("key", key)))
    yield lambda ref: Request("PATCH", "entry", body={"space": ref, "key": key, "text": text})
    yield lambda ref: Request("DELETE", "entry", (*at(ref), ("key", key)))
    yield lambda ref: Request("DELETE", "entry", (*at(ref), ("key", key), ("purge", "true")))
    for verb in ("undo", "renew", "restore"):
        yield lambda ref, verb=verb: Request("POST", f"entry/{verb}", body={"space": ref, "key": key})  # type: ignore[misc]
    yield lambda ref: Request("POST", "entry/rename", body={"space": ref, "key": key, "new_key": text})
    yield lambda ref: Request("POST", "entry/rename", body={"to_space": ref, "key": "first", "new_key": text})
    yield lambda ref: Request("POST", "recall", body={"query": "walrus", "spaces": [ref]})
    yield lambda ref: Request("POST", "recall", body={"query": "", "spaces": [ref]})
    yield lambda ref: Request("POST", "remember", body={"space": ref, "key": key, "text": text})
    yield lambda ref: Request(
        "POST", "remember", body={"space": ref, "key": key, "text": text, "ttl_seconds": 0}
    )
    yield lambda ref: Request("POST", "remember/batch", body={"entries": [{"space": ref, "text": text}]})
    yield lambda ref: Request("GET", f"spaces/{quote(ref, safe='')}/grants")
    yield lambda ref: Request("PUT", f"spaces/{quote(ref, safe='')}/grants/user:bob", body={"level": "read"})
    yield lambda ref: Request("PUT", f"spaces/{quote(ref, safe='')}/grants/user:", body={"level": "no"})
    yield lambda ref: Request("DELETE", f"spaces/{quote(ref, safe='')}/grants/user:bob")


@step(30)
def probe_space(world: World) -> None:
    actor = world.actor()
    closed = sorted(world.model.blind(actor), key=str)
    if not closed:
        return
    space = world.rng.choice(closed)
    ask = world.rng.choice(list(_on_space(world)))
    draw = world.rng.random()
    if draw < 0.5:
        pair = space.id, world.unknown_id()[:-8] + "00000000"
    else:
        pair = f"{space.kind}:{space.ref}", f"{space.kind}:nobody-{world.sent}"
        if any(one not in closed for one in world.model.meant(actor, pair[0])):
            return
    _equal(world, actor, ask, *pair, str(space))


def _equal(
    world: World, actor: Actor, ask: Callable[[str], Request], real: str, none: str, what: str
) -> None:
    """Asked in either order, for the first answer may be cached."""
    before = world.model.seq
    first, second = (real, none) if world.chance(0.5) else (none, real)
    answers = {each: world.ask(actor, ask(each)) for each in (first, second)}
    if _veiled(answers[real], real) != _veiled(answers[none], none):
        world.check(False, f"{actor.principal} can tell {what} ({real}) from nothing ({none}) by {ask(real)}")
    world.equal(world.model.seq, before, "nothing was to be written")
    if answers[real].status == 200 and ask(real).method != "GET":
        told = answers[real].json
        world.check(
            told.get("deleted") == 0 or told.get("stage") == "identity" or "error" in str(told),
            f"a write about nothing was done: {ask(real)}",
        )


def _veiled(answer: Answer, asked: str) -> object:
    """What the caller said themselves may be said back to them."""
    status, headers, body = answer.shown
    lasting = tuple(each for each in headers if each[0] != "content-length")
    return status, lasting, body.replace(asked.encode(), HIDDEN)


# Looking on while somebody else writes


def _looks(world: World, actor: Actor, row: Row | None) -> list[Request]:
    looks = [
        Request("GET", "spaces"),
        Request("GET", "entries"),
        Request("GET", "trash"),
        Request("GET", "locked"),
        Request("GET", "context"),
        Request("GET", "memory/my-memory"),
        Request("GET", "memory/facts"),
        Request("GET", "memory/defaults"),
        Request("POST", "corpus/query", body={"limit": 50}),
        Request("GET", "spaces/~/grants"),
        Request("POST", "recall", body={"query": ""}),
    ]
    if world.still:  # else a vector may come between
        looks += [
            Request("POST", "recall", body={"query": "walrus tea deploy", "explain": True}),
            Request("POST", "memory/recall", body={"query": "walrus"}),
            Request("POST", "corpus/query", body={"query": "walrus tea", "limit": 50}),
        ]
    if not actor.is_admin:
        looks += [Request("GET", "admin/stats"), Request("GET", "audit")]
        looks += [Request("GET", "index")] if world.still else []
    if row is not None and _hidden(world, actor, row):
        looks += [ask(row.id) for ask in _on_entry(world, row.revision) if ask(row.id).method == "GET"]
        looks.append(Request("GET", "entry", (("key", row.head.key), ("space", row.space.id))))
    return looks


class Onlooker:
    """Somebody who asks the same before and after a step of another: where they have no standing, nothing that happens
    may change their answer."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._actor = world.actor()
        model = world.model
        self._before = self._circumstances()
        self._request = world.rng.choice(_looks(world, self._actor, world.some_row()))
        self._answer = world.ask(self._actor, self._request, SEARCH)
        model.touched.clear()

    def _circumstances(self) -> object:
        model, actor = self._world.model, self._actor
        standing = {space: model.standing(actor, space) for space in model.spaces}
        return model.now, standing, [model.may(actor, writes=writes) for writes in (False, True)]

    def look_again(self) -> None:
        world, model = self._world, self._world.model
        if self._circumstances() != self._before or not all(
            model.hidden(self._actor, changed) for changed in model.touched
        ):
            return
        again = world.ask(self._actor, self._request, SEARCH)
        world.seen["looked on"] += 1
        if again.shown != self._answer.shown:
            where = ", ".join(map(str, model.touched)) or "nowhere"
            world.check(
                False,
                f"{self._actor.principal} noticed a write of another in {where} by {self._request}: "
                f"{self._answer} became {again}",
            )

    def _own_was_touched(self) -> bool:
        own = self._world.model.own(self._actor)
        return any(isinstance(each, Row) and each.space is own for each in self._world.model.touched)
