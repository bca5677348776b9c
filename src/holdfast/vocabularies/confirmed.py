"""Calls that a person may be asked to confirm, by name, with the level the person needs in the space concerned. A call
that is not listed here cannot be proposed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from holdfast.contracts.storage import Job
from holdfast.domain.errors import NotFound
from holdfast.domain.grant import Level
from holdfast.domain.principal import Caller
from holdfast.operations.proposals import Confirmed
from holdfast.operations.session import Session
from holdfast.vocabularies.answers import STORED
from holdfast.vocabularies.assistant import AssistantCalls
from holdfast.vocabularies.call import call_of
from holdfast.vocabularies.core import CoreCalls
from holdfast.vocabularies.facts import FactCalls
from holdfast.vocabularies.sharing import SharingCalls
from holdfast.vocabularies.stores import StoreCalls

CONFIRMED: Mapping[str, tuple[Callable[..., Any], Level]] = {
    "core.remember": (CoreCalls.remember, Level.MANAGE),
    "core.forget": (CoreCalls.forget, Level.MANAGE),
    "facts.forget": (FactCalls.forget, Level.MANAGE),
    "core.share": (SharingCalls.share, Level.READWRITE),
    "core.unshare": (SharingCalls.unshare, Level.READWRITE),
    "stores.memory": (StoreCalls.memory, Level.READWRITE),
    "assistant.save_memory": (AssistantCalls.save_memory, Level.MANAGE),
    "assistant.delete_memory": (AssistantCalls.delete_memory, Level.MANAGE),
    "assistant.set_memory_always_inject": (AssistantCalls.set_memory_always_inject, Level.MANAGE),
}


def confirmed(session: Session, what: str) -> Confirmed:
    if what not in CONFIRMED:
        raise NotFound(f"Nothing here carries out `{what}`; the proposal comes from another version.")
    method, level = CONFIRMED[what]
    call = call_of(method)

    def prepare(caller: Caller, arguments: Mapping[str, Any]) -> Job[Any]:
        job = call.on(session.acting_as(caller), **arguments)
        assert isinstance(job, Job), f"{what} must be one transaction to be confirmed"
        return job

    answer = STORED if method is CoreCalls.remember else call.answer  # a kept answer holds no similar entries
    return Confirmed(level, prepare, answer.encode)
