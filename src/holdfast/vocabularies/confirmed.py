"""What a person may be asked to confirm: each call by its name, with the level the person needs in the space it is
about. A call that is not listed here cannot be proposed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from holdfast.contracts.storage import Job
from holdfast.domain.errors import NotFound
from holdfast.domain.grant import Level
from holdfast.domain.principal import Caller
from holdfast.operations.proposals import Confirmed
from holdfast.operations.work import Write
from holdfast.vocabularies.session import Session
from holdfast.vocabularies.wire import assistant_calls as assistant
from holdfast.vocabularies.wire import core_calls as core
from holdfast.vocabularies.wire import fact_calls as facts
from holdfast.vocabularies.wire import store_calls as stores
from holdfast.vocabularies.wire.answers import STORED
from holdfast.vocabularies.wire.call import Call

CONFIRMED: Mapping[str, tuple[Call, Level]] = {
    "core.remember": (replace(core.REMEMBER, answer=STORED), Level.MANAGE),
    "core.forget": (core.FORGET, Level.MANAGE),
    "facts.forget": (facts.FACT_FORGET, Level.MANAGE),
    "core.share": (core.SHARE, Level.READWRITE),
    "core.unshare": (core.UNSHARE, Level.READWRITE),
    "stores.memory": (stores.MEMORY, Level.READWRITE),
    "assistant.save_memory": (assistant.SAVE_MEMORY, Level.MANAGE),
    "assistant.delete_memory": (assistant.DELETE_MEMORY, Level.MANAGE),
    "assistant.set_memory_always_inject": (assistant.SET_ALWAYS_INJECT, Level.MANAGE),
}


def confirmed(session: Session, what: str) -> Confirmed:
    if what not in CONFIRMED:
        raise NotFound(f"Nothing here carries out `{what}`; the proposal comes from another version.")
    call, level = CONFIRMED[what]

    def prepare(caller: Caller, arguments: Mapping[str, Any]) -> Job[Any]:
        work = call.run(call.surface(session._replace(caller=caller)), **arguments)
        assert isinstance(work, Write), f"{what} must be one transaction to be confirmed"
        return work.prepare()

    return Confirmed(level, prepare, call.answer.show)
