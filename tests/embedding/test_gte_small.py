"""The default embedder with its real weights: equal, sensible and unbreakable vectors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from holdfast.contracts.host import EmbedderBroken
from holdfast.recall.embedding.choose import choose_embedder
from holdfast.recall.embedding.models import GTE_SMALL, hash_of, installed
from holdfast.recall.embedding.onnx_embedder import OnnxEmbedder
from holdfast.settings import load
from tests.fetched_model import fetched_model

TEXTS = [
    "Deploys go through Konflux",
    "My cat only eats fish on Fridays",
    "The quarterly report is due on 8 May 2023",
    "札幌でラーメンを食べました",
]


def test_equal_texts_give_bit_equal_unit_vectors(embedder: OnnxEmbedder) -> None:
    first, second = embedder.embed(TEXTS[0]), embedder.embed(TEXTS[0])

    assert first.dtype == np.float32
    assert first.shape == (embedder.dimensions,) == (384,)
    assert first.tobytes() == second.tobytes() == embedder.embed_query(TEXTS[0]).tobytes()
    assert abs(float(np.linalg.norm(first)) - 1) < 1e-5


def test_a_vector_does_not_depend_on_what_was_embedded_before(embedder: OnnxEmbedder) -> None:
    fresh = OnnxEmbedder(fetched_model())
    for text in TEXTS[1:]:
        embedder.embed(text)

    assert fresh.embed(TEXTS[0]).tobytes() == embedder.embed(TEXTS[0]).tobytes()


@pytest.mark.parametrize(
    ("text", "paraphrase", "unrelated"),
    [
        (
            "We deploy with Tekton pipelines",
            "Releases are rolled out through Tekton",
            "My cat only eats fish",
        ),
        ("Alice is allergic to peanuts", "Peanuts make Alice ill", "The build takes nine minutes"),
        ("The meeting moved to Thursday", "We now meet on Thursdays", "He plays the violin"),
    ],
)
def test_a_paraphrase_is_nearer_than_something_unrelated(
    embedder: OnnxEmbedder, text: str, paraphrase: str, unrelated: str
) -> None:
    here = embedder.embed(text)

    assert here @ embedder.embed(paraphrase) > here @ embedder.embed(unrelated) + 0.05


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\x00",
        "a\x00b",
        "\ud800",
        "👩‍👩‍👧",
        '"AND" (NOT*',
        "word " * 2_000,
        "x" * 10_000,
        "記憶" * 5_000,
    ],
    ids=ascii,
)
def test_every_text_has_a_vector(embedder: OnnxEmbedder, text: str) -> None:
    vector = embedder.embed(text)

    assert vector.shape == (384,)
    assert np.isfinite(vector).all()


def test_more_is_read_than_the_128_tokens_of_the_tokenizers_file(embedder: OnnxEmbedder) -> None:
    start = "word " * 200

    assert embedder.embed(start + "alpha").tobytes() != embedder.embed(start + "omega").tobytes()
    assert embedder.embed("word " * 600 + "alpha").tobytes() == embedder.embed("word " * 600).tobytes()


def test_threads_share_one_embedder_and_get_what_one_gets_alone() -> None:
    shared = OnnxEmbedder(fetched_model())
    alone = {text: OnnxEmbedder(fetched_model()).embed(text).tobytes() for text in TEXTS}

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda text: (text, shared.embed(text).tobytes()), TEXTS * 5))

    assert all(vector == alone[text] for text, vector in answers)


def test_the_model_id_names_the_weights(embedder: OnnxEmbedder) -> None:
    digest = hash_of(fetched_model() / "model_int8.onnx")

    assert embedder.model_id == f"gte-small-int8-{digest[:12]}"
    assert digest in GTE_SMALL.int8, "another quantiser made other weights: add its hash to models.py"


def test_the_settings_open_what_was_fetched() -> None:
    settings = load()

    opened = choose_embedder(load({}, embedder="default", model_dir=settings.model_dir)).embedder

    assert isinstance(opened, OnnxEmbedder)
    assert opened.model_id == installed(settings.model_dir)[0][1].model_id


@pytest.mark.parametrize("harm", ["cut", "flipped", "gone"])
def test_a_model_file_that_is_not_what_was_fetched_is_broken_until_it_is_put_back(
    tmp_path: Path, harm: str
) -> None:
    folder = shutil.copytree(fetched_model(), tmp_path / "gte-small")
    model = folder / "model_int8.onnx"
    content = model.read_bytes()
    match harm:
        case "cut":
            model.write_bytes(content[: len(content) // 2])
        case "flipped":
            model.write_bytes(content[:5_000_000] + b"\x00\xff" + content[5_000_002:])
        case "gone":
            model.unlink()
    broken = OnnxEmbedder(folder)

    for _ in range(2):
        with pytest.raises(EmbedderBroken, match="holdfast model fetch"):
            broken.embed("text")
    model.write_bytes(content)

    assert broken.embed("text").shape == (384,)


def test_a_file_that_is_no_model_is_broken_even_if_the_manifest_agrees(tmp_path: Path) -> None:
    folder = shutil.copytree(fetched_model(), tmp_path / "gte-small")
    good = hash_of(folder / "model_int8.onnx")
    (folder / "model_int8.onnx").write_bytes(b"not a model")
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace(good, hash_of(folder / "model_int8.onnx")))

    with pytest.raises(EmbedderBroken, match="cannot be loaded"):
        OnnxEmbedder(folder).embed("text")


def test_onnxruntime_reports_to_nobody_and_keeps_no_device_id(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from holdfast.recall.embedding.onnx_embedder import OnnxEmbedder;"
        "OnnxEmbedder(Path(sys.argv[1])).embed('text');"
        "from holdfast.recall.embedding import quantise; quantise.quantise_apart(Path('none'), Path('none'))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    places = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    result = subprocess.run(
        [sys.executable, "-c", program, str(fetched_model())],
        env=environment | places,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "quantising failed" in result.stderr, "both must have been reached"
    assert list(tmp_path.rglob("*")) == []


def test_opening_loads_nothing_heavy() -> None:
    program = (
        "import sys; from holdfast.settings import load; from holdfast.recall.embedding.choose import choose_embedder;"
        "print(choose_embedder(load(embedder='default')).embedder.model_id, *sys.modules)"
    )

    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert result.stdout.startswith("gte-small")
    assert not {"numpy", "onnxruntime", "tokenizers", "ssl"} & set(result.stdout.split())


@pytest.mark.parametrize(
    "last", ["", "memory.user('alice').recall('walrus')", "atexit.register(memory.close)"]
)
def test_a_program_that_ends_while_notes_are_embedded_ends_in_peace(last: str) -> None:
    """Python ends its background threads wherever they are, and inside onnxruntime that aborted the process."""
    program = (
        "import atexit, holdfast; memory = holdfast.open(':memory:', embedder='default');"
        "[memory.user('alice').remember(f'note {n} on the habits of the walrus') for n in range(60)];"
        f"memory.index(); {last}"
    )

    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )

    assert (result.returncode, result.stderr) == (0, "")
