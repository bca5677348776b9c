"""Settings: where they come from, which wins, and what is refused."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from holdfast.domain.errors import InvalidField, Unavailable
from holdfast.domain.limits import Limits
from holdfast.settings import TABLE, load


def test_what_is_given_wins_over_the_environment_over_the_file_over_the_default(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text('subject = "file"\nsweep_seconds = 7\nmax_tags = 5\n')
    environment = {"HOLDFAST_DATA_DIR": str(tmp_path), "HOLDFAST_SUBJECT": "environment"}

    assert load({}, data_dir=str(tmp_path / "empty")).subject == "local"
    assert load({"HOLDFAST_DATA_DIR": str(tmp_path)}).subject == "file"
    assert load(environment).subject == "environment"
    assert load(environment, subject="given").subject == "given"
    assert load(environment).sweep_seconds == 7
    assert load(environment).limits.tags == 5


def test_without_any_word_the_defaults_of_the_table_hold(tmp_path: Path) -> None:
    settings = load({}, data_dir=str(tmp_path))

    assert settings.limits == Limits()
    assert settings.memory_key is None
    assert settings.memory_old_keys == ()
    assert settings.durable
    assert settings.database_url is None


def test_an_empty_variable_is_like_none(tmp_path: Path) -> None:
    settings = load(
        {"HOLDFAST_MEMORY_KEY": "", "HOLDFAST_SUBJECT": "", "HOLDFAST_DATA_DIR": ""}, data_dir=str(tmp_path)
    )

    assert settings.memory_key is None
    assert settings.subject == "local"


def test_old_keys_are_separated_by_commas_and_trimmed(tmp_path: Path) -> None:
    settings = load({"HOLDFAST_MEMORY_OLD_KEYS": " aa , ,bb,"}, data_dir=str(tmp_path))

    assert settings.memory_old_keys == ("aa", "bb")


@pytest.mark.parametrize("word", ["FULL", "none", "fast", "1"])
def test_a_durability_that_does_not_exist_is_refused(tmp_path: Path, word: str) -> None:
    with pytest.raises(InvalidField, match="DURABILITY"):
        load({}, data_dir=str(tmp_path), durability=word)


@pytest.mark.parametrize("name", ["MAX_TAGS", "MAX_BODY_BYTES", "SWEEP_SECONDS"])
@pytest.mark.parametrize("value", ["-1", "many", "1e999x", "nan"])
def test_a_cap_that_is_no_number_from_zero_up_is_refused_by_its_name(
    tmp_path: Path, name: str, value: str
) -> None:
    with pytest.raises(InvalidField, match=f"HOLDFAST_{name}"):
        load({f"HOLDFAST_{name}": value}, data_dir=str(tmp_path))


def test_relaxed_durability_is_a_choice(tmp_path: Path) -> None:
    assert not load({"HOLDFAST_DURABILITY": "relaxed"}, data_dir=str(tmp_path)).durable


@pytest.mark.parametrize("body", ["subject = ", 'unknown_thing = "1"', "[table]\nsubject = 'a'"])
def test_a_settings_file_that_cannot_be_understood_is_refused(tmp_path: Path, body: str) -> None:
    (tmp_path / "holdfast.toml").write_text(body)

    with pytest.raises(InvalidField, match=r"holdfast\.toml"):
        load({}, data_dir=str(tmp_path))


@pytest.mark.parametrize(
    "folder", ["", "x" * 300], ids=["a folder in its place", "a folder not to be entered"]
)
def test_a_settings_file_that_cannot_be_read_is_unavailable_and_named(tmp_path: Path, folder: str) -> None:
    (tmp_path / "holdfast.toml").mkdir()

    with pytest.raises(Unavailable, match=r"holdfast\.toml cannot be read"):
        load({}, data_dir=str(tmp_path / folder))


def test_where_the_data_directory_is_a_file_there_are_no_settings(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert load({}, data_dir=str(tmp_path / "file")).subject == "local"


def test_a_settings_file_may_use_full_names(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text('HOLDFAST_SUBJECT = "full"\n')

    assert load({}, data_dir=str(tmp_path)).subject == "full"


def test_every_cap_has_a_setting_of_its_name_with_the_same_default() -> None:
    defaults = {setting.name: setting.default for setting in TABLE}

    for cap in fields(Limits):
        assert defaults[f"MAX_{cap.name.upper()}"] == cap.default


def test_a_tilde_in_the_data_directory_is_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert load({"HOLDFAST_DATA_DIR": "~/memory"}).data_dir == tmp_path / "memory"
    assert load({"XDG_DATA_HOME": str(tmp_path / "xdg")}).data_dir == tmp_path / "xdg" / "holdfast"


def test_every_line_of_the_table_says_what_it_is_for() -> None:
    assert all(setting.sentence and setting.unit for setting in TABLE)
    assert len({setting.name for setting in TABLE}) == len(TABLE)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999"])
def test_a_number_that_never_ends_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(InvalidField, match="HOLDFAST_SWEEP_SECONDS"):
        load({"HOLDFAST_SWEEP_SECONDS": value}, data_dir=str(tmp_path))
