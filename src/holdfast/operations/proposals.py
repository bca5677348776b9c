"""Propose: ask a person before a call is made; list what waits; approve or refuse. What is approved is made as whom
asked, exactly as it was shown, with their access looked at again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from holdfast.contracts.rows import APPROVED, REFUSED, STORE, WAITING, ProposalRow
from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import Op, is_person
from holdfast.domain.errors import (
    AccessDenied,
    ConfirmationRequired,
    HoldfastError,
    Locked,
    NotFound,
    ProposalConsumed,
    ProposalExpired,
)
from holdfast.domain.grant import Level
from holdfast.domain.ids import number_of
from holdfast.domain.limits import check_limit
from holdfast.domain.principal import Caller, Principal, PrincipalKind
from holdfast.domain.proposal import Answered, Proposal
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
    """What whoever asks must be let do in the space."""


class Confirmed(NamedTuple):
    """What carries out a call that was approved."""

    level: Level
    """What the person who approves must hold in the space concerned."""
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
    asked = ProposedCall(
        proposed.what,
        proposed.arguments,
        session.engine.scrub(proposed.shown).text,
        session.caller,
        space.name,
    )
    row = seal_proposal(session.sealed, row, asked)

    def write(tx: Transaction) -> Proposal:
        tx.proposals.insert(row)
        SealedTransaction(session.sealed, tx, now).audit("propose", session.principal, space.id, row.id)
        return _shown(row, asked)

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
    """Who is there to be asked: the user who lent the token, or whom an agent works for."""
    return caller.principal if caller.principal.kind is PrincipalKind.USER else caller.session_user


def _who_answers(session: Session) -> bytes:
    """Whose yes it takes besides that of managers. Of an agent that works for nobody now it is its owner's, who need
    not be there."""
    person = person_asked(session.caller) or session.caller.owner
    if person is not None:
        return session.sealed.blind(person)
    return owner_of(session.engine, session.principal) or _NOBODY


def waiting(session: Session, limit: int) -> list[Proposal]:
    """What the caller may answer, newest first. One that was changed in the file is left out."""
    limit = check_limit(limit, session.limits.list_rows)
    if not is_person(session.caller):
        raise AccessDenied(_NO_PERSON)
    now = session.clock()
    managed = [one.space.id for one in accessible(session, Op.READ, now) if one.level is Level.MANAGE]
    rows = session.sealed.store.proposals.waiting(
        session.sealed.blind(session.principal), managed, now, limit
    )
    opened = ((row, open_proposal(session.sealed, row)) for row in rows)
    return [_shown(row, asked) for row, asked in opened if asked is not None]


def approve(session: Session, id: str | UUID, confirmed: Callable[[str], Confirmed]) -> Job[Answered]:
    """Makes the call in the same transaction in which the proposal is used up: a call that is refused leaves it."""
    now = session.clock()
    row = _sought(session, id, now)
    if (over := _over(row, now)) is not None:
        return _refusing(over)
    asked = open_proposal(session.sealed, row)
    if asked is None:
        raise Locked("This proposal was changed outside the engine.")
    call = confirmed(asked.what)
    _require_level(session, asked, call.level, now)
    job = call.prepare(replace(asked.caller, confirmed_by=session.principal), asked.arguments)

    def write(tx: Transaction) -> Answered:
        _use_up(session, tx, row, APPROVED, now)
        return Answered(row.id, asked.what, True, call.show(job(tx)))

    return Job(write)


def may_approve(session: Session, id: str | UUID, confirmed: Callable[[str], Confirmed]) -> bool:
    """Whether this person's yes would be enough, so that nobody is asked in vain."""
    now = session.clock()
    asked = open_proposal(session.sealed, _sought(session, id, now))
    if asked is None:
        return False
    try:
        _require_level(session, asked, confirmed(asked.what).level, now)
    except AccessDenied:
        return False
    return True


def refuse(session: Session, id: str | UUID) -> Job[Answered]:
    now = session.clock()
    row = _sought(session, id, now)
    if (over := _over(row, now)) is not None:
        return _refusing(over)
    asked = open_proposal(session.sealed, row)

    def write(tx: Transaction) -> Answered:
        _use_up(session, tx, row, REFUSED, now)
        return Answered(row.id, "" if asked is None else asked.what, False)

    return Job(write)


def _sought(session: Session, id: str | UUID, now: int) -> ProposalRow:
    """One that the caller may answer; another is as if it were not there."""
    if not is_person(session.caller):
        raise AccessDenied(_NO_PERSON)
    row = session.sealed.store.proposals.get(_id(id))
    if row is None:
        raise NotFound(_NONE_SUCH)
    if row.person != session.sealed.blind(session.principal) and not _manages(session, row, now):
        raise NotFound(_NONE_SUCH)
    return row


def _id(id: str | UUID) -> UUID:
    try:
        return id if isinstance(id, UUID) else UUID(id)
    except (ValueError, AttributeError, TypeError):
        raise NotFound(_NONE_SUCH) from None


def _manages(session: Session, row: ProposalRow, now: int) -> bool:
    if row.space == STORE:
        return False
    return _level(session, row.space, now) is Level.MANAGE


def _require_level(session: Session, asked: ProposedCall, needed: Level, now: int) -> None:
    """In a space of whom asked the person who is asked decides; elsewhere their own level there counts."""
    if asked.space.owner == asked.caller.principal:
        return
    level = _level(session, asked.space, now)
    if level is None or level < needed:
        raise AccessDenied(f"Approving this needs {needed.label} in the space it is about.")


def _level(session: Session, space: SpaceName | UUID, now: int) -> Level | None:
    try:
        return authorize(session, space, Op.READ, now).level
    except AccessDenied:
        return None


def _use_up(session: Session, tx: Transaction, row: ProposalRow, answer: int, now: int) -> None:
    """Looks once more inside the transaction: of two who answer together one is too late."""
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


def _refusing(error: HoldfastError) -> Job[Answered]:
    """Late, so that a repeated answer is answered as the first one was."""

    def refuse(_: Transaction) -> Answered:
        raise error

    return Job(refuse)


def _shown(row: ProposalRow, asked: ProposedCall) -> Proposal:
    space = f"{asked.space.kind.label}:{asked.space.ref}"
    return Proposal(
        row.id,
        asked.what,
        asked.arguments,
        asked.shown,
        str(asked.caller.principal),
        asked.caller.door,
        space,
        row.created_us,
        row.expires_us,
    )
