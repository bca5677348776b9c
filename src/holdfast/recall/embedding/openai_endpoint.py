"""Embeds through an OpenAI-compatible HTTP endpoint. Only here do texts leave the machine; neither they nor the key are
ever logged or put into a message."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from http.client import HTTPException
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from holdfast.contracts.host import EmbedderBroken
from holdfast.recall.embedding.choose import unit_vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_CHARACTERS = 6_000
"""Endpoints refuse what their model cannot read, mostly from 8,192 tokens on."""

MAX_ANSWER_BYTES = 4 * 1024 * 1024
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
REST_SECONDS = 10.0
"""Calls fail at once for this long after giving up: no recall should wait for an endpoint that is down."""

ADVICE = {
    400: "it refused the text or the model; look at HOLDFAST_EMBEDDER_MODEL",
    401: "look at HOLDFAST_EMBEDDER_KEY",
    403: "look at HOLDFAST_EMBEDDER_KEY",
    404: "look at HOLDFAST_EMBEDDER_URL and HOLDFAST_EMBEDDER_MODEL",
    413: "the text is too long for it",
    422: "it refused the text or the model; look at HOLDFAST_EMBEDDER_MODEL",
    429: "its quota is used up or it is too busy; try later",
}


class _NoRedirect(HTTPRedirectHandler):
    """Refuses redirects: following one would hand the key to its target."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class _Refused(Exception):
    """One attempt failed; `wait` is None when another would fail too."""

    def __init__(self, reason: str, wait: float | None) -> None:
        super().__init__(reason)
        self.wait = wait


class EndpointEmbedder:
    """`embed` tries four times within about a minute, `embed_query` twice within ten seconds: someone is waiting."""

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        address = urlsplit(url)
        if address.scheme not in ("http", "https") or not address.hostname or "@" in address.netloc:
            raise EmbedderBroken(
                "HOLDFAST_EMBEDDER_URL is an http or https address without a name or password in it."
            )
        self._url = url.rstrip("/") + "/embeddings"
        self._host = address.hostname
        self._model = model
        self._key = key
        self._sleep = sleep
        self._clock = clock
        self._open = build_opener(_NoRedirect).open
        self._measuring = Lock()
        self._dimensions: int | None = None
        self._resting: tuple[float, str] | None = None

    @property
    def model_id(self) -> str:
        """Contains a hash of the address: two endpoints may serve different weights under one name."""
        return f"{self._model}-{hashlib.sha256(self._url.encode()).hexdigest()[:12]}"

    @property
    def dimensions(self) -> int:
        """The length of the first vector. Requests one if there was none yet, and so may raise EmbedderBroken."""
        if self._dimensions is None:
            with self._measuring:
                return self._dimensions or self.embed("dimensions").size
        return self._dimensions

    def embed(self, text: str) -> NDArray[np.float32]:
        return self._vector(text, attempts=4, timeout=15.0)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._vector(text, attempts=2, timeout=4.0)

    def _vector(self, text: str, *, attempts: int, timeout: float) -> NDArray[np.float32]:
        if self._resting is not None and self._clock() < self._resting[0]:
            raise EmbedderBroken(self._resting[1])
        vector = unit_vector(
            self._ask(text, attempts, timeout), self._dimensions, f"The embedder at {self._host}"
        )
        self._dimensions = vector.size
        self._resting = None
        return vector

    def _ask(self, text: str, attempts: int, timeout: float) -> Any:
        for attempt in range(1, attempts + 1):
            try:
                return self._once(text, timeout)
            except _Refused as refused:
                message = f"The embedder at {self._host} {refused}."
                if refused.wait is None:
                    raise EmbedderBroken(message) from refused
                if attempt == attempts:
                    self._resting = (self._clock() + REST_SECONDS, message)
                    raise EmbedderBroken(message) from refused
                self._sleep(min(max(refused.wait, 0.25 * 2**attempt), timeout / 4))
        raise AssertionError("at least one attempt is made")

    def _once(self, text: str, timeout: float) -> Any:
        body = {"model": self._model, "input": text[:MAX_CHARACTERS], "encoding_format": "float"}
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self._url, json.dumps(body).encode(), headers, method="POST")
        try:
            with self._open(request, timeout=timeout) as answer:
                response = answer.read(MAX_ANSWER_BYTES)
            return json.loads(response)["data"][0]["embedding"]
        except HTTPError as error:
            with error:
                raise _refusal(error) from None
        except (URLError, HTTPException, OSError) as error:
            reason = getattr(error, "reason", None) or error
            raise _Refused(
                f"does not answer ({type(reason).__name__}); see whether it is running", 0.0
            ) from None
        except (ValueError, LookupError, TypeError):
            raise _Refused(
                "gave no embedding; look at HOLDFAST_EMBEDDER_URL and HOLDFAST_EMBEDDER_MODEL", None
            ) from None


def _refusal(error: HTTPError) -> _Refused:
    if 300 <= error.code < 400:
        return _Refused(
            f"answered {error.code}, which is not followed; name the final address in HOLDFAST_EMBEDDER_URL",
            None,
        )
    reason = f"answered {error.code}; {ADVICE.get(error.code, 'try later')}"
    if error.code not in BUSY:
        return _Refused(reason, None)
    wait = error.headers.get("Retry-After", "")
    return _Refused(reason, float(wait) if wait.isdigit() else 0.0)
