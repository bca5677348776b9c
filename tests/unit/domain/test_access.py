"""The cascade as a table: what each standing in each kind of space allows, and which step answers."""

from itertools import product

import pytest

from holdfast.domain.access import (
    ALL_RULES,
    Decision,
    Grant,
    Level,
    Op,
    Reason,
    Rules,
    Standing,
    catalogue_level,
    decide,
    is_own,
    is_unattended,
    may_delete,
    may_flag,
    sees,
)
from holdfast.domain.entry import Content, Entry, Provenance, Source
from holdfast.domain.errors import AccessDenied
from holdfast.domain.ids import new_space_id
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Caller, Principal, PrincipalKind
from holdfast.domain.space import Space, SpaceKind, SpaceName, own_space, session_space

NOW = 1_000_000
ALICE = Principal(PrincipalKind.USER, "alice")
BOT = Principal(PrincipalKind.AGENT, "bot")
NAMES = {
    SpaceKind.USER: own_space(ALICE),
    SpaceKind.AGENT: own_space(Principal(PrincipalKind.AGENT, "alice")),
    SpaceKind.SERVICE: own_space(Principal(PrincipalKind.SERVICE, "alice")),
    SpaceKind.CHAT: SpaceName(SpaceKind.CHAT, "alice"),
    SpaceKind.SESSION: session_space(ALICE, "s1"),
    SpaceKind.SYSTEM: SpaceName(SpaceKind.SYSTEM, "alice"),
    SpaceKind.SHARED: SpaceName(SpaceKind.SHARED, "team", ALICE),
}
NEEDED = {
    Op.SEARCH: Level.SEARCH,
    Op.READ: Level.READ,
    Op.METADATA: Level.READ,
    Op.CHANGE: Level.READWRITE,
    Op.WRITE: Level.READWRITE,
    Op.SHARE: Level.READWRITE,
    Op.FORGET: Level.READWRITE,
    Op.MANAGE: Level.MANAGE,
}
GRANTS = (None, *Level)
SYSTEM_LEVELS = (None, Level.READWRITE, Level.MANAGE)


def space(kind: SpaceKind) -> Space:
    return Space(new_space_id(), NAMES[kind], NOW)


def grant(place: Space, level: Level, expires: int | None = None) -> Grant:
    return Grant(place.id, BOT, level, ALICE, 0, expires)


def expected(
    kind: SpaceKind, granted: Level | None, participant: bool, session: bool, system: Level | None
) -> Decision | None:
    """The first step that matches, written down a second time and plainly."""
    if granted is not None:
        return Decision(granted, Reason.GRANT)
    if kind is SpaceKind.CHAT and participant:
        return Decision(Level.READWRITE, Reason.CHAT)
    if kind is SpaceKind.USER and session:
        return Decision(Level.READWRITE, Reason.SESSION_USER)
    if kind is SpaceKind.SYSTEM and system is not None:
        return Decision(system, Reason.SYSTEM)
    return None


@pytest.mark.parametrize("kind", SpaceKind)
@pytest.mark.parametrize("op", Op)
def test_the_first_live_match_decides_and_must_carry_the_operation(kind: SpaceKind, op: Op) -> None:
    place = space(kind)
    for granted, participant, session, system, admin in product(
        GRANTS, (False, True), (False, True), SYSTEM_LEVELS, (False, True)
    ):
        caller = Caller(
            BOT, session_user=ALICE if session else None, roles=frozenset({"admin" if admin else "member"})
        )
        standing = Standing(() if granted is None else (grant(place, granted),), participant, system)
        held = expected(kind, granted, participant, session, system)
        if held is None and admin and op is Op.METADATA:
            held = Decision(Level.READ, Reason.ADMINISTRATOR)
        if held is None or held.level < NEEDED[op]:
            with pytest.raises(AccessDenied):
                decide(caller, place, op, NOW, standing)
        else:
            assert decide(caller, place, op, NOW, standing) == held


@pytest.mark.parametrize("op", Op)
def test_the_levels_that_operations_need(op: Op) -> None:
    assert op.level is NEEDED[op]
    assert op.writes is (op in (Op.CHANGE, Op.WRITE, Op.SHARE, Op.FORGET, Op.MANAGE))
    assert op.shows is (op in (Op.SEARCH, Op.READ, Op.METADATA, Op.CHANGE))


@pytest.mark.parametrize("op", Op)
def test_one_s_own_space_is_managed_whatever_else_holds(op: Op) -> None:
    for principal in (ALICE, BOT, Principal(PrincipalKind.SERVICE, "ci")):
        place = Space(new_space_id(), own_space(principal), NOW)
        low = Standing((Grant(place.id, principal, Level.SEARCH, BOT, 0, None),))
        assert decide(Caller(principal), place, op, NOW, low) == Decision(Level.MANAGE, Reason.OWN)


@pytest.mark.parametrize("kind", [SpaceKind.SESSION, SpaceKind.SHARED])
def test_sessions_and_spaces_made_to_be_shared_are_their_owner_s(kind: SpaceKind) -> None:
    assert decide(Caller(ALICE), space(kind), Op.MANAGE, NOW).reason is Reason.OWN


@pytest.mark.parametrize("kind", [SpaceKind.CHAT, SpaceKind.SYSTEM, SpaceKind.AGENT, SpaceKind.SERVICE])
def test_a_space_named_like_a_user_is_not_the_user_s(kind: SpaceKind) -> None:
    assert not is_own(ALICE, space(kind))
    with pytest.raises(AccessDenied):
        decide(Caller(ALICE), space(kind), Op.SEARCH, NOW)


@pytest.mark.parametrize(
    "session_user", [Principal(PrincipalKind.AGENT, "alice"), Principal(PrincipalKind.USER, "Alice"), None]
)
def test_only_the_very_session_user_opens_a_user_space(session_user: Principal | None) -> None:
    with pytest.raises(AccessDenied):
        decide(Caller(BOT, session_user=session_user), space(SpaceKind.USER), Op.READ, NOW)


@pytest.mark.parametrize("kind", [SpaceKind.SESSION, SpaceKind.SHARED])
def test_the_session_user_s_other_spaces_stay_closed(kind: SpaceKind) -> None:
    with pytest.raises(AccessDenied):
        decide(Caller(BOT, session_user=ALICE), space(kind), Op.READ, NOW)


@pytest.mark.parametrize(
    ("expires", "live"), [(None, True), (NOW + 1, True), (NOW, False), (NOW - 1, False), (0, False)]
)
def test_a_grant_counts_until_its_very_moment(expires: int | None, live: bool) -> None:
    place = space(SpaceKind.SHARED)
    given = grant(place, Level.READ, expires)
    assert given.live(NOW) is live
    if live:
        assert decide(Caller(BOT), place, Op.READ, NOW, Standing((given,))).level is Level.READ
    else:
        with pytest.raises(AccessDenied):
            decide(Caller(BOT), place, Op.READ, NOW, Standing((given,)))


def test_the_highest_live_grant_counts() -> None:
    place = space(SpaceKind.SHARED)
    grants = (grant(place, Level.READ), grant(place, Level.MANAGE, NOW), grant(place, Level.READWRITE))
    assert decide(Caller(BOT), place, Op.READ, NOW, Standing(grants)).level is Level.READWRITE


def test_an_expired_grant_lets_the_next_step_answer() -> None:
    place = space(SpaceKind.CHAT)
    standing = Standing((grant(place, Level.SEARCH, NOW),), participant=True)
    assert decide(Caller(BOT), place, Op.WRITE, NOW, standing).reason is Reason.CHAT


@pytest.mark.parametrize("op", Op)
@pytest.mark.parametrize("rules", [Rules(read, manage) for read, manage in product((False, True), repeat=2)])
def test_rules_gate_reads_and_writes_but_never_forgetting_one_s_own(op: Op, rules: Rules) -> None:
    own, other = space(SpaceKind.USER), space(SpaceKind.SHARED)
    allowed = (rules.manage or not op.writes) and (rules.read or not op.shows)
    for place, caller, standing in (
        (own, Caller(ALICE), Standing()),
        (other, Caller(BOT), Standing((grant(other, Level.MANAGE),))),
    ):
        if allowed or (op is Op.FORGET and place is own):
            decide(caller, place, op, NOW, standing, rules)
        else:
            with pytest.raises(AccessDenied, match="role"):
                decide(caller, place, op, NOW, standing, rules)


def test_all_rules_are_on_by_default() -> None:
    assert Rules() == ALL_RULES == Rules(read=True, manage=True)


@pytest.mark.parametrize("kind", SpaceKind)
def test_who_may_delete(kind: SpaceKind) -> None:
    place = space(kind)
    for level, creator in product(Level, (False, True)):
        allowed = level is Level.MANAGE or (
            creator and level is Level.READWRITE and kind is not SpaceKind.SYSTEM
        )
        assert may_delete(place, level, creator=creator) is allowed


@pytest.mark.parametrize("level", Level)
def test_making_an_entry_always_apply_needs_a_person_who_manages_the_space(level: Level) -> None:
    team = space(SpaceKind.SHARED)
    assert may_flag(Caller(ALICE), team, level) is (level is Level.MANAGE)
    assert not may_flag(Caller(BOT), team, level)
    assert not may_flag(Caller(ALICE, door="mcp"), team, level)
    assert may_flag(Caller(BOT, confirmed_by=ALICE), team, level)
    assert may_flag(Caller(ALICE, door="mcp"), space(SpaceKind.USER), level) is (level is Level.MANAGE)


@pytest.mark.parametrize(("asked", "level"), [("read", Level.READWRITE), ("manage", Level.MANAGE)])
def test_reading_a_system_in_the_catalogue_lets_one_write_its_memories(asked: str, level: Level) -> None:
    assert catalogue_level(asked) is level


@pytest.mark.parametrize("partition", Partition)
@pytest.mark.parametrize("kind", SpaceKind)
def test_the_second_look_hides_expired_and_private_rows(kind: SpaceKind, partition: Partition) -> None:
    place = space(kind)
    content = Content("k", b"x", Provenance("user:alice", "python", Source.USER))

    def row(owner: Principal = ALICE, expires: int | None = None) -> Entry:
        return Entry(place.id, 7, owner, partition, 1, content, 0, 0, expires)

    private = kind is SpaceKind.USER and partition in (Partition.FILES, Partition.ASSISTANT)
    assert sees(Caller(ALICE), place, row(), NOW)
    assert sees(Caller(BOT), place, row(), NOW) is not private
    assert sees(Caller(BOT), place, row(owner=BOT), NOW)
    assert sees(Caller(ALICE), place, row(expires=NOW + 1), NOW)
    assert not sees(Caller(ALICE), place, row(expires=NOW), NOW)


def test_a_service_and_a_claimed_run_are_unattended() -> None:
    assert is_unattended(Caller(Principal(PrincipalKind.SERVICE, "ci")))
    assert is_unattended(Caller(BOT, unattended=True))
    assert not is_unattended(Caller(BOT))
    assert not is_unattended(Caller(ALICE))
