"""Writing, finding, changing and removing memories from the shell."""

from __future__ import annotations

import pytest

from tests.cli.command import Command

TEXT = "Deploys go through Konflux"


@pytest.fixture
def kept(holdfast: Command) -> Command:
    """The command, with one memory kept."""
    assert holdfast("remember", TEXT, "--key", "konflux/deploy", "--tag", "deploy").code == 0
    return holdfast


def test_what_was_remembered_is_printed_as_it_was_written(kept: Command) -> None:
    assert kept("get", "konflux/deploy").out == TEXT + "\n"


def test_remember_answers_in_json_what_the_server_would(holdfast: Command) -> None:
    answer = holdfast("remember", TEXT, "--key", "k", "--json").json

    assert (answer["key"], answer["revision"], answer["created"], answer["updated"]) == ("k", 1, True, False)
    assert {"id", "space", "expires_at", "redacted", "similar", "persisted"} <= answer.keys()


def test_every_option_of_remember_is_kept(holdfast: Command) -> None:
    options = ["--hint", "how we ship", "--category", "ops", "--tag", "a", "--tag", "b", "--pin"]
    said = ["--speaker", "Alice", "--conversation", "standup", "--at", "2026-05-08T14:00:00Z"]

    assert holdfast("remember", TEXT, "--key", "k", *options, *said).code == 0

    entry = holdfast("get", "k", "--json").json
    assert (entry["hint"], entry["category"], entry["tags"]) == ("how we ship", "ops", ["a", "b"])
    assert (entry["speaker"], entry["conversation"], entry["at"]) == (
        "Alice",
        "standup",
        "2026-05-08T14:00:00Z",
    )
    assert entry["always_inject"] is True


def test_a_dash_reads_standard_input(holdfast: Command) -> None:
    holdfast("remember", "-", "--key", "k", given=b"two\nlines\n")

    assert holdfast("get", "k").out == "two\nlines\n"


def test_standard_input_that_is_no_text_is_refused(holdfast: Command) -> None:
    done = holdfast("remember", "-", given=b"\xff\xfe")

    assert (done.code, done.err) == (1, "invalid_field: Standard input is not UTF-8 text.\n")


@pytest.mark.parametrize(
    ("said", "seconds"), [("90d", 7_776_000), ("12h", 43_200), ("30m", 1_800), ("45s", 45), ("60", 60)]
)
def test_a_time_to_live_is_said_in_days_hours_minutes_or_seconds(
    holdfast: Command, said: str, seconds: int
) -> None:
    from datetime import datetime

    holdfast("remember", TEXT, "--key", "k", "--ttl", said)

    entry = holdfast("get", "k", "--json").json
    lives = datetime.fromisoformat(entry["expires_at"]) - datetime.fromisoformat(entry["updated_at"])
    assert lives.total_seconds() == seconds


@pytest.mark.parametrize("said", ["soon", "-5", "1w", "1.5h", "9" * 13, "d"])
def test_a_time_that_is_none_is_a_mistake_of_usage(holdfast: Command, said: str) -> None:
    done = holdfast("remember", TEXT, "--ttl", said)

    assert (done.code, done.out) == (2, "")
    assert "--ttl" in done.err


def test_a_secret_is_taken_out_and_said(holdfast: Command) -> None:
    done = holdfast("remember", "the token is ghp_" + "a1B2" * 9, "--key", "k")

    assert "1 secret" in done.err
    assert "ghp_" not in holdfast("get", "k").out


def test_recall_prints_a_line_for_each_hit_with_tabs_between(kept: Command) -> None:
    ((score, key, text),) = kept("recall", "how do we deploy?").rows

    assert (float(score) > 0, key, text) == (True, "konflux/deploy", TEXT)


def test_recall_in_json_has_the_fields_of_the_server(kept: Command) -> None:
    (hit,) = kept("recall", "deploys", "--json", "--explain").json["hits"]

    assert {
        "id",
        "key",
        "space",
        "owner",
        "partition",
        "hint",
        "text",
        "score",
        "updated_at",
        "why",
    } <= hit.keys()


def test_recall_filters_by_tag_category_time_and_space(kept: Command) -> None:
    assert kept("recall", "deploys", "--tag", "other").out == ""
    assert kept("recall", "deploys", "--category", "other").out == ""
    assert kept("recall", "deploys", "--since", "2099-01-01").out == ""
    assert kept("recall", "deploys", "--until", "2099-01-01", "--space", "user:local").out != ""


def test_list_follows_the_pages_when_asked(holdfast: Command) -> None:
    for number in range(5):
        holdfast("remember", f"note {number}", "--key", f"notes/{number}")
    holdfast("remember", "elsewhere", "--key", "other")

    first = holdfast("list", "notes/", "--limit", "2")
    assert [row[0] for row in first.rows] == ["notes/4", "notes/3"]
    assert "--all" in first.err
    every = holdfast("list", "notes/", "--limit", "2", "--all", "--json").json
    assert [entry["key"] for entry in every["entries"]] == [f"notes/{number}" for number in (4, 3, 2, 1, 0)]
    assert every["cursor"] is None


def test_a_text_of_many_lines_stays_one_line_of_a_list(holdfast: Command) -> None:
    holdfast("remember", "one\ntwo\tthree", "--key", "k")

    assert holdfast("list").rows[0][-1] == "one\\ntwo\\tthree"


def test_a_change_is_in_the_history_and_can_be_undone(kept: Command) -> None:
    assert kept("edit", "konflux/deploy", "--text", "Tekton").code == 0
    assert [row[0] for row in kept("history", "konflux/deploy").rows] == ["2", "1"]
    assert [state["revision"] for state in kept("history", "konflux/deploy", "--json").json["revisions"]] == [
        2,
        1,
    ]

    assert kept("undo", "konflux/deploy").code == 0
    assert kept("get", "konflux/deploy").out == TEXT + "\n"
    assert kept("undo", "konflux/deploy", "--to-revision", "2").code == 0
    assert kept("get", "konflux/deploy").out == "Tekton\n"


def test_an_edit_changes_what_it_names_and_nothing_else(kept: Command) -> None:
    kept("edit", "konflux/deploy", "--ttl", "12h", "--category", "ops")
    entry = kept("get", "konflux/deploy", "--json").json
    assert (entry["text"], entry["category"], entry["tags"]) == (TEXT, "ops", ["deploy"])
    assert entry["expires_at"] is not None

    assert kept("edit", "konflux/deploy", "--no-expiry", "--json").json["expires_at"] is None


def test_an_edit_that_changes_nothing_is_a_mistake_of_usage(kept: Command) -> None:
    assert kept("edit", "konflux/deploy").code == 2


def test_a_renamed_memory_is_found_by_its_new_key_alone(kept: Command) -> None:
    assert kept("rename", "konflux/deploy", "deploy/konflux").code == 0
    assert kept("get", "deploy/konflux").out == TEXT + "\n"
    assert kept("get", "konflux/deploy").code == 1


def test_what_is_deleted_lies_in_the_trash_until_it_is_restored(kept: Command) -> None:
    kept("delete", "konflux/deploy")
    assert kept("get", "konflux/deploy").err.startswith("not_found: ")
    assert [row[0] for row in kept("trash").rows] == ["konflux/deploy"]

    kept("restore", "konflux/deploy")
    assert kept("trash").out == ""
    assert kept("get", "konflux/deploy").code == 0


def test_what_is_purged_is_in_no_trash(kept: Command) -> None:
    assert kept("delete", "konflux/deploy", "--purge", "--json").json == {"deleted": 1}
    assert kept("trash", "--json").json["entries"] == []


def test_a_memory_can_be_named_by_its_id(kept: Command) -> None:
    id = kept("get", "konflux/deploy", "--json").json["id"]

    assert kept("get", "--id", id).out == TEXT + "\n"
    assert kept("get", "konflux/deploy", "--id", id).code == 2
    assert kept("get").code == 2


def test_forgetting_everything_needs_a_yes_when_nobody_can_be_asked(kept: Command) -> None:
    refused = kept("forget", "all")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("confirmation_required: ")
    assert kept("get", "konflux/deploy").code == 0

    assert kept("forget", "all", "--yes", "--json").json["deleted"] == 1
    assert kept("get", "konflux/deploy").code == 1


def test_forgetting_one_key_asks_nobody(kept: Command) -> None:
    assert kept("forget", "key:konflux/deploy").out == "Forgot 1 memory.\n"


def test_a_scope_that_is_none_is_refused(kept: Command) -> None:
    assert kept("forget", "everything").err.startswith("invalid_scope: ")


def test_the_context_holds_what_is_pinned(holdfast: Command) -> None:
    holdfast("remember", "Never deploy on Fridays", "--key", "rule", "--pin")

    assert "Never deploy on Fridays" in holdfast("context").out
    assert "Never deploy on Fridays" in holdfast("context", "--json", "--budget", "500").json["text"]
    assert holdfast("context", "--budget", "1").code == 1


def test_two_users_of_one_store_do_not_see_each_other(kept: Command) -> None:
    assert kept("get", "konflux/deploy", "--as", "bob").code == 1
    assert kept("list", HOLDFAST_SUBJECT="bob").out == ""


def test_a_named_data_directory_is_another_store(kept: Command, tmp_path: object) -> None:
    assert kept("list", "--data", f"{tmp_path}/other.dir").out == ""
    assert kept("get", "konflux/deploy", "--data", f"{tmp_path}/data").code == 0


def test_memory_that_is_off_keeps_nothing_and_says_so(holdfast: Command) -> None:
    done = holdfast("remember", TEXT, HOLDFAST_MEMORY_KEY="off")

    assert done.code == 0
    assert done.out.startswith("Nothing was saved: ")


def test_what_was_typed_says_that_it_came_from_the_command_line(holdfast: Command) -> None:
    holdfast("remember", "Deploys go through Konflux", "--key", "ci/deploy")
    assert holdfast("get", "ci/deploy", "--json").json["provenance"]["door"] == "cli"
