"""Once: a write that is asked for twice with one idempotency key is done once and answered twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from uuid import UUID

from holdfast.contracts.storage import Job, Transaction
from holdfast.crypto.blind import fingerprint
from holdfast.domain.errors import Conflict
from holdfast.domain.ids import number_of
from holdfast.domain.principal import Caller
from holdfast.operations.edit import Replaced
from holdfast.operations.engine import Engine
from holdfast.operations.work import Write
from holdfast.storage.sealed_transaction import SealedTransaction

T = TypeVar("T")


def once(
    engine: Engine,
    caller: Caller,
    key: str,
    asked: tuple[str, Mapping[str, Any]],
    work: Write[T],
    show: Callable[[T], Any],
    read: Callable[[Any], T],
) -> Write[T]:
    """The work, with its answer kept in its own transaction; `show` and `read` turn that into JSON and back."""
    request = fingerprint(engine.sealed.store_key, json.dumps(asked, default=repr, sort_keys=True).encode())

    def prepare() -> Job[T]:
        job = _prepared(work)

        def write(tx: Transaction) -> T:
            sealed = SealedTransaction(engine.sealed, tx, engine.clock())
            answer = sealed.answered(caller.principal, key, request)
            if answer is not None:
                return read(json.loads(answer))
            done = job(tx)
            shown = json.dumps(show(done)).encode()
            sealed.keep_answer(caller.principal, key, request, shown, _about(done))
            return done

        return write

    return Write(prepare, work.off)


def _prepared(work: Write[T]) -> Job[T]:
    """What can no longer be done because it was done already is still answered: so a conflict waits its turn. Whoever
    lost their access meanwhile is refused at once, whatever they were answered before."""
    try:
        return work.prepare()
    except Conflict as refusal:
        late = refusal

    def refuse(_: Transaction) -> T:
        raise late

    return refuse


def _about(done: object) -> UUID | None:
    """The entry an answer speaks of: it takes the answer along when it goes."""
    id = done.entry.id if isinstance(done, Replaced) else getattr(done, "id", None)
    return id if isinstance(id, UUID) and number_of(id) else None
