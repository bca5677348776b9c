"""Calls that a model may only propose: each is refused with the id of its proposal. Also forgetting, which several
vocabularies have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.contracts.storage import Job, Result
from holdfast.domain.access import Op, asks_as_model, is_unattended
from holdfast.domain.errors import AccessDenied, NotText
from holdfast.domain.partition import Partition
from holdfast.domain.retention import whole_seconds
from holdfast.domain.run import PIPELINE_RUNS, TOOL_RUNS
from holdfast.domain.scope import Everything, Runs, Scope, parse_scope
from holdfast.operations import remove
from holdfast.operations.notes import NoteInput
from holdfast.operations.proposals import ProposalJob, ProposalRequest, confirmation_required, propose
from holdfast.operations.results import Forgotten
from holdfast.operations.session import Session
from holdfast.operations.tool_runs import record
from holdfast.vocabularies.inputs import SpaceId


def ask_a_person(session: Session, proposed: ProposalRequest) -> Job[Any]:
    """Keeps a proposal, and refuses the call with its id once that is committed."""
    job = propose(session, proposed)
    return ProposalJob(lambda tx: confirmation_required(str(job.run(tx).id)))


def propose_pin(session: Session, space: SpaceId, arguments: NoteInput) -> Job[Any]:
    """Proposes a memory that a model wants pinned for everybody who reads a space."""
    text, scrub = arguments.text, session.engine.scrub
    if not isinstance(text, str):
        raise NotText
    proposed = {
        "text": scrub(text).text,
        "key": arguments.key,
        "hint": None if arguments.hint is None else scrub(arguments.hint).text,
        "category": arguments.category,
        "tags": None if arguments.tags is None else list(arguments.tags),
        "ttl": whole_seconds(arguments.ttl),
        "space": str(space),
        "always_inject": True,
        "namespace": arguments.namespace or None,
    }
    where = f"{space}, namespace {arguments.namespace}" if arguments.namespace else space
    shown = f"Save in {where}, always applied:\n{arguments.key or ''}\n\n{text}"
    return ask_a_person(session, ProposalRequest("core.remember", given_only(proposed), shown, space))


def refuse_unattended_model(session: Session) -> None:
    """Deleting, where it is one command of a tool among others: tools that only delete are not even offered."""
    if is_unattended(session.caller) and asks_as_model(session.caller):
        raise AccessDenied("Nobody watches this caller, so it deletes nothing.")


def must_ask_to_share(session: Session) -> bool:
    return not session.is_off and asks_as_model(session.caller) and not session.engine.model_may_share


def given_only(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def forget_scope(
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
