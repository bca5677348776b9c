"""Names of folders and texts of files: what goes out comes back the same."""

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.principal import is_subject
from holdfast.entrypoints.mirror.folder import LONGEST, folder_of, user_of
from holdfast.entrypoints.mirror.frontmatter import FileText, Unreadable, parsed, rendered

LINES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), min_size=1, max_size=80)
BODIES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=400)
USERS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=120).filter(is_subject)


@given(LINES, BODIES, st.sampled_from(["user", "feedback", "project", "reference"]))
def test_a_rendered_file_says_what_it_was_made_from(description: str, body: str, type: str) -> None:
    file = FileText(type, description, body)
    assert parsed(rendered("name", file)) == file


@given(
    st.binary(max_size=300)
    | st.text(max_size=300).map(lambda text: f"---\n{text}\n---\nx".encode("utf-8", "ignore"))
)
def test_whatever_a_file_holds_it_is_read_or_refused(data: bytes) -> None:
    with suppress(Unreadable):
        assert isinstance(parsed(data), FileText)


def test_a_mark_at_the_beginning_and_foreign_line_ends_do_no_harm() -> None:
    data = "\ufeff---\r\ntype: user\r\ndescription: about\r\n---\r\n\r\na\r\nb\r\n".encode()
    assert parsed(data) == FileText("user", "about", "a\r\nb")


@pytest.mark.parametrize("body", ["\r", "a\r", "\r\na\r\n", "\n\r"])
def test_half_a_foreign_line_end_is_part_of_a_body(body: str) -> None:
    file = FileText("user", "about", body)
    assert parsed(rendered("name", file)) == file


@pytest.mark.parametrize("value", ["yes", "null", "2024-01-01", "1.50", "0x1F", "~"])
def test_a_plain_word_of_yaml_stays_the_text_it_is(value: str) -> None:
    assert parsed(f"---\ntype: user\ndescription: {value}\n---\nx".encode()).description == value


@given(USERS)
def test_a_folder_leads_back_to_its_user_and_is_a_safe_name(user: str) -> None:
    name = folder_of(user)
    assert re.fullmatch(r"[a-z0-9_@.%~-]+", name)
    assert len(name) <= LONGEST
    assert not name.startswith(".")
    assert not name.endswith(".")
    assert "~" in name or user_of(name) == user


@given(USERS, USERS)
def test_two_users_never_share_a_folder(one: str, other: str) -> None:
    assert one == other or folder_of(one) != folder_of(other)


@pytest.mark.parametrize(
    ("user", "folder"),
    [
        ("alice", "alice"),
        ("Alice", "%41lice"),
        ("carol@example.org", "carol@example.org"),
        ("..", "%2e%2e"),
        ("a/b", "a%2fb"),
        ("con", "%63on"),
        ("nul.txt", "%6eul.txt"),
        ("console", "console"),
    ],
)
def test_ordinary_ids_stay_readable_and_others_are_spelt_out(user: str, folder: str) -> None:
    assert folder_of(user) == folder


@pytest.mark.parametrize("folder", ["Alice", "a b", "%41", "%zz", "..", ".x", "x.", "%ff", "con", ""])
def test_a_folder_that_no_user_has_is_nobodys(folder: str) -> None:
    assert user_of(folder) is None or folder_of(user_of(folder) or "") == folder
