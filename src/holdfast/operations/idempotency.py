"""Idempotency: a write that is sent twice with one key is done once and answered twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol
from uuid import UUID

from holdfast.contracts.storage import Job, LongJob, Transaction
from holdfast.crypto.blind import fingerprint
from holdfast.domain.errors import ConfirmationRequired, Conflict
from holdfast.domain.ids import number_of
from holdfast.operations.edit import Replaced
from holdfast.operations.proposals import ProposalJob, confirmation_required, refusal_job
from holdfast.operations.session import Session
from holdfast.storage.sealed_transaction import SealedTransaction

_PROPOSAL = "\0proposal"
"""Marks the kept answer of a call that was refused with a proposal."""


class AnswerCodec(Protocol):
    """Codec of a call's answer to and from JSON."""

    def encode(self, value: Any) -> Any: ...
    def decode(self, shown: Any) -> Any: ...


class RepeatableCall(Protocol):
    """A row of the table of calls."""

    @property
    def run(self) -> Callable[..., Any]: ...
    @property
    def answer(self) -> AnswerCodec: ...
    @property
    def repeat(self) -> Any:
        """Not None when the call keeps its answer under the key itself."""
        ...


def once(
    session: Session,
    key: str,
    call: RepeatableCall,
    arguments: Mapping[str, Any],
    prepare: Callable[[], Any],
) -> Any:
    """The result of a call, with its answer kept in its own transaction; a repeated request is answered from there."""
    parts = json.dumps((call.run.__qualname__, arguments), default=repr, sort_keys=True)
    request = fingerprint(session.sealed.store_key, parts.encode())
    try:
        result = prepare()
    except Conflict as conflict:
        result = refusal_job(conflict)  # done before, it conflicts with itself: its answer comes first
    if isinstance(result, LongJob):
        return _bound(session, key, request, result)
    if not isinstance(result, Job) or (call.repeat is not None and not isinstance(result, ProposalJob)):
        return result
    run = result.run

    def write(tx: Transaction) -> Any:
        sealed = SealedTransaction(session.sealed, tx, session.clock())
        kept = sealed.answered(session.principal, key, request)
        if kept is not None:
            shown = json.loads(kept)
            is_proposal = isinstance(shown, dict) and _PROPOSAL in shown
            return confirmation_required(shown[_PROPOSAL]) if is_proposal else call.answer.decode(shown)
        done = run(tx)
        shown = (
            {_PROPOSAL: done.proposal} if isinstance(done, ConfirmationRequired) else call.answer.encode(done)
        )
        id = done.entry.id if isinstance(done, Replaced) else getattr(done, "id", None)
        entry = id if isinstance(id, UUID) and number_of(id) else None  # the kept answer is erased with it
        sealed.keep_answer(session.principal, key, request, json.dumps(shown).encode(), entry)
        return done

    return Job(write)


def _bound(session: Session, key: str, request: bytes, job: LongJob[Any]) -> LongJob[Any]:
    """Binds the key to this request before long work whose parts are each done once."""

    def bind(tx: Transaction) -> None:
        sealed = SealedTransaction(session.sealed, tx, session.clock())
        if sealed.answered(session.principal, key, request) is None:
            sealed.keep_answer(session.principal, key, request, b"null", None)

    def run() -> Any:
        session.engine.write(Job(bind))
        return job.run()

    return LongJob(run)
