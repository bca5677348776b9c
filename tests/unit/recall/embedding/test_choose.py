"""Which embedder the settings choose, and the reason when there is none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.contracts.host import Embedder, EmbedderBroken
from holdfast.domain.errors import InvalidField
from holdfast.recall.embedding.choose import choose_embedder
from holdfast.recall.embedding.models import Manifest, describe, installed
from holdfast.recall.embedding.onnx_embedder import OnnxEmbedder
from holdfast.recall.embedding.openai_endpoint import EndpointEmbedder
from holdfast.settings import Settings, load
from tests.unit.recall.embedding.tiny import LIGHT, TINY, installed_folder


def settings(tmp_path: Path, **given: Any) -> Settings:
    return load({}, data_dir=tmp_path / "data", model_dir=tmp_path / "models", **given)


def install(tmp_path: Path, model: Any) -> Manifest:
    folder = installed_folder(tmp_path / "models" / model.name)
    manifest = describe(model, "test", folder)
    manifest.write(folder)
    return manifest


def open_embedder(chosen: Settings) -> Embedder | None:
    return choose_embedder(chosen).embedder


def local_models(folder: Path) -> list[Manifest]:
    return [manifest for _, manifest in installed(folder)]


def test_before_the_model_is_fetched_there_are_words_only_and_the_reason(tmp_path: Path) -> None:
    choice = choose_embedder(settings(tmp_path))

    assert choice.embedder is None
    assert choice.reason is not None
    assert "until `holdfast model fetch`: words only" in choice.reason
    assert open_embedder(settings(tmp_path)) is None


def test_none_is_none_even_with_a_model(tmp_path: Path) -> None:
    install(tmp_path, TINY)

    assert open_embedder(settings(tmp_path, embedder="none")) is None


def test_default_takes_the_better_of_the_fetched_models(tmp_path: Path) -> None:
    light = install(tmp_path, LIGHT)
    chosen = open_embedder(settings(tmp_path))
    assert chosen is not None
    assert chosen.model_id == light.model_id

    better = install(tmp_path, TINY)
    chosen = open_embedder(settings(tmp_path))

    assert isinstance(chosen, OnnxEmbedder)
    assert (chosen.model_id, chosen.dimensions) == (better.model_id, 384)
    assert local_models(tmp_path / "models") == [better, light]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"name": 1}', "null"])
def test_a_folder_without_a_readable_manifest_is_no_model(tmp_path: Path, text: str) -> None:
    install(tmp_path, TINY)
    (tmp_path / "models" / "gte-small" / "manifest.json").write_text(text)

    assert local_models(tmp_path / "models") == []
    assert open_embedder(settings(tmp_path)) is None
    with pytest.raises(EmbedderBroken, match="holdfast model fetch"):
        OnnxEmbedder(tmp_path / "models" / "gte-small")


@pytest.mark.parametrize("field", ["dimensions", "model_id", "sha256", "max_tokens"])
def test_a_manifest_with_a_wrong_field_is_no_manifest(tmp_path: Path, field: str) -> None:
    install(tmp_path, TINY)
    file = tmp_path / "models" / "gte-small" / "manifest.json"
    file.write_text(
        json.dumps(json.loads(file.read_text(encoding="utf-8")) | {field: None}), encoding="utf-8"
    )

    assert local_models(tmp_path / "models") == []


def test_files_that_are_no_model_are_broken_at_the_first_text(tmp_path: Path) -> None:
    install(tmp_path, TINY)
    embedder = open_embedder(settings(tmp_path))
    assert embedder is not None

    with pytest.raises(EmbedderBroken, match="cannot be loaded"):
        embedder.embed("text")


def test_openai_takes_the_address_the_model_and_the_key(tmp_path: Path) -> None:
    asked = settings(
        tmp_path,
        embedder="openai",
        embedder_url="http://127.0.0.1:9/v1",
        embedder_model="m",
        embedder_key="k",
    )

    chosen = open_embedder(asked)

    assert isinstance(chosen, EndpointEmbedder)
    assert chosen.model_id.startswith("m-")
    assert "'k'" not in repr(asked)


def test_an_embedder_that_cannot_be_opened_is_a_reason_not_an_error(tmp_path: Path) -> None:
    for asked in (
        settings(tmp_path, embedder="openai", embedder_url="nowhere"),
        settings(tmp_path, embedder="no.such.module:make"),
    ):
        choice = choose_embedder(asked)
        assert choice.embedder is None
        assert choice.reason


def test_a_factory_is_named_by_module_and_attribute(tmp_path: Path) -> None:
    chosen = open_embedder(settings(tmp_path, embedder="tests.unit.recall.embedding.hosts:Good"))

    assert chosen is not None
    assert chosen.model_id == "host-1"


@pytest.mark.parametrize("word", ["gte", "DEFAULT", "on", ":make", "module:", ":"])
def test_a_word_nobody_knows_is_refused(tmp_path: Path, word: str) -> None:
    with pytest.raises(InvalidField, match="HOLDFAST_EMBEDDER"):
        choose_embedder(settings(tmp_path, embedder=word))


def test_choosing_none_loads_nothing_heavy() -> None:
    program = (
        "import sys; from holdfast.settings import load; from holdfast.recall.embedding.choose import choose_embedder;"
        "choose_embedder(load({}, embedder='none')); print(*sys.modules)"
    )

    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert not {"numpy", "onnxruntime", "ssl", "urllib.request", "typer", "rich"} & set(result.stdout.split())
