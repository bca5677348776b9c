"""What an operator sees: one JSON object a request, counters by route; never what somebody said or showed."""

from __future__ import annotations

import io
import json
import logging
import re
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from holdfast.domain.errors import Backend
from holdfast.entrypoints.http import server
from holdfast.entrypoints.http.metrics import JsonLines
from holdfast.entrypoints.python.running import Running
from tests.http.serving import PATIENCE, Service, serving

HOSTILE = 'zebra\r\n{"level": "error"}\u2028 quagga'
WORDS = ("zebra", "quagga")
FIELDS = {"at", "level", "event", "request_id", "method", "route", "status", "code", "ms"}


class Log:
    def __init__(self) -> None:
        self.written = io.StringIO()

    @property
    def text(self) -> str:
        return self.written.getvalue()

    def lines(self, count: int) -> list[dict[str, Any]]:
        """Once there are so many: a line is written after its answer is on the way."""
        until = time.monotonic() + PATIENCE
        while len(self.text.splitlines()) < count and time.monotonic() < until:
            time.sleep(0.001)
        return [json.loads(line) for line in self.text.splitlines()]


@pytest.fixture
def log(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    """What the server writes, as it writes it when it is started by `holdfast serve`; nothing of earlier tests."""
    kept = Log()
    loggers = [logging.getLogger(name) for name in server.LOGGERS]
    before = [(logger.handlers, logger.propagate, logger.level) for logger in loggers]
    monkeypatch.setattr("sys.stderr", kept.written)
    server._log_to_stderr()
    service.ask("GET", "/healthz", headers={"x-request-id": "the-first"})
    while "the-first" not in kept.text:
        time.sleep(0.001)
    kept.written.truncate(kept.written.seek(0))
    yield kept
    for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def test_each_request_is_one_json_object_on_one_line(service: Service, log: Log) -> None:
    service.ask("GET", "entries")
    service.ask("GET", "/healthz")
    service.ask("GET", "/nowhere")
    assert [(line["method"], line["route"], line["status"]) for line in log.lines(3)] == [
        ("GET", "entries", 200),
        ("GET", "/healthz", 200),
        ("GET", "other", 404),
    ]
    for line in log.lines(3):
        assert line.keys() <= FIELDS
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["at"])


def test_the_log_holds_nothing_that_anybody_said_or_showed(service: Service, log: Log) -> None:
    quoted = quote(HOSTILE, safe="")
    service.send("remember", {"text": HOSTILE, "key": "k zebra", "tags": ["zebra"]})
    service.send("remember", {"text": "x", HOSTILE: 1})
    service.send("recall", {"query": HOSTILE})
    service.ask("GET", f"/api/v1/entries?prefix={quoted}&{quoted}=1")
    service.ask("GET", f"/api/v1/entries/{quoted}")
    service.ask("GET", f"/api/v1/spaces/{quoted}/grants")
    service.ask("GET", f"/{quoted}")
    service.ask("GET", "entries", headers={"authorization": "Bearer zebra.quagga.zebra"})
    service.ask("GET", "entries", headers={"authorization": "zebra quagga"})
    service.ask(
        "GET", "entries", headers={"holdfast-run": "zebra", "user-agent": "zebra", "referer": "zebra"}
    )
    service.ask("GET", "entries", headers={"host": "zebra.example"})
    service.ask("GET", "entries", headers={"origin": "http://zebra.example"})
    service.send("remember", {"text": "x"}, headers={"idempotency-key": "zebra"})
    service.raw(b"zebra quagga\r\n\r\n")
    service.raw(service.head("GET", "/healthz", "Upgrade: zebra", "Connection: upgrade"))
    lines = log.lines(16)
    assert len(lines) >= 14
    assert not [word for word in WORDS if word in log.text]
    assert "eyJ" not in log.text
    assert all(line["level"] in ("info", "warning") for line in lines)


def test_a_surprise_is_logged_with_its_place_and_without_its_words(
    service: Service, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        try:
            raise KeyError(HOSTILE)
        except KeyError as inner:
            raise RuntimeError(f"cannot use {HOSTILE}") from inner

    monkeypatch.setattr(Running, "session", fail)
    answered = service.send("remember", {"text": HOSTILE})
    monkeypatch.undo()

    failure, request = log.lines(2)
    assert answered.status_code == 500
    assert answered.json()["error"] == "backend"
    assert (failure["level"], failure["request_id"]) == ("error", answered.headers["x-request-id"])
    assert request["request_id"] == failure["request_id"]
    assert failure["trace"][-1] == "RuntimeError"
    assert "KeyError" in failure["trace"]
    assert any("fail" in place for place in failure["trace"])
    assert not [word for word in WORDS if word in log.text + answered.text]


def test_a_log_line_cannot_be_ended_from_within() -> None:
    record = logging.LogRecord("holdfast", 30, "x", 1, "a\nb\u2028c\ud800%s", ("\r\n",), None)
    line = JsonLines().format(record)
    assert len(line.splitlines()) == 1
    assert line.isascii()
    assert json.loads(line)["event"] == "a\nb\u2028c\ud800\r\n"


# Request ids


@pytest.mark.parametrize("given", ["a", "7f3a-9.b_C", "x" * 64])
def test_a_sane_request_id_goes_through(service: Service, log: Log, given: str) -> None:
    assert service.ask("GET", "/healthz", headers={"x-request-id": given}).headers["x-request-id"] == given
    assert log.lines(1)[-1]["request_id"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", 'a"b', "a{b}", "é", "a\tb", "zebra;quagga"])
def test_any_other_request_id_is_replaced(service: Service, log: Log, given: str) -> None:
    answered = service.ask("GET", "/healthz", headers={"x-request-id": given.encode()})
    made = answered.headers["x-request-id"]
    assert made != given
    assert re.fullmatch("[0-9A-Za-z._-]{8,64}", made)
    assert log.lines(1)[-1]["request_id"] == made


def test_every_answer_has_a_request_id_of_its_own(service: Service) -> None:
    answered = [service.ask("GET", path) for path in ("/healthz", "/nowhere", "entries", "entries/x", "/")]
    assert len({each.headers["x-request-id"] for each in answered}) == 5


# Metrics


@pytest.fixture
def fresh() -> Iterator[Service]:
    with serving() as service:
        yield service


def _metrics(service: Service) -> list[str]:
    answered = service.ask("GET", "/metrics", who=None)
    assert answered.headers["content-type"].startswith("text/plain")
    return answered.text.splitlines()


def test_requests_are_counted_by_route_template_alone(fresh: Service) -> None:
    entry = fresh.kept("counted")
    fresh.ask("GET", f"entries/{entry['id']}")
    fresh.ask("GET", "entries/zebra")
    fresh.ask("GET", "/api/v1/spaces/%22zebra%0A/grants")
    fresh.ask("GET", "/zebra")
    fresh.ask("GET", "/api/v1/zebra")
    fresh.ask("GET", "entries", who=None)
    lines = _metrics(fresh)
    assert 'holdfast_requests_total{method="GET",route="entries/{id}",status="200"} 2' in lines
    assert 'holdfast_requests_total{method="GET",route="entries/{id}",status="404"} 1' in lines
    assert 'holdfast_requests_total{method="GET",route="spaces/{space}/grants",status="403"} 1' in lines
    assert 'holdfast_requests_total{method="GET",route="other",status="404"} 2' in lines
    assert 'holdfast_refusals_total{code="not_found"} 3' in lines
    assert 'holdfast_refusals_total{code="unauthenticated"} 1' in lines
    assert 'holdfast_request_seconds_count{route="entries/{id}"} 3' in lines
    assert "holdfast_up 1" in lines
    assert "holdfast_requests_open 1" in lines
    assert not [line for line in lines if "zebra" in line or entry["id"] in line]


def test_every_line_of_the_metrics_is_one_that_prometheus_reads(fresh: Service) -> None:
    fresh.kept("counted")
    label = r'[a-z]+="[^"\\\n]*"'
    sample = re.compile(rf"holdfast_[a-z_]+(\{{{label}(,{label})*\}})? [0-9.e+-]+")
    for line in _metrics(fresh):
        assert sample.fullmatch(line) or re.fullmatch(
            r"# (TYPE holdfast_[a-z_]+ (counter|gauge|histogram)|HELP holdfast_[a-z_]+ [A-Z][^\n]+\.)", line
        )


def test_methods_that_nobody_knows_make_no_counters_of_their_own(fresh: Service) -> None:
    for method in ("PROPFIND", "M-SEARCH", "SUBSCRIBE"):
        fresh.raw(fresh.head(method, "/"))
    counted = {match[1] for line in _metrics(fresh) if (match := re.search('method="([^"]*)"', line))}
    assert counted <= {"PROPFIND", "SUBSCRIBE", "other"}


def test_a_refusal_of_the_closed_family_says_its_code_in_the_log(
    service: Service, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise Backend("The store is broken.")

    monkeypatch.setattr(Running, "session", fail)
    service.ask("GET", "entries")
    monkeypatch.undo()
    assert [(line["status"], line["code"]) for line in log.lines(1)] == [(500, "backend")]
