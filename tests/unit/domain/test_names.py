"""Names and numbers: principals, spaces, scopes, keys, ids, levels, times. None may be mistaken for another."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import combinations
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.access import Level, parse_level
from holdfast.domain.errors import HoldfastError, InvalidScope, NotFound, family
from holdfast.domain.ids import (
    entry_id,
    is_made,
    made_key,
    new_number,
    new_space_id,
    number_of,
    split_entry_id,
)
from holdfast.domain.limits import refuse_reserved
from holdfast.domain.principal import Caller, Principal, PrincipalKind, parse_grantee, principal
from holdfast.domain.profile import RESERVED_HEADS
from holdfast.domain.scope import Everything, OneEntry, OneKey, Runs, Scope, parse_scope
from holdfast.domain.space import SpaceKind, SpaceName, own_space, session_space
from holdfast.domain.times import to_datetime, to_micros

SPACE = UUID("4b70811c-617b-8313-9f68-3ca100000000")
SUBJECTS = st.text(st.sampled_from("ab:/|%_ 1"), min_size=1, max_size=5)


def code_of(call: object, *args: object) -> str:
    assert callable(call)
    with pytest.raises(HoldfastError) as caught:
        call(*args)
    return caught.value.code


# Principals


def test_an_empty_subject_is_unknown() -> None:
    assert principal(PrincipalKind.USER, "") == Principal(PrincipalKind.USER, "unknown")


@pytest.mark.parametrize("subject", ["\ud800", "a\x00", "a\nb", "\x7f", "s" * 513, "漢" * 171])
def test_a_subject_is_printable_text_of_bounded_length(subject: str) -> None:
    assert code_of(principal, PrincipalKind.USER, subject) == "invalid_field"


@pytest.mark.parametrize("subject", ["s" * 512, "漢" * 170, "https://issuer|sub:1", "a b"])
def test_any_other_subject_is_kept_as_it_is(subject: str) -> None:
    assert principal(PrincipalKind.AGENT, subject).id == subject


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("user:alice", "user:alice"),
        ("agent:bot", "agent:bot"),
        ("service:ci", "service:ci"),
        ("bot", "agent:bot"),
        ("user:a:b", "user:a:b"),
        ("team:x", "agent:team:x"),
        ("User:x", "agent:User:x"),
    ],
)
def test_a_grantee_is_kind_and_id_and_a_bare_id_is_an_agent(text: str, said: str) -> None:
    assert str(parse_grantee(text)) == said


@pytest.mark.parametrize("text", ["", "user:", "agent:", "service:"])
def test_a_grantee_names_somebody(text: str) -> None:
    assert code_of(parse_grantee, text) == "invalid_field"


def test_a_member_is_no_administrator() -> None:
    someone = Principal(PrincipalKind.USER, "admin")
    assert not Caller(someone).is_admin
    assert Caller(someone, roles=frozenset({"member", "admin"})).is_admin


# Spaces


@given(
    st.lists(
        st.tuples(st.sampled_from(PrincipalKind), SUBJECTS, st.none() | SUBJECTS), unique=True, max_size=8
    )
)
def test_no_two_subjects_or_sessions_ever_share_a_space_name(
    named: list[tuple[PrincipalKind, str, str | None]],
) -> None:
    names = []
    for kind, subject, session in named:
        who = Principal(kind, subject)
        names.append(own_space(who) if session is None else session_space(who, session))
    for one, other in combinations(names, 2):
        assert one.parts() != other.parts()
        assert one != other


def test_one_id_gives_a_space_name_of_its_own_in_every_kind() -> None:
    who = Principal(PrincipalKind.USER, "x")
    names = [own_space(Principal(kind, "x")) for kind in PrincipalKind]
    names += [SpaceName(kind, "x") for kind in (SpaceKind.CHAT, SpaceKind.SYSTEM)]
    names += [session_space(who, "x"), SpaceName(SpaceKind.SHARED, "x", who)]
    names.append(SpaceName(SpaceKind.SHARED, "x", Principal(PrincipalKind.AGENT, "x")))
    assert len({name.parts() for name in names}) == len(names)


def test_a_subject_with_a_colon_is_not_a_session() -> None:
    one = own_space(Principal(PrincipalKind.USER, "a:b"))
    other = session_space(Principal(PrincipalKind.USER, "a"), "b")
    assert one.parts() != other.parts()
    assert own_space(Principal(PrincipalKind.USER, "a")).parts() != one.parts()


# Scopes


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("all", Everything()),
        ("key:prefs/lang", OneKey("prefs/lang")),
        ("key: a b ", OneKey("a b")),
        ("key:key:x", OneKey("key:x")),
        ("key:all", OneKey("all")),
        ("id:123", OneEntry("123")),
        ("pack:git", Runs("pack_history", "git")),
        ("pipeline:weekly", Runs("pipeline_history", "weekly")),
        ("packs", Runs("pack_history")),
        ("pipelines", Runs("pipeline_history")),
    ],
)
def test_what_forget_understands(text: str, scope: Scope) -> None:
    assert parse_scope(text) == scope


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "ALL",
        " all",
        "all ",
        "all:",
        "key",
        "key:",
        "key: ",
        "id:",
        "pack:",
        "pack: ",
        "pipeline:",
        "packs:",
        "facts",
        "*",
        None,
        5,
        True,
        b"all",
        ["all"],
        {},
    ],
)
def test_anything_else_is_refused_and_never_means_all(text: object) -> None:
    assert code_of(parse_scope, text) == "invalid_scope"


def test_the_refusal_lists_every_scope() -> None:
    for word in ("all", "key:", "id:", "pack:", "pipeline:", "packs", "pipelines"):
        assert word in InvalidScope().message


def test_runs_of_one_id_never_cover_those_of_a_longer_one() -> None:
    assert not "pack_history/github/1".startswith(Runs("pack_history", "git").prefix)
    assert "pack_history/git/1".startswith(Runs("pack_history", "git").prefix)
    assert "pack_history/git/1".startswith(Runs("pack_history").prefix)


# Keys


def test_made_keys_differ_and_are_known_as_made() -> None:
    made = {made_key() for _ in range(1_000)}
    assert len(made) == 1_000
    assert all(map(is_made, made))
    assert made_key(b"seedseed") == made_key(b"seedseed") != made_key(b"deesdees")
    assert not is_made("auto-pilot")
    assert not is_made("preferences/editor")


@pytest.mark.parametrize("head", RESERVED_HEADS)
def test_reserved_heads_are_refused_as_category_and_as_key_head(head: str) -> None:
    assert code_of(refuse_reserved, "k", head, RESERVED_HEADS) == "reserved_category"
    for key in (head, f"{head}/", f"{head}/x/1"):
        assert code_of(refuse_reserved, key, "", RESERVED_HEADS) == "reserved_key"
    for key in (f"{head}s/x", f"x/{head}", head.upper(), f"my_{head}/x"):
        refuse_reserved(key, "prefs", RESERVED_HEADS)
    refuse_reserved(head, head, ())


# Ids


def test_an_entry_id_says_its_space_and_number() -> None:
    for _ in range(200):
        space, number = new_space_id(), new_number()
        entry = entry_id(space, number)
        assert split_entry_id(entry) == split_entry_id(str(entry)) == (space, number)
        assert number_of(entry) == number
        assert number_of(space) == 0
        assert (space.version, entry.version) == (8, 8)
        assert 0 < number < 1 << 32


def test_ids_and_numbers_do_not_repeat() -> None:
    assert len({new_space_id() for _ in range(1_000)}) == 1_000
    assert len({new_number() for _ in range(1_000)}) > 990


@pytest.mark.parametrize("text", ["", "x", "1", None, 5, b"x" * 16, [], SPACE, str(SPACE), UUID(int=0)])
def test_what_is_no_entry_id_names_nothing(text: str) -> None:
    with pytest.raises(NotFound):
        split_entry_id(text)


# Levels


def test_levels_are_ordered() -> None:
    assert [level.label for level in sorted(Level)] == ["search", "read", "readwrite", "manage"]
    assert [parse_level(level.label) for level in Level] == list(Level)


@pytest.mark.parametrize("text", ["", "READ", " read", "admin", "write", None, 2])
def test_an_unknown_level_is_refused(text: str) -> None:
    assert code_of(parse_level, text) == "invalid_level"


# Times


@given(st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999))
def test_a_moment_survives_the_way_there_and_back(micros: int) -> None:
    assert to_micros(to_datetime(micros)) == micros
    assert to_datetime(micros).tzinfo is UTC


@given(st.integers(0, 10**15), st.integers(0, 10**15))
def test_moments_are_ordered_as_their_numbers(one: int, other: int) -> None:
    assert (to_datetime(one) < to_datetime(other)) is (one < other)


def test_a_zone_is_needed_and_respected() -> None:
    assert code_of(to_micros, datetime(2026, 1, 1)) == "invalid_field"
    east = timezone(timedelta(hours=5, minutes=30))
    assert to_micros(datetime(1970, 1, 1, 5, 30, tzinfo=east)) == 0
    assert to_micros(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1


# Errors


CODES = {
    400: "missing_key missing_value missing_field invalid_json invalid_field invalid_key invalid_name invalid_type"
    " invalid_scope invalid_level ttl_too_short ttl_too_long reserved_category reserved_key edit_no_match"
    " not_text live_state",
    401: "unauthenticated",
    403: "access_denied",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict confirmation_required proposal_expired proposal_consumed",
    412: "precondition_failed",
    413: "too_large",
    415: "unsupported_media_type",
    423: "locked",
    429: "quota run_cap rate_limited",
    500: "backend",
    503: "unavailable",
    507: "storage_full",
}


def test_the_family_of_errors_is_closed_and_each_code_has_its_status() -> None:
    stated = {code: status for status, codes in CODES.items() for code in codes.split()}
    assert {code: error.status for code, error in family().items()} == stated


def test_every_error_has_a_sentence_of_its_own() -> None:
    sentences = [error().message for error in family().values()]
    assert all(sentence.endswith((".", "…", "`.")) and " " in sentence for sentence in sentences)
    assert len(set(sentences)) == len(sentences)
