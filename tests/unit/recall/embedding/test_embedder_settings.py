"""The settings of the embedder, and where the environment says to fetch from."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.settings import Mirrors, load, mirrors


def test_unless_said_otherwise_the_default_model_is_used_and_no_key_is_sent(tmp_path: Path) -> None:
    settings = load({}, data_dir=tmp_path)

    assert settings.embedder == "default"
    assert settings.embedder_key is None
    assert settings.model_source is None


def test_models_lie_in_the_users_cache_and_not_in_the_data_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    one, other = (load({}, data_dir=tmp_path / name).model_dir for name in ("one", "other"))

    assert one == other == tmp_path / ".cache" / "holdfast" / "models"
    assert load({"XDG_CACHE_HOME": "/c"}).model_dir == Path("/c/holdfast/models")


def test_the_model_directory_and_source_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    said = {"HOLDFAST_MODEL_DIR": "~/models", "HOLDFAST_MODEL_SOURCE": "~/source"}

    settings = load(said, data_dir=tmp_path)

    assert (settings.model_dir, settings.model_source) == (tmp_path / "models", tmp_path / "source")


def test_the_key_is_not_shown(tmp_path: Path) -> None:
    settings = load({"HOLDFAST_EMBEDDER_KEY": "sk-secret"}, data_dir=tmp_path)

    assert settings.embedder_key == "sk-secret"
    assert "sk-secret" not in repr(settings)


@pytest.mark.parametrize("name", ["npm_config_registry", "NPM_CONFIG_REGISTRY"])
def test_the_registry_of_npm_is_taken_in_either_case(name: str) -> None:
    assert mirrors({name: "http://mirror"}) == Mirrors(npm="http://mirror", hub=None)
    assert mirrors({name: "", "HF_ENDPOINT": "http://hub"}) == Mirrors(npm=None, hub="http://hub")
