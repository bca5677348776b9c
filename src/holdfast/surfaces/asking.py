"""Asking a person first, for calls whose answer has no room for a proposal: they are refused with its id. And
forgetting, which several vocabularies share: of the most a model may only ask."""

from __future__ import annotations

from typing import Any

from holdfast.contracts.storage import Job
from holdfast.domain.access import asks_as_model
from holdfast.domain.errors import ConfirmationRequired, NotText
from holdfast.domain.partition import Partition
from holdfast.domain.retention import whole_seconds
from holdfast.domain.scope import Everything, OneEntry, OneKey, Runs, parse_scope
from holdfast.operations import remove
from holdfast.operations.answers import Forgotten
from holdfast.operations.propose import Wanted, propose
from holdfast.operations.record import record
from holdfast.operations.remember import Draft
from holdfast.operations.work import Steps, Work, Write
from holdfast.surfaces.seat import Seat, SpaceId


def ask_a_person(seat: Seat, wanted: Wanted) -> Steps[Any]:
    """Keeps the proposal, then refuses: what is raised inside a write would take the proposal back with it."""

    def run() -> Any:
        proposal = seat.engine.write(Write(lambda: propose(seat.engine, seat.caller, wanted)))
        refusal = ConfirmationRequired(
            f"A person must confirm this within 10 minutes: `holdfast proposals approve {proposal.id}`, or on the page."
        )
        refusal.proposal = str(proposal.id)
        raise refusal

    return Steps(run)


def ask_to_apply(seat: Seat, space: SpaceId, draft: Draft) -> Steps[Any]:
    """What a model wants to apply always to everybody who reads a space."""
    text, scrub = draft.text, seat.engine.scrub
    if not isinstance(text, str):
        raise NotText
    said = {
        "text": scrub(text).text,
        "key": draft.key,
        "hint": None if draft.hint is None else scrub(draft.hint).text,
        "category": draft.category,
        "tags": None if draft.tags is None else list(draft.tags),
        "ttl": whole_seconds(draft.ttl),
        "space": None if space is None else str(space),
        "always_inject": True,
    }
    arguments = {name: value for name, value in said.items() if value is not None}
    shown = f"Save in {space}, always applied:\n{draft.key or ''}\n\n{text}"
    return ask_a_person(seat, Wanted("core.remember", arguments, shown, space))


def forgetting(seat: Seat, what: str, scope: str, partitions: tuple[Partition, ...]) -> Work[Forgotten]:
    """`what` names the call, for a person who is asked first."""

    def not_forgotten() -> Forgotten:
        parse_scope(scope)
        return Forgotten(scope, 0, persisted=False, note=seat.reason)

    if not seat.is_off and asks_as_model(seat.caller) and _takes_much(scope):
        return ask_a_person(seat, Wanted(what, {"scope": scope}, f"Forget `{scope}` for good."))

    def prepare() -> Job[Forgotten]:
        record(seat.engine)  # what ran before this goes with it
        return remove.forget(seat.engine, seat.caller, scope, partitions)

    return Write(prepare, off=not_forgotten)


def _takes_much(scope: str) -> bool:
    """Everything, or every run of a kind; what is asked for by name is not much."""
    match parse_scope(scope):
        case Everything():
            return True
        case Runs(id=one):
            return one is None
        case OneKey() | OneEntry():
            return False
