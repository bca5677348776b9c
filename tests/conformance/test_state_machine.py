"""Random histories of several callers through the Python door, each step compared with the plain model."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import holdfast
from holdfast import LevelName
from holdfast.domain.entry import Entry, Revision
from holdfast.domain.errors import HoldfastError
from tests.conformance.model import LEVELS, Model, Refused, Row, Said, Session, State, Wanted
from tests.support import FixedClock

LONG = os.environ.get("HOLDFAST_FAULTS") == "long"
HISTORIES = settings(
    max_examples=1_500 if LONG else 25,
    stateful_step_count=80 if LONG else 40,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

ALICE, BOB, BOT, ROOM = "user:alice", "user:bob", "agent:bot", "chat:room"
SPACES = (ALICE, BOB, BOT, ROOM)
HELPER = "bot for alice in the room"
SEATS = {
    "alice": Session(ALICE),
    "bob": Session(BOB),
    "bot": Session(BOT),
    HELPER: Session(BOT, session_user=ALICE, chat="room"),
}
NO_ENTRY = UUID("12345678-1234-8123-8123-123400000001")


class Place(NamedTuple):
    """Who speaks, and the space they name; None is their own."""

    who: str
    space: str | None

    @property
    def session(self) -> Session:
        return SEATS[self.who]

    @property
    def at(self) -> str:
        return self.session.principal if self.space is None else self.space


class Begun(NamedTuple):
    """A list that is not at its end."""

    place: Place
    wanted: Wanted
    further: Wanted
    cursor: str


Which = str | int
"""An entry as a rule draws it: a key, or a number that `aim` makes an entry of."""

KEYS = ("a", "a/b", "ab", "A")
keys = st.sampled_from(KEYS)
seats = st.sampled_from(sorted(SEATS))
people = st.sampled_from([ALICE, BOB, BOT])
spaces = st.one_of(st.none(), st.sampled_from(SPACES))
meeting_points = st.sampled_from(
    [Place(who, space) for who in SEATS for space in (ALICE, ROOM)] + [Place("alice", None)] * 3
)
places = st.one_of(meeting_points, meeting_points, st.builds(Place, seats, spaces))
"""Most of the time in two spaces, where callers come across each other."""

entries = st.one_of(keys, st.integers(0, 63), st.integers(0, 63))
texts = st.sampled_from(["tea", "tea or tea", "Tee mit Zucker"])
categories = st.sampled_from([None, None, None, "", "drinks"])
tags = st.sampled_from([None, None, None, (), ("hot",), ("cold", "hot")])
ttls = st.sampled_from([None, None, None, 1, 60, 86_400])
expected_revisions = st.sampled_from([None] * 9 + [0, 1, 2])
levels = st.sampled_from([*LEVELS, "manage", "readwrite", "readwrite", "readwrite"])
said = st.builds(
    Said,
    text=texts,
    key=st.sampled_from([*KEYS, *KEYS, None]),
    category=categories,
    tags=tags,
    ttl=st.sampled_from([None] * 8 + [1, 60, 86_400, 0]),
    expected_revision=expected_revisions,
    idempotency_key=st.sampled_from([None] * 6 + ["request 1", "request 2"]),
)
plain = st.builds(Said, text=texts, key=keys, category=categories, tags=tags)
wanted = st.builds(
    Wanted,
    prefix=st.sampled_from(["", "", "", "", "a", "a/", "A", "%", "_"]),
    category=st.sampled_from([None, None, None, None, "", "drinks"]),
    tag=st.sampled_from([None, None, None, None, "hot"]),
)


MANY = 4
"""Below so many entries none is removed for good: there would soon be nothing left to tell about."""


def some(state: str) -> Callable[[Any], bool]:
    """A precondition: there is an entry to do it to. Now and then there is none for the caller all the same."""
    return lambda machine: bool(machine.rows(state))


def many(machine: Any) -> bool:
    return len(machine.rows("live")) >= MANY


class Histories(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = FixedClock()
        self.model = Model(self.clock.now)
        self.begun: list[Begun] = []
        self.open()

    def where(self) -> str | Path:
        return ":memory:"

    def open(self) -> None:
        self.memory = holdfast.open(self.where(), clock=self.clock, sweep_seconds=0, durability="relaxed")
        self.doors = {
            "alice": self.memory.user("alice"),
            "bob": self.memory.user("bob"),
            "bot": self.memory.agent("bot"),
            HELPER: self.memory.agent("bot", user="alice", chat="room"),
        }

    def teardown(self) -> None:
        try:
            self.everything_else_is_as_the_model_has_it()
        finally:
            self.memory.close()

    @initialize(bob=levels, bot=st.one_of(st.none(), levels), first=st.lists(plain, min_size=2, max_size=4))
    def alice_shares_her_space(self, bob: str, bot: str | None, first: list[Said]) -> None:
        self.share(Place("alice", None), BOB, bob, None)
        if bot is not None:
            self.share(Place("bob", ALICE), BOT, bot, 86_400)
        for said in first:
            self.remember(Place("alice", None), said)
            self.remember(Place(HELPER, ALICE), said)
            self.remember(Place("bob", ALICE), said)

    # Remembering

    @rule(place=places, said=said)
    def remember(self, place: Place, said: Said) -> None:
        arguments = vars(said)
        self.same_answer(
            place, said, outcome(lambda: self.doors[place.who].remember(space=place.space, **arguments))
        )

    @rule(who=seats, rows=st.lists(st.tuples(spaces, said), min_size=1, max_size=3))
    def remember_many(self, who: str, rows: list[tuple[str | None, Said]]) -> None:
        answers = self.doors[who].remember_many([{"space": space, **vars(said)} for space, said in rows])
        for (space, said), answer in zip(rows, answers, strict=True):
            self.same_answer(
                Place(who, space), said, answer.error.code if answer.error else answer.remembered
            )

    def same_answer(self, place: Place, said: Said, answer: Any) -> None:
        """Keys that are made are random, so the model takes them from the door."""
        made = getattr(answer, "key", "")
        kept = outcome(lambda: self.model.remember(place.session, place.at, said, made))
        if isinstance(kept, str) or isinstance(answer, str):
            assert answer == kept
            return
        self.learn(kept.row, answer.id)
        assert (answer.id, answer.revision, answer.created, answer.expires_us) == (
            kept.row.id,
            kept.revision,
            kept.created,
            kept.expires_us,
        )

    # Changing

    @precondition(some("live"))
    @rule(
        place=places,
        which=entries,
        text=st.one_of(st.none(), texts),
        category=categories,
        tags=tags,
        ttl=st.sampled_from([None] * 8 + [1, 60, 86_400, 0]),
        expected=expected_revisions,
    )
    def edit(
        self,
        place: Place,
        which: Which,
        text: str | None,
        category: str | None,
        tags: tuple[str, ...] | None,
        ttl: int | None,
        expected: int | None,
    ) -> None:
        fields: dict[str, Any] = {"text": text, "category": category, "tags": tags, "ttl": ttl}
        self.same_entry(
            lambda: self.doors[place.who].edit(
                **self.named(place, which), **fields, expected_revision=expected
            ),
            lambda: self.model.edit(*self.meant(place, which), **fields, expected=expected),
        )

    @precondition(some("live"))
    @rule(place=places, which=entries, old=st.sampled_from(["tea", "x"]), expected=expected_revisions)
    def replace(self, place: Place, which: Which, old: str, expected: int | None) -> None:
        answer = outcome(
            lambda: self.doors[place.who].replace(
                **self.named(place, which), old=old, new="juice", expected_revision=expected
            )
        )
        replaced = outcome(lambda: self.model.replace(*self.meant(place, which), old, "juice", expected))
        if isinstance(replaced, str) or isinstance(answer, str):
            assert answer == replaced
        else:
            assert (shown(answer.entry), answer.occurrences) == (pictured(replaced[0]), replaced[1])

    @precondition(some("live"))
    @rule(
        place=places,
        which=entries,
        new_key=keys,
        to_space=st.one_of(st.none(), spaces),
        expected=expected_revisions,
    )
    def rename(
        self, place: Place, which: Which, new_key: str, to_space: str | None, expected: int | None
    ) -> None:
        self.same_entry(
            lambda: self.doors[place.who].rename(
                **self.named(place, which), new_key=new_key, to_space=to_space, expected_revision=expected
            ),
            lambda: self.model.rename(*self.meant(place, which), new_key, to_space, expected),
        )

    @precondition(some("changed"))
    @rule(
        place=places,
        which=entries,
        to=st.sampled_from([None, None, None, 1, 2, 3]),
        expected=expected_revisions,
    )
    def undo(self, place: Place, which: Which, to: int | None, expected: int | None) -> None:
        self.same_entry(
            lambda: self.doors[place.who].undo(
                **self.named(place, which, "changed"), to_revision=to, expected_revision=expected
            ),
            lambda: self.model.undo(*self.meant(place, which, "changed"), to, expected),
        )

    # Removing

    @precondition(some("live"))
    @rule(place=places, which=entries, expected=expected_revisions)
    def trash(self, place: Place, which: Which, expected: int | None) -> None:
        self.same_entry(
            lambda: self.doors[place.who].trash(**self.named(place, which), expected_revision=expected),
            lambda: self.model.trash(*self.meant(place, which), expected),
        )

    @precondition(some("trashed"))
    @rule(place=places, which=entries)
    def restore(self, place: Place, which: Which) -> None:
        self.same_entry(
            lambda: self.doors[place.who].restore(**self.named(place, which, "trashed")),
            lambda: self.model.restore(*self.meant(place, which, "trashed")),
        )

    @precondition(many)
    @rule(place=places, which=entries)
    def purge(self, place: Place, which: Which) -> None:
        self.same(
            lambda: self.doors[place.who].purge(**self.named(place, which)),
            lambda: self.model.purge(*self.meant(place, which)),
        )

    @precondition(many)
    @rule(who=seats, which=entries)
    def forget(self, who: str, which: Which) -> None:
        session, _, meant = self.meant(Place(who, None), which)
        scope = f"key:{meant}" if isinstance(meant, str) else f"id:{meant}"
        self.same(lambda: self.doors[who].forget(scope).deleted, lambda: self.model.forget(session, meant))

    @precondition(many)
    @rule(who=seats)
    def forget_all(self, who: str) -> None:
        forgotten = self.doors[who].forget("all")
        assert (forgotten.deleted, forgotten.kept_elsewhere) == self.model.forget_all(SEATS[who])

    # Sharing

    @rule(place=places, grantee=people, level=levels, ttl=ttls)
    def share(self, place: Place, grantee: str, level: LevelName, ttl: int | None) -> None:
        def granted() -> tuple[int, int | None]:
            grant = self.doors[place.who].share(grantee, space=place.space, level=level, ttl=ttl)
            return grant.level, grant.expires_us

        def given() -> tuple[int, int | None]:
            grant = self.model.share(place.session, place.at, grantee, level, ttl)
            return grant.level, grant.expires_us

        self.same(granted, given)

    @rule(place=places, grantee=people)
    def unshare(self, place: Place, grantee: str) -> None:
        def unshared() -> tuple[int, int]:
            answer = self.doors[place.who].unshare(grantee, space=place.space)
            return answer.revoked, answer.cascaded

        self.same(unshared, lambda: self.model.unshare(place.session, place.at, grantee))

    @rule(participants=st.sets(people))
    def set_participants(self, participants: set[str]) -> None:
        self.memory.administration("root").set_participants("room", sorted(participants))
        self.model.participants["room"] = participants

    # Time

    @rule(seconds=st.sampled_from([1, 1, 59, 60, 60, 86_400, 31 * 86_400]))
    def time_passes(self, seconds: int) -> None:
        self.model.now = self.clock.advance(seconds=seconds)

    @rule()
    def sweep(self) -> None:
        swept = self.memory.sweep()
        assert (swept.expired, swept.trash, swept.grants, swept.receipts) == self.model.sweep()

    # Reading

    @rule(place=places, wanted=wanted, limit=st.integers(1, 3))
    def begin_list(self, place: Place, wanted: Wanted, limit: int) -> None:
        self.turn_page(place, wanted, wanted, None, limit)

    @precondition(lambda self: self.begun)
    @rule(which=st.integers(0, 5), limit=st.integers(1, 3))
    def go_on_with_a_list(self, which: int, limit: int) -> None:
        self.turn_page(*self.begun.pop(which % len(self.begun)), limit)

    def turn_page(
        self, place: Place, wanted: Wanted, further: Wanted, cursor: str | None, limit: int
    ) -> None:
        page = outcome(
            lambda: self.doors[place.who].list(
                wanted.prefix,
                category=wanted.category,
                tag=wanted.tag,
                space=place.space,
                limit=limit,
                cursor=cursor,
            )
        )
        found = outcome(lambda: self.model.page(place.session, place.at, further, limit))
        if isinstance(found, str) or isinstance(page, str):
            assert page == found
            return
        rows, after = found
        assert [shown(entry) for entry in page] == [pictured(row) for row in rows]
        assert (page.cursor is None) == (after is None)
        if page.cursor is not None and after is not None:
            self.begun.append(Begun(place, wanted, after, page.cursor))

    @precondition(some("live"))
    @rule(place=places, which=entries)
    def get(self, place: Place, which: Which) -> None:
        self.same_entry(
            lambda: self.doors[place.who].get(**self.named(place, which)),
            lambda: self.model.get(*self.meant(place, which)),
        )

    def get_by_id(self, place: Place, entry: UUID) -> None:
        self.same_entry(
            lambda: self.doors[place.who].get(id=entry),
            lambda: self.model.get(place.session, place.at, entry),
        )

    @precondition(some("live"))
    @rule(place=places, which=entries, limit=st.integers(1, 4))
    def history(self, place: Place, which: Which, limit: int) -> None:
        def written() -> list[tuple[object, ...]]:
            revisions = self.doors[place.who].history(**self.named(place, which), limit=limit)
            return [shown_state(revision) for revision in revisions]

        def lived() -> list[tuple[object, ...]]:
            states = enumerate(self.model.get(*self.meant(place, which)).states, 1)
            return [pictured_state(number, state) for number, state in states][::-1][:limit]

        self.same(written, lived)

    @invariant()
    def every_list_is_as_the_model_has_it(self) -> None:
        for who in SEATS:
            for space in SPACES:
                self.list_is_as_the_model_has_it(Place(who, space))

    def list_is_as_the_model_has_it(self, place: Place) -> None:
        self.same(
            lambda: [shown(entry) for entry in self.doors[place.who].list(space=place.space)],
            lambda: [pictured(row) for row in self.model.page(place.session, place.at, Wanted(), 100)[0]],
        )

    def everything_else_is_as_the_model_has_it(self) -> None:
        """What would take too long after every step."""
        for who, session in SEATS.items():
            found = {
                (f"{each.kind}:{each.ref}", each.level, each.source) for each in self.doors[who].spaces()
            }
            assert found == set(self.model.spaces(session, SPACES))
            for place in (Place(who, space) for space in SPACES):
                self.trash_and_grants_are_as_the_model_has_them(place)
                for key in KEYS:
                    self.history(place, key, 100)
            for entry in [*self.model.ids, NO_ENTRY]:
                self.get_by_id(Place(who, None), entry)

    def trash_and_grants_are_as_the_model_has_them(self, place: Place) -> None:
        door = self.doors[place.who]
        self.same(
            lambda: [shown(entry) for entry in door.trashed(space=place.space)],
            lambda: [pictured(row) for row in self.model.trashed(place.session, place.at)],
        )
        self.same(
            lambda: {
                (str(grant.grantee), str(grant.granted_by), grant.level, grant.expires_us)
                for grant in door.grants(space=place.space)
            },
            lambda: self.model.granted(place.session, place.at),
        )

    # Saying the same to both

    def same(self, door: Callable[[], object], model: Callable[[], object]) -> None:
        answer, expected = outcome(door), outcome(model)
        assert answer == expected

    def same_entry(self, door: Callable[[], Entry], model: Callable[[], Row]) -> None:
        answer, expected = outcome(door), outcome(model)
        if isinstance(answer, str) or isinstance(expected, str):
            assert answer == expected
            return
        self.learn(expected, answer.id)
        assert shown(answer) == pictured(expected)

    def learn(self, row: Row, given: UUID) -> None:
        """Ids are random, so the model takes those of new entries from the door."""
        if row.id is None:
            assert given not in self.model.ids
            row.id = given
            self.model.ids[given] = row.space

    def aim(self, place: Place, which: Which, state: str = "live") -> tuple[Place, str | UUID]:
        """A key in the place named; or, so that most calls meet something, an entry that is in this state: by its key
        where it lies, or by its id; or an id of the past."""
        if isinstance(which, str):
            return place, which
        number, way = divmod(which, 8)
        if way and (rows := self.rows(state)):
            row = rows[number % len(rows)]
            return (Place(place.who, row.space), row.head.key) if way % 2 else (place, row.id or NO_ENTRY)
        return place, [*self.model.ids, NO_ENTRY][number % (len(self.model.ids) + 1)]

    def rows(self, state: str) -> list[Row]:
        now = self.model.now
        return {
            "live": [row for row in self.model.rows if row.live(now)],
            "changed": [row for row in self.model.rows if row.live(now) and row.revision > 1],
            "trashed": [row for row in self.model.rows if row.in_trash(now)],
        }[state]

    def named(self, place: Place, which: Which, state: str = "live") -> dict[str, Any]:
        """An entry as the door's arguments name it."""
        there, target = self.aim(place, which, state)
        return {"key": target, "space": there.space} if isinstance(target, str) else {"id": target}

    def meant(self, place: Place, which: Which, state: str = "live") -> tuple[Session, str, str | UUID]:
        """An entry as the model is asked for it."""
        there, target = self.aim(place, which, state)
        return there.session, there.at, target


class HistoriesInAFile(Histories):
    """The same, in a file that is closed and opened again now and then."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="holdfast-history-"))
        super().__init__()

    def where(self) -> str | Path:
        return self.folder

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            shutil.rmtree(self.folder)

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.open()


def outcome(call: Callable[[], Any]) -> Any:
    """What a call answers, or the code it is refused with."""
    try:
        return call()
    except HoldfastError as error:
        return error.code
    except Refused as refusal:
        return refusal.code


def shown(entry: Entry) -> tuple[object, ...]:
    return (
        entry.id,
        str(entry.owner),
        entry.revision,
        entry.key,
        entry.text,
        entry.category,
        entry.tags,
        entry.created_us,
        entry.updated_us,
        entry.expires_us,
        entry.trashed_us,
        entry.provenance.by,
    )


def pictured(row: Row) -> tuple[object, ...]:
    head = row.head
    return (
        row.id,
        row.owner,
        row.revision,
        head.key,
        head.text,
        head.category,
        head.tags,
        row.created_us,
        head.at_us,
        head.expires_us,
        row.trashed_us,
        head.by,
    )


def shown_state(revision: Revision) -> tuple[object, ...]:
    content = revision.content
    assert content is not None
    return (
        revision.revision,
        content.key,
        revision.text,
        content.category,
        content.tags,
        revision.by,
        revision.change,
        revision.updated_us,
        revision.expires_us,
    )


def pictured_state(number: int, state: State) -> tuple[object, ...]:
    return (
        number,
        state.key,
        state.text,
        state.category,
        state.tags,
        state.by,
        state.change,
        state.at_us,
        state.expires_us,
    )


TestHistories = Histories.TestCase
TestHistories.settings = HISTORIES
TestHistoriesInAFile = HistoriesInAFile.TestCase
TestHistoriesInAFile.settings = HISTORIES
