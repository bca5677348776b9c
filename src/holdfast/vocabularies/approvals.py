"""Asking a person first, for calls whose answer has no room for a proposal: they are refused with its id. And
forgetting and sharing, which several vocabularies have: for the most of these a model may only ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from holdfast.contracts.storage import Job
from holdfast.domain.access import Op, asks_as_model, is_unattended
from holdfast.domain.errors import AccessDenied, ConfirmationRequired, NotText
from holdfast.domain.grant import Grant
from holdfast.domain.partition import Partition
from holdfast.domain.retention import Ttl, whole_seconds
from holdfast.domain.run import PIPELINE_RUNS, TOOL_RUNS
from holdfast.domain.scope import Everything, Runs, Scope, parse_scope
from holdfast.domain.space import own_space
from holdfast.operations import remove, share
from holdfast.operations.notes import NoteInput
from holdfast.operations.proposals import Wanted, propose
from holdfast.operations.results import Forgotten
from holdfast.operations.share import Unshared
from holdfast.operations.tool_runs import record
from holdfast.operations.work import Steps, Work, Write
from holdfast.vocabularies.session import Session, SpaceId


def ask_a_person(
    session: Session, wanted: Wanted, prepared: Callable[[], Job[Any]] | None = None
) -> Steps[Any]:
    """Keeps the proposal, then refuses: what is raised inside a write would take the proposal back with it. What is
    refused while it is `prepared` is refused at once; nobody is asked for it."""

    def prepare() -> Job[str]:
        if prepared is not None:
            prepared()
        asking = propose(session.engine, session.caller, wanted)
        return lambda tx: str(asking(tx).id)

    proposes = Write(prepare)

    def run() -> Any:
        raise waits_for_a_person(session.engine.write(proposes))

    return Steps(run, proposes=proposes)


def waits_for_a_person(proposal: str) -> ConfirmationRequired:
    refusal = ConfirmationRequired(
        f"A person must confirm this within 10 minutes: `holdfast proposals approve {proposal}`."
    )
    refusal.proposal = proposal
    return refusal


def ask_to_apply(session: Session, space: SpaceId, draft: NoteInput) -> Steps[Any]:
    """What a model wants to apply always to everybody who reads a space."""
    text, scrub = draft.text, session.engine.scrub
    if not isinstance(text, str):
        raise NotText
    said = {
        "text": scrub(text).text,
        "key": draft.key,
        "hint": None if draft.hint is None else scrub(draft.hint).text,
        "category": draft.category,
        "tags": None if draft.tags is None else list(draft.tags),
        "ttl": whole_seconds(draft.ttl),
        "space": _named(space),
        "always_inject": True,
    }
    shown = f"Save in {space}, always applied:\n{draft.key or ''}\n\n{text}"
    return ask_a_person(session, Wanted("core.remember", _only_said(said), shown, space))


def refuse_to_an_unwatched_model(session: Session) -> None:
    """Deleting, where it is one command of a tool among others: tools that only delete are not even offered."""
    if is_unattended(session.caller) and asks_as_model(session.caller):
        raise AccessDenied("Nobody watches this caller, so it deletes nothing.")


def must_ask_to_share(session: Session) -> bool:
    return not session.is_off and asks_as_model(session.caller) and not session.engine.model_may_share


def sharing(session: Session, space: SpaceId, grantee: str, level: str, ttl: Ttl) -> Work[Grant]:
    def prepare() -> Job[Grant]:
        return share.share(session.engine, session.caller, space, grantee, level, ttl)

    if not must_ask_to_share(session):
        return Write(prepare)
    seconds = whole_seconds(ttl)
    said = {"grantee": grantee, "space": _named(space), "level": level, "ttl": seconds}
    until = f" for {seconds} seconds." if seconds else "."
    shown = f"Share {_told(session, space)} with {grantee} at {level}{until}"
    return ask_a_person(session, Wanted("core.share", _only_said(said), shown, space), prepare)


def unsharing(session: Session, space: SpaceId, grantee: str) -> Work[Unshared]:
    def prepare() -> Job[Unshared]:
        return share.unshare(session.engine, session.caller, space, grantee)

    if not must_ask_to_share(session):
        return Write(prepare)
    said = {"grantee": grantee, "space": _named(space)}
    shown = f"Take back what {grantee} may do in {_told(session, space)}."
    return ask_a_person(session, Wanted("core.unshare", _only_said(said), shown, space), prepare)


def _named(space: SpaceId) -> str | None:
    return None if space is None else str(space)


def _told(session: Session, space: SpaceId) -> str:
    own = own_space(session.caller.principal)
    return f"{own.kind.label}:{own.ref}" if space is None else str(space)


def _only_said(said: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if value is not None}


def forgetting(session: Session, what: str, scope: str, partitions: tuple[Partition, ...]) -> Work[Forgotten]:
    """`what` names the call, for a person who is asked first."""

    def not_forgotten() -> Forgotten:
        parse_scope(scope)
        return Forgotten(scope, 0, persisted=False, note=session.reason)

    much = _MUCH.get(parse_scope(scope)) if asks_as_model(session.caller) else None
    if not session.is_off and much is not None:
        shown = f"Forget `{scope}` of {session.caller.principal} for good: {much}."
        return ask_a_person(session, Wanted(what, {"scope": scope}, shown, op=Op.FORGET))

    def prepare() -> Job[Forgotten]:
        record(session.engine)  # what ran before this goes with it
        return remove.forget(session.engine, session.caller, scope, partitions)

    return Write(prepare, off=not_forgotten)


_MUCH: Mapping[Scope, str] = {
    Everything(): "everything that is kept, history, trash, sessions and caches too",
    Runs(TOOL_RUNS): "all recorded runs of tools",
    Runs(PIPELINE_RUNS): "all recorded runs of pipelines",
}
"""What a model may not forget alone, as the person reads it who is asked; what is asked for by name is not much."""
