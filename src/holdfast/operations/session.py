"""A session: the engine and the caller of one request, which every operation is given."""

from __future__ import annotations

from holdfast.contracts.host import Clock
from holdfast.domain.errors import Unavailable
from holdfast.domain.limits import Limits
from holdfast.domain.principal import Caller, Principal
from holdfast.operations.engine import Engine
from holdfast.storage.sealed_store import SealedStore


class Session:
    """The caller of one request, on an engine. While memory is off there is no engine but a reason. Limits and the
    clock are here too, because arguments are checked all the same."""

    __slots__ = ("caller", "clock", "engine_or_none", "limits", "reason")

    def __init__(
        self, engine: Engine | None, caller: Caller, limits: Limits, clock: Clock, reason: str = ""
    ) -> None:
        self.engine_or_none = engine
        self.caller = caller
        self.limits = limits
        self.clock = clock
        self.reason = reason

    @property
    def engine(self) -> Engine:
        if self.engine_or_none is None:
            raise Unavailable(self.reason or None)
        return self.engine_or_none

    @property
    def sealed(self) -> SealedStore:
        return self.engine.sealed

    @property
    def principal(self) -> Principal:
        return self.caller.principal

    @property
    def is_off(self) -> bool:
        return self.engine_or_none is None

    @property
    def is_remote(self) -> bool:
        return self.engine_or_none is not None and self.engine_or_none.sealed.store.remote

    def acting_as(self, caller: Caller) -> Session:
        """A session of another caller on this engine."""
        return Session(self.engine_or_none, caller, self.limits, self.clock, self.reason)
