"""The log line of each request and the counters for Prometheus. They show the route and the id of a request, never a
body, a key, a token, or an address that contains one."""

from __future__ import annotations

import json
import logging
import time
import traceback
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_OTHER = "other"

log = logging.getLogger("holdfast.http")
App = Callable[[Any, Any, Any], Awaitable[None]]


class Metrics:
    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.refusals: Counter[str] = Counter()
        self.seconds: dict[str, list[int]] = {}
        self.spent: dict[str, float] = {}
        self.open = 0

    def record(self, scope: Any, request_id: str, status: int, seconds: float) -> None:
        """Counts and logs a finished request."""
        route, code = scope.get("holdfast.route", _OTHER), scope.get("holdfast.code")
        method = scope["method"] if scope["method"].isalpha() and len(scope["method"]) < 10 else _OTHER
        self.requests[method, route, status] += 1
        if code is not None:
            self.refusals[code] += 1
        counts = self.seconds.setdefault(route, [0] * (len(SECONDS) + 1))
        counts[bisect_left(SECONDS, seconds)] += 1
        self.spent[route] = self.spent.get(route, 0.0) + seconds
        if log.isEnabledFor(logging.INFO):
            fields = {"method": method, "route": route, "status": status, "code": code}
            log.info("request", extra=fields | {"request_id": request_id, "ms": round(seconds * 1_000, 2)})

    def lines(self, more: dict[str, float]) -> Iterator[str]:
        """Returns the text format of Prometheus, with gauges for `more`."""
        yield "# HELP holdfast_requests_total Requests by method, route and status."
        yield "# TYPE holdfast_requests_total counter"
        for (method, route, status), count in sorted(self.requests.items()):
            yield f'holdfast_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}'
        yield "# HELP holdfast_refusals_total Refused requests by the code of their error."
        yield "# TYPE holdfast_refusals_total counter"
        for code, count in sorted(self.refusals.items()):
            yield f'holdfast_refusals_total{{code="{code}"}} {count}'
        yield "# HELP holdfast_request_seconds How long requests took, by route."
        yield "# TYPE holdfast_request_seconds histogram"
        for route, counts in sorted(self.seconds.items()):
            yield from self._histogram(route, counts)
        for name, value in {"requests_open": self.open, **more}.items():
            yield f"# TYPE holdfast_{name} gauge"
            yield f"holdfast_{name} {value}"

    def _histogram(self, route: str, counts: list[int]) -> Iterator[str]:
        total = 0
        for bound, count in zip((*map(str, SECONDS), "+Inf"), counts, strict=True):
            total += count
            yield f'holdfast_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}'
        yield f'holdfast_request_seconds_sum{{route="{route}"}} {self.spent[route]:.6f}'
        yield f'holdfast_request_seconds_count{{route="{route}"}} {total}'


def _trace(error: BaseException | None) -> list[str]:
    """Returns the frames and types of an error and its causes. Its message may quote a request, so it is left out."""
    if error is None:
        return []
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    return [*_trace(error.__cause__ or error.__context__), *places, type(error).__qualname__]


class JsonLines(logging.Formatter):
    """Writes each record as one line of JSON in ASCII, so that no value can end the line."""

    FIELDS = ("request_id", "method", "route", "status", "code", "ms")

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        line |= {name: value for name in self.FIELDS if (value := getattr(record, name, None)) is not None}
        if record.exc_info:
            line["trace"] = _trace(record.exc_info[1])
        return json.dumps(line)

    @staticmethod
    def converter(moment: float | None) -> time.struct_time:
        return time.gmtime(moment)
