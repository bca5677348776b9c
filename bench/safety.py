"""Cost of safety: the scrubber and the save coach, and the audit log, as shares of a write's CPU time. Also a context
of 25 pins and 200 index lines, and the scrubber over hostile texts. A share is measured by writing with and without the
part in turns. Writes are those of one caller, in memory, so that no disk hides the cost of the part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Any

import holdfast
from bench.measure import Cost, Line, Options, Turns, cost_of, micros, take_turns
from bench.notes import notes
from holdfast.entrypoints.facade import Own
from holdfast.operations.engine import Engine
from holdfast.safety import review
from holdfast.safety.scrub import Scrubbed, scrub
from holdfast.storage.sealed_transaction import SealedTransaction

TURNS = 15
WRITES = 400
PINS = 25
FILES = 200
CONTEXTS = 40
SAFETY_SHARE = 0.20
AUDIT_SHARE = 0.15
CONTEXT_SECONDS = 0.005
SCRUB_MS_A_KIB = 1.0
LINEAR = 1.5
"""Most that a KiB of a long hostile text may cost, relative to one of a short one."""

HOSTILE = (
    "password=",
    "secret_key_token=password:",
    "ghp_sk-ant-AKIA",
    "a",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIB",
    "://user:pass@",
    "password='",
    "my password is now still just ",
    "[redacted:password] password=",
    "--&pw=AKIA",
    "pin pw=",
    "ghp_xoxb-\n]ghp_authorization: pwd:",
    'İ is %41glpat-)AccountKey=&sk-EAA://"',
    "sk-sk-xox}b-\\npwd:xo:EAA%41glpat-xb-xoxb-glpat-",
)


def run(_options: Options) -> list[Line]:
    return [
        _share("scrub and coach, of a write", SAFETY_SHARE, _without_scrub_and_coach),
        _share("audit, of a write", AUDIT_SHARE, _without_audit),
        _context(),
        *_hostile(),
    ]


def _share(what: str, at_most: float, without: Callable[[Engine], Any]) -> Line:
    with holdfast.open(":memory:", key="ephemeral", sweep_seconds=0) as memory:
        engine, alice = _engine(memory), memory.user("alice")
        written = 0

        def write() -> Cost:
            nonlocal written
            rows = notes("alice", WRITES, written)
            written += WRITES
            return cost_of(WRITES, lambda: _write_all(alice, rows))

        def write_without() -> Cost:
            with without(engine):
                return write()

        write()
        turns = take_turns(TURNS, write, write_without)
    whole, bare = turns.cpu()
    return Line(
        what,
        _saved(turns),
        unit="",
        at_most=at_most,
        beside=f"a write takes {micros(whole)} of CPU, without it {micros(bare)}",
    )


def _saved(turns: Turns) -> float:
    return median((ours.cpu - bare.cpu) / ours.cpu for ours, bare in zip(turns.ours, turns.bare, strict=True))


def _write_all(own: Own, rows: list[Any]) -> None:
    for row in rows:
        own.remember(**row)


@contextmanager
def _without_scrub_and_coach(engine: Engine) -> Iterator[None]:
    scrubber, doubts = engine.scrub, review.doubts
    object.__setattr__(engine, "scrub", Scrubbed)
    review.doubts = lambda *_, **__: ()
    try:
        yield
    finally:
        object.__setattr__(engine, "scrub", scrubber)
        review.doubts = doubts


@contextmanager
def _without_audit(_engine: Engine) -> Iterator[None]:
    audit = SealedTransaction.audit
    SealedTransaction.audit = lambda *_, **__: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        SealedTransaction.audit = audit  # type: ignore[method-assign]


def _context() -> Line:
    with holdfast.open(":memory:", key="ephemeral", sweep_seconds=0) as memory:
        alice = memory.user("alice")
        for number in range(PINS):
            alice.remember(f"rule number {number}: keep answers short and name sources", always_inject=True)
        for number in range(FILES):
            alice.files.update_user_memory(
                "upsert",
                f"file-{number}",
                type="user",
                description=f"what file {number} is about",
                body="text",
            )
        alice.context(budget=20_000)
        costs = [  # of CPU, at best: on a machine with others the wall says more about them
            cost_of(CONTEXTS, lambda: [alice.context(budget=20_000) for _ in range(CONTEXTS)])
            for _ in range(TURNS)
        ]
        left_out = alice.context(budget=20_000).left_out
    assert left_out == 0, "all of it is to be in the context"
    took = min(cost.cpu for cost in costs)
    return Line(
        f"a context of {PINS} pins and {FILES} index lines",
        took * 1_000,
        unit="ms",
        at_most=CONTEXT_SECONDS * 1_000,
    )


def _hostile() -> list[Line]:
    """The worst of the hostile texts: how much longer a KiB takes in 256 KiB than in 8, and how long at most."""
    ratios, slowest = [], 0.0
    for piece in HOSTILE:
        short, long = ((piece * kib * 1024)[: kib * 1024] for kib in (8, 256))
        scrub(short)
        turns = take_turns(
            5, partial(cost_of, 256, partial(scrub, long)), partial(cost_of, 8, partial(scrub, short))
        )
        ratios.append(turns.cpu_ratio())
        slowest = max(slowest, turns.cpu()[0])
    return [
        Line("a KiB of a hostile text, 256 KiB against 8", max(ratios), at_most=LINEAR),
        Line("the slowest KiB of a hostile text", slowest * 1_000, unit="ms", at_most=SCRUB_MS_A_KIB),
    ]


def _engine(memory: holdfast.Memory) -> Engine:
    engine = memory._opened.engine
    assert engine is not None
    return engine
