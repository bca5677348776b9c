"""Proposals: ask a person before a call is made; list those that wait; approve or refuse. An approved call runs as the
proposer, exactly as shown, after checking the proposer's access again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from holdfast.contracts.rows import APPROVED, REFUSED, STORE, WAITING, ProposalRow
from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import Answered, Level, Op, Proposal, is_person
from holdfast.domain.errors import (
    AccessDenied,
    ConfirmationRequired,
    HoldfastError,
    Locked,
    NotFound,
    ProposalConsumed,
    ProposalExpired,
)
from holdfast.domain.ids import number_of
from holdfast.domain.limits import check_limit
from holdfast.domain.principal import Caller, Principal, PrincipalKind
from holdfast.domain.retention import PROPOSAL_US
from holdfast.domain.space import SpaceName
from holdfast.operations.agents import owner_of
from holdfast.operations.authorize import SpaceRef, authorize
from holdfast.operations.session import Session
from holdfast.operations.spaces import accessible
from holdfast.storage.proposals import ProposedCall, open_proposal, seal_proposal
from holdfast.storage.sealed_transaction import SealedTransaction

_NO_PERSON = "Only a person may answer a proposal, through Python, HTTP, the page or the command line."
_NONE_SUCH = "There is no such proposal."
_NOBODY = b""


@dataclass(frozen=True, slots=True)
class ProposalRequest:
    """A call that needs a person's yes. `shown` is the exact text the person sees; `arguments` must be as JSON has
    them, without secrets, and are applied exactly."""

    what: str
    arguments: Mapping[str, Any]
    shown: str
    space: SpaceRef = None
    entry: UUID | None = None
    """The entry concerned: when it is purged, what was shown of it goes too."""
    op: Op = Op.READ
    """The operation that the proposer must be allowed in the space."""


class ConfirmableCall(NamedTuple):
    """Carries out an approved call."""

    level: Level
    """The level that the approver must hold in the space concerned."""
    prepare: Callable[[Caller, Mapping[str, Any]], Job[Any]]
    show: Callable[[Any], Any]


def propose(session: Session, proposed: ProposalRequest) -> Job[Proposal]:
    now = session.clock()
    space = authorize(session, proposed.space, proposed.op, now).space
    row = ProposalRow(
        uuid4(),
        _who_answers(session),
        session.sealed.blind(session.principal),
        space.id if space.stored else STORE,
        0 if proposed.entry is None else number_of(proposed.entry),
        now,
        now + PROPOSAL_US,
        WAITING,
        b"",
    )
    call = ProposedCall(
        proposed.what,
        proposed.arguments,
        session.engine.scrub(proposed.shown).text,
        session.caller,
        space.name,
    )
    row = seal_proposal(session.sealed, row, call)

    def write(tx: Transaction) -> Proposal:
        tx.proposals.insert(row)
        SealedTransaction(session.sealed, tx, now).audit("propose", session.principal, space.id, row.id)
        return _shown(row, call)

    return Job(write)


class ProposalJob(Job[Any]):
    """Keeps a proposal; its answer is the refusal that names it."""


def confirmation_required(proposal: str) -> ConfirmationRequired:
    refusal = ConfirmationRequired(
        f"A person must confirm this within 10 minutes: `holdfast proposals approve {proposal}`."
    )
    refusal.proposal = proposal
    return refusal


def person_asked(caller: Caller) -> Principal | None:
    """The person who can be asked: the user who lent the token, or for whom an agent works."""
    return caller.principal if caller.principal.kind is PrincipalKind.USER else caller.session_user


def _who_answers(session: Session) -> bytes:
    """The person who may answer besides managers: for an agent that works for nobody now, its owner, who need not be
    present."""
    person = person_asked(session.caller) or session.caller.owner
    if person is not None:
        return session.sealed.blind(person)
    return owner_of(session.engine, session.principal) or _NOBODY


def waiting(session: Session, limit: int) -> list[Proposal]:
    """Lists proposals the caller may answer, newest first. One that was changed in the file is left out."""
    limit = check_limit(limit, session.limits.list_rows)
    if not is_person(session.caller):
        raise AccessDenied(_NO_PERSON)
    now = session.clock()
    managed = [one.space.id for one in accessible(session, Op.READ, now) if one.level is Level.MANAGE]
    rows = session.sealed.store.proposals.waiting(
        session.sealed.blind(session.principal), managed, now, limit
    )
    opened = ((row, open_proposal(session.sealed, row)) for row in rows)
    return [_shown(row, call) for row, call in opened if call is not None]


def approve(
    session: Session, id: str | UUID, confirmable_call: Callable[[str], ConfirmableCall]
) -> Job[Answered]:
    """Runs the call in the transaction that marks the proposal as answered; a refused call leaves it open."""
    now = session.clock()
    row = _answerable(session, id, now)
    if (over := _over(row, now)) is not None:
        return refusal_job(over)
    call = open_proposal(session.sealed, row)
    if call is None:
        raise Locked("This proposal was changed outside the engine.")
    confirmable = confirmable_call(call.what)
    _require_level(session, call, confirmable.level, now)
    job = confirmable.prepare(replace(call.caller, confirmed_by=session.principal), call.arguments)

    def write(tx: Transaction) -> Answered:
        _use_up(session, tx, row, APPROVED, now)
        return Answered(row.id, call.what, True, confirmable.show(job.run(tx)))

    return Job(write)


def may_approve(session: Session, id: str | UUID, confirmable_call: Callable[[str], ConfirmableCall]) -> bool:
    """True when this person's approval would be enough, so that nobody is asked in vain."""
    now = session.clock()
    call = open_proposal(session.sealed, _answerable(session, id, now))
    if call is None:
        return False
    try:
        _require_level(session, call, confirmable_call(call.what).level, now)
    except AccessDenied:
        return False
    return True


def refuse(session: Session, id: str | UUID) -> Job[Answered]:
    now = session.clock()
    row = _answerable(session, id, now)
    if (over := _over(row, now)) is not None:
        return refusal_job(over)
    call = open_proposal(session.sealed, row)

    def write(tx: Transaction) -> Answered:
        _use_up(session, tx, row, REFUSED, now)
        return Answered(row.id, "" if call is None else call.what, False)

    return Job(write)


def _answerable(session: Session, id: str | UUID, now: int) -> ProposalRow:
    """Reads a proposal that the caller may answer; any other is reported as missing."""
    if not is_person(session.caller):
        raise AccessDenied(_NO_PERSON)
    try:
        row = session.sealed.store.proposals.get(id if isinstance(id, UUID) else UUID(id))
    except (ValueError, AttributeError, TypeError):
        raise NotFound(_NONE_SUCH) from None
    if row is not None and (
        row.person == session.sealed.blind(session.principal)
        or (row.space != STORE and _level(session, row.space, now) is Level.MANAGE)
    ):
        return row
    raise NotFound(_NONE_SUCH)


def _require_level(session: Session, call: ProposedCall, needed: Level, now: int) -> None:
    """Checks the approver's level. In the proposer's own space no level is needed."""
    if call.space.owner == call.caller.principal:
        return
    level = _level(session, call.space, now)
    if level is None or level < needed:
        raise AccessDenied(f"Approving this needs {needed.label} in the space it is about.")


def _level(session: Session, space: SpaceName | UUID, now: int) -> Level | None:
    try:
        return authorize(session, space, Op.READ, now).level
    except AccessDenied:
        return None


def _use_up(session: Session, tx: Transaction, row: ProposalRow, answer: int, now: int) -> None:
    """Marks a proposal as answered. Checks it again inside the transaction, because two people may answer at once."""
    fresh = tx.proposals.get(row.id)
    if fresh is None:
        raise NotFound(_NONE_SUCH)
    if (over := _over(fresh, now)) is not None:
        raise over
    if not tx.proposals.answer(row.id, answer):
        raise ProposalConsumed
    operation = "approve" if answer == APPROVED else "refuse"
    SealedTransaction(session.sealed, tx, now).audit(
        operation, session.principal, None if row.space == STORE else row.space, row.id
    )


def _over(row: ProposalRow, now: int) -> HoldfastError | None:
    if row.answer != WAITING:
        return ProposalConsumed()
    return ProposalExpired() if row.expires_us <= now else None


def refusal_job(error: HoldfastError) -> Job[Any]:
    """Refuses inside the transaction, after a stored answer to a repeated request had its chance."""

    def refuse(_: Transaction) -> Any:
        raise error

    return Job(refuse)


def _shown(row: ProposalRow, call: ProposedCall) -> Proposal:
    space = f"{call.space.kind.label}:{call.space.ref}"
    return Proposal(
        row.id,
        call.what,
        call.arguments,
        call.shown,
        str(call.caller.principal),
        call.caller.door,
        space,
        row.created_us,
        row.expires_us,
    )
