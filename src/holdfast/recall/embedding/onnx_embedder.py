"""The default embedder: gte-small, or MiniLM in its place, as int8 ONNX on onnxruntime and tokenizers. No network
here. One text at a time: int8 vectors depend on what else is in a batch, and ours must be equal for equal texts."""

from __future__ import annotations

import atexit
import os
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Lock, current_thread, main_thread
from typing import TYPE_CHECKING, Any

from holdfast.contracts.host import EmbedderBroken
from holdfast.recall.embedding.choose import onnxruntime
from holdfast.recall.embedding.models import MODEL_FILE, TOKENIZER_FILE, Manifest, hash_of, read_manifest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_CHARACTERS = 16_384
"""More than any model here reads; bounds the tokenizer's time."""

REPAIR = "run `holdfast model fetch`"
LONGEST_CALL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class LoadedModel:
    session: Any
    tokenizer: Any
    inputs: frozenset[str]


class _Calls:
    """Counts the threads inside the two libraries. Python ends background threads when the program ends; inside a
    library that aborts the process. So the end waits for them, and no such thread enters any more."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._inside = 0
        self._over = False
        self._process = os.getpid()
        atexit.register(self._end)

    def __enter__(self) -> None:
        with self._changed:
            if self._over and current_thread() is not main_thread():
                raise SystemExit  # ends the thread without a message
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def _end(self) -> None:
        if os.getpid() != self._process:
            return  # a fork has none of those threads
        with self._changed:
            self._over = True
            self._changed.wait_for(lambda: not self._inside, LONGEST_CALL_SECONDS)


class OnnxEmbedder:
    """Opening reads only the manifest. The first text checks the model against it and loads it (a third of a second,
    about 150 MB). A file that is not the fetched one raises EmbedderBroken until it changes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            self._manifest = read_manifest(folder)
        except (OSError, ValueError) as error:
            raise EmbedderBroken(f"There is no whole model in {folder} ({error}); {REPAIR}.") from error
        self._calls = _Calls()
        self._loading = Lock()
        self._loaded: LoadedModel | None = None
        self._broken: tuple[object, EmbedderBroken] | None = None

    @property
    def model_id(self) -> str:
        return self._manifest.model_id

    @property
    def dimensions(self) -> int:
        return self._manifest.dimensions

    def embed(self, text: str) -> NDArray[np.float32]:
        with self._calls:
            return self._embed(text)

    embed_query = embed
    """These models have no prefix: a question is embedded like a note."""

    def check(self) -> None:
        """Loads the model now. Raises EmbedderBroken."""
        with self._calls:
            self._loaded or self._load()

    def _embed(self, text: str) -> NDArray[np.float32]:
        import numpy as np

        loaded = self._loaded or self._load()
        # A lone surrogate is legal in a str and in JSON, but not in UTF-8, which the tokenizer reads.
        readable = text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        encoded = loaded.tokenizer.encode(readable)
        feeds = {
            "input_ids": np.array([encoded.ids], dtype=np.int64),
            "attention_mask": np.array([encoded.attention_mask], dtype=np.int64),
            "token_type_ids": np.array([encoded.type_ids], dtype=np.int64),
        }
        try:
            (hidden,) = loaded.session.run(
                None, {name: value for name, value in feeds.items() if name in loaded.inputs}
            )
        except Exception as error:  # onnxruntime raises plain exceptions of its own, a class for each kind
            raise EmbedderBroken(f"The model {self.model_id} could not run: {error}.") from error
        mean: NDArray[np.float32] = hidden[0].mean(axis=0, dtype=np.float32)
        length = float(np.linalg.norm(mean))
        if mean.shape != (self.dimensions,) or not 0.0 < length < float("inf"):
            raise EmbedderBroken(f"The model {self.model_id} gave no usable vector; {REPAIR}.")
        return mean / np.float32(length)

    def _load(self) -> LoadedModel:
        with self._loading:
            if self._loaded is not None:
                return self._loaded
            state = self._state()
            if self._broken is not None and self._broken[0] == state:
                raise EmbedderBroken(str(self._broken[1]))
            try:
                self._loaded = _open(self._folder, self._manifest)
            except EmbedderBroken as broken:
                self._broken = (state, broken)
                raise
            return self._loaded

    def _state(self) -> object:
        """A fingerprint of the files. A broken model is hashed again only when it changes."""
        try:
            seen = [(self._folder / name).stat() for name in (MODEL_FILE, TOKENIZER_FILE)]
        except OSError as error:
            return str(error)
        return [(each.st_ino, each.st_size, each.st_mtime_ns) for each in seen]


def _open(folder: Path, manifest: Manifest) -> LoadedModel:
    for name in (MODEL_FILE, TOKENIZER_FILE):
        try:
            found = hash_of(folder / name)
        except OSError as error:
            raise EmbedderBroken(f"{name} of {manifest.name} cannot be read ({error}); {REPAIR}.") from error
        if found != manifest.sha256[name]:
            raise EmbedderBroken(f"{name} of {manifest.name} is damaged or was replaced; {REPAIR}.")
    try:
        from tokenizers import Tokenizer

        runtime = onnxruntime()
    except ImportError as error:
        raise EmbedderBroken(
            f"{error.name} is not installed; run `pip install 'holdfast-memory[embedder]'`."
        ) from error
    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
        # The file pads and cuts to 128 tokens; the model reads more.
        tokenizer.no_padding()
        tokenizer.enable_truncation(manifest.max_tokens)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        session = runtime.InferenceSession(
            str(folder / MODEL_FILE), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # the two libraries raise unrelated families, one of them bare Exception
        raise EmbedderBroken(f"{manifest.model_id} cannot be loaded: {error}; {REPAIR}.") from error
    return LoadedModel(session, tokenizer, frozenset(given.name for given in session.get_inputs()))
