"""Durable writes through the door, full path, against a bare apsw loop of the same statements.

The statements are recorded from the product: what its writer runs between BEGIN IMMEDIATE and COMMIT, reads included,
with the values it binds, in its order; only savepoints are left out. They are replayed on a copy of the same file with
the same pragmas. For 64 to a transaction the product is made to commit exactly 64 writes together: the file is locked
from outside until all 64 callers wait."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Barrier, Thread

import apsw

import holdfast
from bench.measure import CACHE, Cost, Line, Options, Turns, clocks, cost_of, cost_since, micros, take_turns
from bench.notes import Note, notes
from bench.watching import Statement, counting_commits, counting_syncs, recording
from holdfast.entrypoints.facade import Own
from holdfast.storage.sqlite.store import SqliteStore

CALLERS = 64
BEFORE = 20
"""Notes each caller has before anything is measured."""
WARM_UP = 2
EACH = 32
"""Measured writes of each of the 64 callers."""
ALONE = 512
"""Measured writes of one caller."""
TURNS = 7
QUEUE_SECONDS = 10.0
"""Within this time 64 callers wait for the writer, however busy the machine is."""
LOOK_SECONDS = 0.005
LOCK_MS = 10_000
"""The store tidies itself when it is quiet; the lock waits for that."""

FSYNCS = 1 / 16
SHARED_RATIO = 1 / 3
ALONE_RATIO = 1 / 2


@dataclass(frozen=True, slots=True)
class Recorded:
    settings: list[str]
    warm_up: list[list[Statement]]
    transactions: list[list[Statement]]
    writes: int

    @property
    def statements(self) -> float:
        return sum(map(len, self.transactions)) / self.writes


def run(_options: Options) -> list[Line]:
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="writes-", dir=CACHE) as folder:
        base = Path(folder) / "base"
        _build(base)
        return [_count_syncs(base), *_together(base), *_alone(base)]


def _count_syncs(base: Path) -> Line:
    with counting_syncs() as syncs, _copied(base) as store, _Product(store, CALLERS) as product:
        before = syncs.count
        product.write(EACH)
        counted, writes = syncs.count - before, EACH * CALLERS
    return Line(
        f"fsyncs a write, {CALLERS} callers",
        counted / writes,
        unit="",
        at_most=FSYNCS,
        beside=f"{counted} for {writes:,} writes: 1 per {writes / max(counted, 1):.1f}",
    )


def _together(base: Path) -> list[Line]:
    recorded = _record_together(base)
    commits: list[float] = []

    def ours() -> Cost:
        with counting_commits() as counted, _copied(base) as store, _Product(store, CALLERS) as product:
            before, write = counted.count, product.ready(EACH)
            cost = cost_of(EACH * CALLERS, write)
            commits.append(EACH * CALLERS / (counted.count - before))
            return cost

    def awaited() -> Cost:
        with counting_commits() as counted, _copied(base) as store:
            cost, made = asyncio.run(_awaited(store, lambda: counted.count))
            commits.append(EACH * CALLERS / made)
            return cost

    lines = []
    for who, write in (("awaited", awaited), ("threads", ours)):
        commits.clear()
        turns = take_turns(TURNS, write, lambda: _replay(base, recorded))
        shared = f"; {sorted(commits)[TURNS // 2]:.1f} writes a commit, bare {CALLERS}"
        lines += _lines(turns, f"{CALLERS} callers, {who}", SHARED_RATIO, recorded, shared)[:1]
    return lines


async def _awaited(store: Path, commits: Callable[[], int]) -> tuple[Cost, int]:
    """Every caller writes so many, one after the other, all callers at once, on one loop: the cost, and the commits."""
    async with await holdfast.aopen(store, sweep_seconds=0) as memory:
        doors = [memory.user(_name(caller)) for caller in range(CALLERS)]

        async def write(caller: int, rows: list[Note]) -> None:
            for row in rows:
                await doors[caller].remember(**row)

        async def write_all(first: int, each: int) -> tuple[Cost, int]:
            todo = [notes(_name(caller), each, first) for caller in range(CALLERS)]
            before, made = clocks(), commits()
            await asyncio.gather(*(write(caller, rows) for caller, rows in enumerate(todo)))
            return cost_since(before, each * CALLERS), commits() - made

        await write_all(BEFORE, WARM_UP)
        return await write_all(BEFORE + WARM_UP, EACH)


def _alone(base: Path) -> list[Line]:
    recorded = _record_alone(base)

    def ours() -> Cost:
        with _copied(base) as store, _Product(store, 1) as product:
            return cost_of(ALONE, product.ready(ALONE))

    return _lines(
        take_turns(TURNS, ours, lambda: _replay(base, recorded)), "1 caller", ALONE_RATIO, recorded, ""
    )


def _lines(turns: Turns, who: str, at_least: float, recorded: Recorded, more: str) -> list[Line]:
    cpu, bare_cpu = turns.cpu()
    wall, bare_wall = turns.wall()
    more = f"; {recorded.statements:.1f} statements a write{more}"
    return [
        Line(
            f"writes per CPU second, {who}",
            1 / turns.cpu_ratio(),
            at_least=at_least,
            beside=f"{1 / cpu:,.0f}/s ({micros(cpu)}), bare {1 / bare_cpu:,.0f}/s ({micros(bare_cpu)}){more}",
        ),
        Line(
            f"writes per wall second, {who}",
            1 / turns.wall_ratio(),
            at_least=at_least,
            beside=f"{1 / wall:,.0f}/s ({micros(wall)}), bare {1 / bare_wall:,.0f}/s ({micros(bare_wall)})",
        ),
    ]


class _Product:
    """An open store with callers that have written a little already."""

    def __init__(self, store: Path, callers: int) -> None:
        self._store = store
        self._callers = callers
        self._written = BEFORE

    def __enter__(self) -> _Product:
        self._memory = holdfast.open(self._store, sweep_seconds=0)
        self._doors = [self._memory.user(_name(caller)) for caller in range(self._callers)]
        self.write(WARM_UP)
        return self

    def __exit__(self, *_: object) -> None:
        self._memory.close()

    def write(self, each: int) -> None:
        self.ready(each)()

    def ready(self, each: int) -> Callable[[], None]:
        """Every caller is to write so many, one after the other, all callers at once."""
        todo = [notes(_name(caller), each, self._written) for caller in range(self._callers)]
        self._written += each
        return partial(self._write, todo)

    def _write(self, todo: list[list[Note]]) -> None:
        if self._callers == 1:
            _write_all(self._doors[0], todo[0])
            return
        barrier = Barrier(self._callers)
        threads = [
            Thread(target=_write_all, args=(door, rows, barrier))
            for door, rows in zip(self._doors, todo, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def write_together(self, store: Path) -> None:
        """Every caller writes once, and the file is locked until all of them wait."""
        lock = apsw.Connection(str(store / "holdfast.db"))
        lock.set_busy_timeout(LOCK_MS)
        lock.execute("BEGIN IMMEDIATE").fetchall()
        with ThreadPoolExecutor(self._callers) as pool:
            waiting = [
                pool.submit(_write_all, door, notes(_name(caller), 1, self._written))
                for caller, door in enumerate(self._doors)
            ]
            self._until_all_wait()
            lock.execute("ROLLBACK").fetchall()
            lock.close()
            for done in waiting:
                done.result()
        self._written += 1

    def _until_all_wait(self) -> None:
        store = self._doors[0]._transport.session.engine.sealed.store
        assert isinstance(store, SqliteStore)
        until = time.monotonic() + QUEUE_SECONDS
        while len(store._writer._line.tasks) < self._callers and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)


def _write_all(door: Own, rows: list[Note], barrier: Barrier | None = None) -> None:
    if barrier is not None:
        barrier.wait()
    for row in rows:
        door.remember(**row)


def _record_together(base: Path) -> Recorded:
    with recording() as watched, _copied(base) as store, _Product(store, CALLERS) as product:
        watched.clear()
        for _ in range(WARM_UP + EACH):
            product.write_together(store)
        transactions = watched.transactions()
        if len(transactions) != WARM_UP + EACH:
            raise RuntimeError("the machine is too busy to gather 64 writes in one transaction")
        return Recorded(watched.settings(), transactions[:WARM_UP], transactions[WARM_UP:], EACH * CALLERS)


def _record_alone(base: Path) -> Recorded:
    with recording() as watched, _copied(base) as store, _Product(store, 1) as product:
        watched.clear()
        product.write(WARM_UP + ALONE)
        transactions = watched.transactions()
        return Recorded(watched.settings(), transactions[:WARM_UP], transactions[WARM_UP:], ALONE)


def _replay(base: Path, recorded: Recorded) -> Cost:
    with _copied(base) as store:
        db = apsw.Connection(str(store / "holdfast.db"))
        for pragma in recorded.settings:
            db.execute(pragma).fetchall()
        _run(db, recorded.warm_up)
        cost = cost_of(recorded.writes, lambda: _run(db, recorded.transactions))
        db.close()
        return cost


def _run(db: apsw.Connection, transactions: list[list[Statement]]) -> None:
    execute = db.execute
    for statements in transactions:
        execute("BEGIN IMMEDIATE").fetchall()
        for sql, values in statements:
            execute(sql, values).fetchall()
        execute("COMMIT").fetchall()


def _build(base: Path) -> None:
    with holdfast.open(base, sweep_seconds=0) as memory:
        for caller in range(CALLERS):
            memory.user(_name(caller)).remember_many(notes(_name(caller), BEFORE))


def _name(caller: int) -> str:
    return f"caller-{caller}"


@contextmanager
def _copied(base: Path) -> Iterator[Path]:
    """Each turn starts from the same file."""
    with tempfile.TemporaryDirectory(dir=base.parent) as folder:
        yield Path(shutil.copytree(base, Path(folder) / "store"))
