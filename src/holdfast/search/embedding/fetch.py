"""Fetching the default model: once, by one process at a time, whole or not at all. Recall never uses the network."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from holdfast.search.embedding.download import Progress
from holdfast.search.embedding.models import (
    MODEL_FILE,
    Manifest,
    describe,
    files_are_whole,
    installed,
)
from holdfast.search.embedding.quantise import quantise_apart
from holdfast.search.embedding.sources import FAILURES, WEIGHTS_FILE, Source, all_sources, check_files
from holdfast.settings import Mirrors

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LOCK_FILE = ".lock"
SCRATCH = ".fetching-"
PACKAGES = ("onnxruntime", "tokenizers", "onnx")


class ModelUnavailable(Exception):
    """No source gave the model; the message lists each source with its reason."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """`new` is false when the model lay there already."""

    folder: Path
    manifest: Manifest
    new: bool


def fetch_default(model_dir: Path, folder: Path | None, mirrors: Mirrors, progress: Progress) -> Fetched:
    """Gets what HOLDFAST_EMBEDDER=default needs from the first source that answers. Raises ModelUnavailable."""
    missing = [package for package in PACKAGES if find_spec(package) is None]
    if missing:
        raise ModelUnavailable(
            f"{', '.join(missing)} must be installed first: `pip install 'holdfast[embedder]'`."
        )
    return fetch(model_dir, all_sources(folder, mirrors), progress)


def fetch(
    model_dir: Path,
    sources: Sequence[Source],
    progress: Progress,
    *,
    quantise: Callable[[Path, Path], None] = quantise_apart,
) -> Fetched:
    """The sources one after the other until one has brought its model; one that lies there whole is left alone."""
    if here := _whole(model_dir, sources[0].model.name):
        return here
    try:
        model_dir.mkdir(parents=True, exist_ok=True)
        with _alone(model_dir, progress):
            _clear(model_dir)
            return _first(model_dir, sources, progress, quantise)
    except OSError as error:
        raise ModelUnavailable(f"The model directory {model_dir} cannot be written: {error}.") from error


def _first(
    model_dir: Path,
    sources: Sequence[Source],
    progress: Progress,
    quantise: Callable[[Path, Path], None],
) -> Fetched:
    reasons = []
    for source in sources:
        if here := _whole(model_dir, source.model.name):
            return here
        try:
            return _install(model_dir, source, progress, quantise)
        except FAILURES as error:
            reasons.append(f"  {source.name}: {error}")
    raise ModelUnavailable("No source gave the model:\n" + "\n".join(reasons))


def _install(
    model_dir: Path, source: Source, progress: Progress, quantise: Callable[[Path, Path], None]
) -> Fetched:
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=model_dir))
    try:
        working, target = scratch / "new", model_dir / source.model.name
        working.mkdir()
        source.bring(working, progress)
        check_files(source.model, working)
        weights = working / WEIGHTS_FILE
        if weights.exists():
            progress("quantising to int8", 0, None)
            quantise(weights, working / MODEL_FILE)
            weights.unlink()
        manifest = describe(source.model, source.name, working)
        manifest.write(working)
        _sync(working)
        with contextlib.suppress(FileNotFoundError):
            target.rename(scratch / "old")
        working.rename(target)
        return Fetched(target, manifest, new=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _whole(model_dir: Path, name: str) -> Fetched | None:
    """The model, if its files are what the manifest says."""
    for folder, manifest in installed(model_dir):
        if manifest.name == name and files_are_whole(folder, manifest):
            return Fetched(folder, manifest, new=False)
    return None


@contextlib.contextmanager
def _alone(model_dir: Path, progress: Progress) -> Iterator[None]:
    """One process at a time. The lock file stays: removing it would let two in at once. Where there are no such locks,
    two may fetch at once; the last rename wins, and it is whole too."""
    with (model_dir / LOCK_FILE).open("a") as lock:
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                progress("waiting for another process that fetches the model", 0, None)
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _clear(model_dir: Path) -> None:
    """What a process that was killed in the middle left behind."""
    for leftover in model_dir.glob(f"{SCRATCH}*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _sync(folder: Path) -> None:
    for file in folder.iterdir():
        with file.open("rb+") as stream:
            os.fsync(stream.fileno())
