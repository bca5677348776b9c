"""Asking a person first: a call that a model may only propose is refused with the id of its proposal. Also forgetting
and sharing, which several vocabularies have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.contracts.storage import Job, Result
from holdfast.domain.access import Op, asks_as_model, is_unattended
from holdfast.domain.errors import AccessDenied, NotText
from holdfast.domain.grant import Grant
from holdfast.domain.partition import Partition
from holdfast.domain.retention import Ttl, whole_seconds
from holdfast.domain.run import PIPELINE_RUNS, TOOL_RUNS
from holdfast.domain.scope import Everything, Runs, Scope, parse_scope
from holdfast.domain.space import own_space
from holdfast.operations import remove, share
from holdfast.operations.notes import NoteInput
from holdfast.operations.proposals import ProposalJob, ProposalRequest, confirmation_required, propose
from holdfast.operations.results import Forgotten
from holdfast.operations.session import Session
from holdfast.operations.share import Unshared
from holdfast.operations.tool_runs import record
from holdfast.vocabularies.inputs import SpaceId


def ask_a_person(session: Session, proposed: ProposalRequest) -> Job[Any]:
    """Keeps a proposal, and refuses the call with its id once that is committed."""
    job = propose(session, proposed)
    return ProposalJob(lambda tx: confirmation_required(str(job.run(tx).id)))


def propose_pin(session: Session, space: SpaceId, given: NoteInput) -> Job[Any]:
    """Proposes a memory that a model wants pinned for everybody who reads a space."""
    text, scrub = given.text, session.engine.scrub
    if not isinstance(text, str):
        raise NotText
    arguments = {
        "text": scrub(text).text,
        "key": given.key,
        "hint": None if given.hint is None else scrub(given.hint).text,
        "category": given.category,
        "tags": None if given.tags is None else list(given.tags),
        "ttl": whole_seconds(given.ttl),
        "space": str(space),
        "always_inject": True,
    }
    shown = f"Save in {space}, always applied:\n{given.key or ''}\n\n{text}"
    return ask_a_person(session, ProposalRequest("core.remember", _given_only(arguments), shown, space))


def refuse_unattended_model(session: Session) -> None:
    """Deleting, where it is one command of a tool among others: tools that only delete are not even offered."""
    if is_unattended(session.caller) and asks_as_model(session.caller):
        raise AccessDenied("Nobody watches this caller, so it deletes nothing.")


def must_ask_to_share(session: Session) -> bool:
    return not session.is_off and asks_as_model(session.caller) and not session.engine.model_may_share


def sharing(session: Session, space: SpaceId, grantee: str, level: str, ttl: Ttl) -> Job[Grant]:
    job = share.share(session, space, grantee, level, ttl)
    if not must_ask_to_share(session):
        return job
    seconds = whole_seconds(ttl)
    arguments = {"grantee": grantee, "space": _text(space), "level": level, "ttl": seconds}
    until = f" for {seconds} seconds." if seconds else "."
    shown = f"Share {_readable(session, space)} with {grantee} at {level}{until}"
    return ask_a_person(session, ProposalRequest("core.share", _given_only(arguments), shown, space))


def unsharing(session: Session, space: SpaceId, grantee: str) -> Job[Unshared]:
    job = share.unshare(session, space, grantee)
    if not must_ask_to_share(session):
        return job
    arguments = {"grantee": grantee, "space": _text(space)}
    shown = f"Take back what {grantee} may do in {_readable(session, space)}."
    return ask_a_person(session, ProposalRequest("core.unshare", _given_only(arguments), shown, space))


def _text(space: SpaceId) -> str | None:
    return None if space is None else str(space)


def _readable(session: Session, space: SpaceId) -> str:
    own = own_space(session.principal)
    return f"{own.kind.label}:{own.ref}" if space is None else str(space)


def _given_only(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def forgetting(
    session: Session, call: str, scope: str, partitions: tuple[Partition, ...]
) -> Result[Forgotten]:
    """`call` is the name under which a person approves it, where a model may only propose."""
    parsed = parse_scope(scope)
    if session.is_off:
        return Forgotten(scope, 0, persisted=False, note=session.reason)
    much = _MUCH.get(parsed) if asks_as_model(session.caller) else None
    if much is not None:
        shown = f"Forget `{scope}` of {session.principal} for good: {much}."
        return ask_a_person(session, ProposalRequest(call, {"scope": scope}, shown, op=Op.FORGET))
    record(session.engine)  # runs that still wait to be recorded are forgotten too
    return remove.forget(session, scope, partitions)


_MUCH: Mapping[Scope, str] = {
    Everything(): "everything that is kept, history, trash, sessions and caches too",
    Runs(TOOL_RUNS): "all recorded runs of tools",
    Runs(PIPELINE_RUNS): "all recorded runs of pipelines",
}
"""Scopes a model may only propose to forget, in words for the person who approves."""
