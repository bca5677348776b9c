"""The OpenAI-compatible endpoint: what is sent, what is retried, and that neither key nor text ever shows."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable

import numpy as np
import pytest

from holdfast.contracts.host import EmbedderBroken
from holdfast.recall.embedding.openai_endpoint import REST_SECONDS, EndpointEmbedder
from tests.unit.recall.embedding.serving import Answer, Asked, Reply, serve

KEY = "sk-very-secret"
TEXT = "the launch code is 4711"


def vector_reply(values: object = (3.0, 4.0)) -> Reply:
    return Reply(json.dumps({"data": [{"embedding": values, "index": 0}], "model": "m"}).encode())


def in_turn(*replies: Reply) -> Answer:
    """Each once; the last again and again."""
    left = list(replies)

    def answer(asked: Asked) -> Reply:
        return left.pop(0) if len(left) > 1 else left[0]

    return answer


class Time:
    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def clock(self) -> float:
        return self.now


def embedder(url: str, time: Time, key: str | None = KEY) -> EndpointEmbedder:
    return EndpointEmbedder(url, "some-model", key, sleep=time.sleep, clock=time.clock)


@pytest.fixture
def time() -> Time:
    return Time()


def test_a_vector_comes_back_as_a_unit_of_float32(time: Time) -> None:
    with serve(in_turn(vector_reply())) as server:
        made = embedder(server.url + "/v1/", time)
        vector = made.embed(TEXT)

    assert vector.dtype == np.float32
    assert vector.tolist() == pytest.approx([0.6, 0.8])
    assert made.dimensions == 2
    (asked,) = server.asked
    assert asked.path == "/v1/embeddings"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(asked.body) == {"model": "some-model", "input": TEXT, "encoding_format": "float"}


def test_without_a_key_none_is_sent(time: Time) -> None:
    with serve(in_turn(vector_reply())) as server:
        embedder(server.url, time, key=None).embed_query(TEXT)

    assert "authorization" not in server.asked[0].headers


def test_the_dimensions_are_asked_for_once_when_nothing_was_embedded_yet(time: Time) -> None:
    with serve(in_turn(vector_reply([1.0, 0, 0]))) as server:
        made = embedder(server.url, time)
        assert (made.dimensions, made.dimensions) == (3, 3)

    assert len(server.asked) == 1
    assert TEXT.encode() not in server.asked[0].body


def test_the_model_id_tells_models_and_addresses_apart_and_asks_nobody(time: Time) -> None:
    ids = {
        EndpointEmbedder(url, model, None).model_id
        for url in ("http://one/v1", "http://two/v1")
        for model in ("small", "large")
    }

    assert len(ids) == 4
    assert EndpointEmbedder("http://one/v1", "small", "a").model_id == (
        EndpointEmbedder("http://one/v1/", "small", "b").model_id
    )


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_busy_endpoint_is_asked_again_after_a_growing_while(time: Time, status: int) -> None:
    busy = Reply(status=status)
    with serve(in_turn(busy, busy, vector_reply())) as server:
        embedder(server.url, time).embed(TEXT)

    assert len(server.asked) == 3
    assert time.slept == [0.5, 1.0]


def test_what_the_endpoint_asks_to_wait_is_waited_within_bounds(time: Time) -> None:
    answers = in_turn(
        Reply(status=429, headers={"Retry-After": "2"}),
        Reply(status=429, headers={"Retry-After": "86400"}),
        Reply(status=429, headers={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}),
        vector_reply(),
    )
    with serve(answers) as server:
        embedder(server.url, time).embed(TEXT)

    assert time.slept == [2.0, 3.75, 2.0]


@pytest.mark.parametrize(
    ("call", "attempts"), [(EndpointEmbedder.embed, 4), (EndpointEmbedder.embed_query, 2)]
)
def test_it_is_given_up_after_some_attempts_and_left_alone_for_a_while(
    time: Time, call: Callable[[EndpointEmbedder, str], object], attempts: int
) -> None:
    with serve(in_turn(Reply(status=503))) as server:
        made = embedder(server.url, time)
        for _ in range(3):
            with pytest.raises(EmbedderBroken, match="503"):
                call(made, TEXT)
        assert len(server.asked) == attempts
        time.now += REST_SECONDS
        with pytest.raises(EmbedderBroken):
            call(made, TEXT)
        assert len(server.asked) == 2 * attempts


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (400, "EMBEDDER_MODEL"),
        (401, "EMBEDDER_KEY"),
        (403, "EMBEDDER_KEY"),
        (404, "EMBEDDER_URL"),
        (413, "too long"),
    ],
)
def test_a_refusal_is_not_repeated_and_says_what_to_look_at(time: Time, status: int, advice: str) -> None:
    with serve(in_turn(Reply(b'{"error": "no"}', status=status), vector_reply())) as server:
        made = embedder(server.url, time)
        with pytest.raises(EmbedderBroken, match=advice):
            made.embed(TEXT)
        assert len(server.asked) == 1
        made.embed("another text may go well at once")


def test_a_redirect_is_not_followed_so_the_key_stays_here(time: Time) -> None:
    with serve(in_turn(vector_reply())) as elsewhere:
        away = Reply(status=302, headers={"Location": elsewhere.url})
        with serve(in_turn(away)) as server, pytest.raises(EmbedderBroken, match="302"):
            embedder(server.url, time).embed(TEXT)

    assert elsewhere.asked == []


def test_nobody_answering_is_said(time: Time) -> None:
    with serve(in_turn(Reply())) as server:
        pass

    with pytest.raises(EmbedderBroken, match="does not answer"):
        embedder(server.url, time).embed_query(TEXT)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b""),
        Reply(b"<html>"),
        Reply(b"[]"),
        Reply(b'{"data": []}'),
        Reply(b'{"data": [{"embedding": "AAAA"}]}'),
        Reply(b'{"data": [{"embedding": [NaN, 1]}]}'),
        vector_reply([]),
        vector_reply([0, 0]),
        vector_reply([[1, 2]]),
        vector_reply([1, None]),
        vector_reply([1e308, 1e308]),
    ],
    ids=lambda reply: reply.body.decode()[:40],
)
def test_an_answer_without_a_vector_is_broken(time: Time, reply: Reply) -> None:
    with serve(in_turn(reply)) as server, pytest.raises(EmbedderBroken):
        embedder(server.url, time).embed(TEXT)


def test_dimensions_that_change_are_broken(time: Time) -> None:
    with serve(in_turn(vector_reply([1, 2]), vector_reply([1, 2, 3]))) as server:
        made = embedder(server.url, time)
        made.embed(TEXT)
        with pytest.raises(EmbedderBroken, match="3 dimensions, not 2"):
            made.embed(TEXT)


def test_a_long_text_is_cut_to_what_endpoints_take(time: Time) -> None:
    with serve(in_turn(vector_reply())) as server:
        embedder(server.url, time).embed("x" * 100_000)

    assert len(server.asked[0].body) < 7_000


@pytest.mark.parametrize(
    "url", ["", "api.example.org", "file:///etc", "ftp://host", "http://user:pw@host/v1"]
)
def test_an_address_that_cannot_be_used_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(EmbedderBroken, match="HOLDFAST_EMBEDDER_URL") as refused:
        EndpointEmbedder(url, "m", KEY)

    assert "pw" not in str(refused.value)


def test_neither_key_nor_text_is_in_a_message_or_in_the_log(
    time: Time, caplog: pytest.LogCaptureFixture
) -> None:
    messages = []
    echo = json.dumps({"error": {"message": f"{KEY} {TEXT}"}}).encode()
    with caplog.at_level(logging.DEBUG):
        for status in (400, 401, 404, 429, 500, 302):
            with serve(in_turn(Reply(echo, status=status))) as server:
                made = embedder(server.url, time)
                with pytest.raises(EmbedderBroken) as broken:
                    made.embed(TEXT)
                messages.append(str(broken.value) + repr(made))

    assert KEY not in caplog.text + "".join(messages)
    assert "4711" not in caplog.text + "".join(messages)
