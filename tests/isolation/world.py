"""The server under test beside its model: every request is answered by both, and every answer is searched for what its
caller may not see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from holdfast.domain.principal import Caller as EngineCaller
from holdfast.domain.principal import parse_grantee
from holdfast.domain.profile import ASSISTANT
from holdfast.entrypoints.python.memory import Memory
from holdfast.operations.notes import NoteInput as EngineDraft
from holdfast.operations.remember import remember as engine_remember
from holdfast.operations.session import Session
from tests.isolation import markers
from tests.isolation.actors import ACTORS, ADA, BOB, CHATS, CYD, EVE, GUS, SYSTEMS, Actor
from tests.isolation.calling import Answer, Caller, Request
from tests.isolation.model import (
    MANAGE,
    READ,
    READWRITE,
    RECEIPT_US,
    Kept,
    Model,
    NoteInput,
    Receipt,
    Refused,
    Row,
    Space,
    State,
)
from tests.support import FixedClock

T = TypeVar("T")

STATUS = {
    "access_denied": 403,
    "not_found": 404,
    "conflict": 409,
    "precondition_failed": 412,
    "invalid_field": 400,
    "invalid_name": 400,
    "invalid_type": 400,
    "invalid_level": 400,
    "invalid_scope": 400,
    "ttl_too_short": 400,
    "edit_no_match": 400,
}
TEMPLATES = (
    "the nightly deploy goes through the blue gate at the harbour {}",
    "invoices of the northern branch wait for a signature {}",
    "walrus {}",
    "{} prefers tea over coffee in the morning",
)
KEYS = ("plan", "plan/one", "plan/two", "home", "note")
"""Names that everybody uses."""
CATEGORIES = ("work", "play")
TAGS = ("red", "blue")


class Leak(AssertionError):
    """Somebody was shown what they may not see, or the server and the model differ."""


class World:
    def __init__(self, caller: Caller, memory: Memory, clock: FixedClock, *, still: bool) -> None:
        self.model = Model(clock.now)
        self.marks = markers.Marks()
        self.clock = clock
        self.memory = memory
        self.still = still
        """Whether nothing happens in the background, so that equal questions have equal answers."""
        self.sent = 0
        self.trace: list[str] = []
        """What was said in this step."""
        self.cursors: list[tuple[Actor, str, tuple[tuple[str, str], ...], str, Any]] = []
        self.repeatable: list[Callable[[], None]] = []
        """Writes with an idempotency key, to be said again."""
        self.seen: Counter[str] = Counter()
        """What came about how often, to see that a run was not idle."""
        self.rng = Random(0)
        self._caller = caller
        self._tokens = {actor.principal: actor.token() for actor in ACTORS}
        self._suspects: list[tuple[Actor, int, bytes, str]] = []
        self._set_up()

    # Asking

    def ask(self, actor: Actor, request: Request, needed: int = READ) -> Answer:
        """Sends a request and looks through the answer; `needed` is the level at which it may show entries."""
        self.sent += 1
        if actor.kind == "service" and "holdfast-run" not in request.headers:
            headers = {**request.headers, "holdfast-run": f"run-{self.sent}"}
            request = Request(request.method, request.path, request.query, request.body, headers)
        answer = self._caller.send(self._tokens[actor.principal], request)
        self.trace.append(f"{actor.principal}: {request}\n    -> {answer}")
        self.check(answer.status < 500, f"the server failed: {answer}")
        self._look_through(actor, request, answer, needed)
        return answer

    def _look_through(self, actor: Actor, request: Request, answer: Answer, needed: int) -> None:
        """Whatever the caller did not say themselves must be theirs to see, before the request or after it."""
        shown = answer.body + repr(answer.headers).encode()
        said = f"{request.target} {request.headers}".encode() + request.content
        for mark in filter(self.marks.was_made, markers.in_bytes(shown) - markers.in_bytes(said)):
            if not any(self.model.sees(actor, row, needed) for row in self.marks.where(mark)):
                self._suspects.append((actor, needed, mark, str(request)))
        for found in set(markers.IDS.findall(shown)) - set(markers.IDS.findall(said)):
            id = found.decode()
            row = self.model.ids.get(id)
            if row is not None and not self.model.knows_of(actor, row, needed):
                self._suspects.append((actor, needed, found, str(request)))
            space = next((each for each in self.model.spaces if each.id == id), None)
            if space is not None and not self.model.standing(actor, space):
                self._suspects.append((actor, needed, found, str(request)))

    def look_again(self) -> None:
        """What became visible by the request itself may be in its answer."""
        for actor, needed, mark, request in self._suspects:
            is_id = markers.IDS.fullmatch(mark) is not None
            known = self.model.ids.get(mark.decode())
            rows = self.marks.where(mark) if known is None else [known]
            allowed = self.model.knows_of if is_id else self.model.sees
            if not any(allowed(actor, row, needed) for row in rows):
                where = " and ".join(map(str, rows)) or "no entry"
                raise Leak(
                    f"{actor.principal} was shown {mark.decode()}, which lies in {where}, by {request}"
                )
        self._suspects.clear()

    def check(self, condition: object, message: str) -> None:
        if not condition:
            raise Leak(message)

    def equal(self, found: object, expected: object, what: str) -> None:
        if found != expected:
            raise Leak(f"{what}: the server says {found!r}, the model {expected!r}")

    def refused(self, answer: Answer, refusal: Refused) -> None:
        code = refusal.also if answer.code == refusal.also else refusal.code
        self.equal(answer.code, code, "refusal")
        self.equal(answer.status, STATUS[code], f"status of {code}")

    def write(
        self,
        actor: Actor,
        request: Request,
        prepare: Callable[[Answer], Callable[[], T]],
        show: Callable[[Answer, T], Row | None],
        asked: Callable[[], object] = tuple,
    ) -> None:
        """A write, said to both. `show` compares the answers and says which entry they are about; `asked` is what an
        idempotency key is bound to."""
        key = request.headers.get("idempotency-key")
        if key is not None:
            self.repeatable = [
                *self.repeatable[-30:],
                lambda: self.write(actor, request, prepare, show, asked),
            ]
        answer = self.ask(actor, request)
        receipt = None if key is None else self.model.receipts.get((actor.principal, key))
        if receipt is not None and receipt.at_us < self.model.now - RECEIPT_US:
            receipt = None
        repeats = receipt is not None and receipt.request == asked()
        try:
            try:
                job = prepare(answer)
            except Refused as refusal:
                # Who may no longer do it is not told again what came of it; what was done already is.
                if receipt is not None and not repeats:
                    raise Refused(refusal.code, "conflict") from None
                if receipt is None or refusal.code in ("access_denied", "not_found"):
                    raise
            if receipt is not None:
                if not repeats:
                    raise Refused("conflict")
                self.equal(answer.status, 200, "status of a repeated request")
                self.equal(_lasting(answer), receipt.body, "answer to a repeated request")
                self.seen["repeated"] += 1
                if receipt.row is not None and (receipt.moved or receipt.row.expired(self.model.now)):
                    # A day long an answer is given again, even if its entry has expired, or its owner's was moved.
                    self._suspects.clear()
                return
            result = job()
        except Refused as refusal:
            self.refused(answer, refusal)
            return
        self.equal(answer.status, 200, f"status ({answer})")
        row = show(answer, result)
        if key is not None:
            self.model.receipts[actor.principal, key] = Receipt(
                asked(), self.model.now, _lasting(answer), row
            )

    def count(self, what: str) -> None:
        """Notes how the first request of a step ended."""
        first = next((line for line in self.trace if "\n    -> " in line), "\n    -> nothing ")
        self.seen[f"{what} {first.split(chr(10) + '    -> ')[1][:3]}"] += 1

    # Comparing

    def show_row(self, answer: Answer, row: Row) -> Row:
        """A single entry as answer, its tag included."""
        said = answer.json
        self.adopt(row, said["id"])
        self.same(said, row)
        self.equal(answer.etag, f'"{row.revision}"', "ETag")
        return row

    def adopt(self, row: Row, id: str) -> None:
        """A new entry gets the id the server gave it."""
        if not row.id:
            self.check(id not in self.model.ids, f"the id {id} was given twice")
            row.id = id
            self.model.ids[id] = row
            self.check(id[:-8] == row.space.id[:-8], f"{id} is no id of {row.space}")
            self.marks.lie_in(row, row.states)
        else:
            self.marks.lie_in(row, row.states[-1:])

    def same(self, said: dict[str, Any], row: Row, value: str = "text") -> None:
        head = row.head
        expected = {
            "id": row.id,
            "space": row.space.id,
            "owner": row.owner,
            "partition": row.partition,
            "revision": row.revision,
            "key": head.key,
            value: head.text,
            "hint": head.hint,
            "category": head.category,
            "tags": list(head.tags),
            "speaker": head.speaker,
            "always_inject": head.always,
            "in_context": row.partition != "internal",
            "created_at": moment(row.created_us),
            "updated_at": moment(head.at_us),
            "expires_at": moment(head.expires_us),
        }
        if row.trashed_us is not None:
            expected["trashed_at"] = moment(row.trashed_us)
        self.equal({name: said.get(name) for name in expected}, expected, "entry")
        self.equal("trashed_at" in said, row.trashed_us is not None, "trashed")

    def rows(self, said: Iterable[dict[str, Any]], expected: list[Row], value: str = "text") -> None:
        said = list(said)
        self.equal([each["id"] for each in said], [row.id for row in expected], "entries in order")
        for each, row in zip(said, expected, strict=True):
            self.same(each, row, value)

    def known(self, actor: Actor, said: Iterable[dict[str, Any]], needed: int) -> list[Row]:
        """Entries that a search showed: each must be visible and as the model has it."""
        found = []
        for each in said:
            row = self.model.ids.get(each["id"])
            if row is None or not self.model.sees(actor, row, needed) or row.trashed_us is not None:
                raise Leak(f"{actor.principal} was shown {each['id']}, which is not theirs to find")
            self.same(each, row)
            found.append(row)
        self.equal(len({row.id for row in found}), len(found), "entries shown once")
        return found

    # Drawing

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def actor(self) -> Actor:
        return self.rng.choice(ACTORS)

    def someone(self, fits: Callable[[Actor], bool]) -> Actor | None:
        fitting = [actor for actor in ACTORS if fits(actor)]
        return self.rng.choice(fitting) if fitting else None

    def text(self) -> str:
        return self.rng.choice(TEMPLATES).format(self.marks.new())

    def key(self) -> str:
        if self.chance(0.75):
            return self.rng.choice(KEYS)
        return f"{self.rng.choice(('own', 'plan'))}/{self.marks.new()}"

    def some_row(self) -> Row | None:
        return self.rng.choice(self.model.rows) if self.model.rows else None

    def row_for(self, actor: Actor, level: int) -> Row | None:
        """An entry that the caller may reach at this level, if there is one."""
        for _ in range(6):
            row = self.some_row()
            if row is not None and self.model.sees(actor, row, level):
                return row
        return self.some_row()

    def unknown_id(self, space: Space | None = None) -> str:
        """Of no entry; in a space there is, or in none."""
        number = self.rng.getrandbits(32) or 1
        while True:
            prefix = self.rng.getrandbits(128) if space is None else UUID(space.id).int
            bits = (prefix >> 32 << 32 | number) & ~((0xF << 76) | (3 << 62)) | (8 << 76) | (2 << 62)
            id = str(UUID(int=bits))
            if id not in self.model.ids:
                return id

    def address(self, actor: Actor, level: int) -> str:
        """An id: reachable, of anybody, of what is gone, of nothing, or no id at all."""
        draw = self.rng.random()
        row = self.row_for(actor, level) if draw < 0.6 else self.some_row()
        if draw < 0.78 and row is not None:
            return row.id
        if draw < 0.86 and self.model.ids:
            return self.rng.choice(list(self.model.ids))
        if draw < 0.92:
            return self.unknown_id(self.rng.choice(self.model.spaces))
        if draw < 0.97:
            return self.unknown_id()
        return self.rng.choice(("nonsense", "0", "zz" * 18, self.rng.choice(self.model.spaces).id))

    def ref_of(self, actor: Actor, space: Space) -> str | None:
        if space.owner == actor.principal and space.kind == actor.kind and self.chance(0.5):
            return None
        draw = self.rng.random()
        if draw < 0.5:
            return space.id
        return f"{space.kind}:{space.ref}" if draw < 0.8 else space.ref

    def place(self, actor: Actor, level: int = READWRITE) -> str | None:
        """A space as the caller might name it: own, open to them, or anybody's, or none at all."""
        draw = self.rng.random()
        if draw < 0.3:
            return None
        if draw < 0.75:
            fitting = [space for space in self.model.spaces if self.model.level(actor, space) >= level]
            return self.ref_of(actor, self.rng.choice(fitting)) if fitting else None
        if draw < 0.95:
            return self.ref_of(actor, self.rng.choice(self.model.spaces))
        return self.rng.choice(
            (self.unknown_id()[:-8] + "00000000", "user:nobody", "nobody", "shared:nothing")
        )

    # Beginnings

    def _set_up(self) -> None:
        """Everybody has a first note, so that every space is there and its id is known."""
        for actor in ACTORS:
            self.space_made(actor, actor.kind, actor.id, actor.principal, None)
        self.space_made(CYD, "chat", "den", None, "chat:den")
        self.space_made(EVE, "system", "depot", None, "system:depot")
        self.listing("chats/room/participants", [ADA.principal, BOB.principal])
        self.listing("systems/plant/access", {"team:platform": "manage", CYD.principal: "read"})
        self.space_made(ADA, "chat", "room", None, "chat:room", {ADA.principal: 3, BOB.principal: 3})
        self.space_made(
            ADA, "system", "plant", None, "system:plant", {"team:platform": MANAGE, CYD.principal: READWRITE}
        )
        self.check(len(self.model.spaces) == len(ACTORS) + len(CHATS) + len(SYSTEMS), "set up")

    def listing(self, path: str, body: Any) -> None:
        answer = self.ask(GUS, Request("PUT", path, body=body))
        self.check(answer.status == 200, str(answer))

    def space_made(
        self,
        actor: Actor,
        kind: str,
        ref: str,
        owner: str | None,
        named: str | None,
        members: dict[str, int] | None = None,
    ) -> None:
        text = self.text()
        body = {"text": text, "key": "first"} | ({} if named is None else {"space": named})
        answer = self.ask(actor, Request("POST", "remember", body=body))
        self.check(answer.status == 200, str(answer))
        said = answer.json
        self.model.spaces.append(Space(kind, ref, owner, said["space"], members))
        _, write = self.model.remember(actor, said["space"], "notes", NoteInput(text, "first"))
        self.kept(said, write(said["key"]))
        self._suspects.clear()
        self.trace.clear()

    def kept(self, said: dict[str, Any], kept: Kept) -> Row:
        """What remember says of an entry."""
        self.adopt(kept.row, said["id"])
        found = {name: said.get(name) for name in ("id", "key", "space", "revision", "created", "expires_at")}
        row = kept.row
        expected = {
            "id": row.id,
            "key": row.head.key,
            "space": row.space.id,
            "revision": kept.revision,
            "created": kept.created,
            "expires_at": moment(kept.expires_us),
        }
        self.equal(found, expected, "remembered")
        return row

    def plant(self, actor: Actor, space: Space, key: str, draft: NoteInput) -> None:
        """An entry in a room that is its owner's alone in a user's space."""
        engine = self.memory.running.opened.engine
        assert engine is not None
        user = None if actor.session_user is None else parse_grantee(actor.session_user)
        caller = EngineCaller(
            parse_grantee(actor.principal),
            session_user=user,
            chats=frozenset(actor.chats),
            systems=dict(actor.systems),
            teams=frozenset(actor.teams),
            roles=frozenset(actor.roles),
        )
        said = EngineDraft(draft.text, key, draft.hint)
        session = Session(engine, caller, engine.limits, engine.clock)
        kept = engine.commit(lambda: engine_remember(session, ASSISTANT, UUID(space.id), said))
        _, write = self.model.remember(actor, space.id, "assistant", draft)
        row = write(kept.key).row
        self.adopt(row, str(kept.id))
        self.equal(kept.revision, row.revision, "revision of a planted row")


def _lasting(answer: Answer) -> object:
    """What a repeated request is answered again; what is similar is looked for anew, and so is the advice about it."""
    said = {name: value for name, value in answer.json.items() if name not in ("similar", "advice")}
    advice = [each for each in answer.json.get("advice", ()) if each["code"] != "duplicate"]
    return said | ({"advice": advice} if advice else {})


def moment(micros: int | None) -> str | None:
    if micros is None:
        return None
    at = datetime.fromtimestamp(micros // 1_000_000, UTC)
    return at.replace(microsecond=micros % 1_000_000).isoformat().replace("+00:00", "Z")


def revision_of(state: State) -> dict[str, Any]:
    """A revision as history shows it."""
    return {
        "at": moment(state.at_us),
        "by": state.by,
        "change": state.change,
        "key": state.key,
        "text": state.text,
        "hint": state.hint,
        "category": state.category,
        "tags": list(state.tags),
        "expires_at": moment(state.expires_us),
        "always_inject": state.always,
    }
