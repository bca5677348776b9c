"""What tool code keeps, through the Python interface."""

from __future__ import annotations

from typing import Self

from holdfast.domain.principal import Principal
from holdfast.entrypoints.facade import Facade, acall, call
from holdfast.entrypoints.python.local import AsyncLocalTransport, LocalTransport
from holdfast.operations.session import Session
from holdfast.vocabularies.handler import HandlerCalls


class _AnyHandle(Facade):
    """One subject's keys, or those of one session of theirs."""

    _transport_type = LocalTransport

    def __init__(self, session: Session, subject: Principal, session_id: str | None) -> None:
        self._calls = HandlerCalls(session, subject, session_id)
        self._subject = subject
        super().__init__(self._transport_type(session, self._calls))

    def namespace(self) -> str:
        return self._calls.namespace()

    def across_sessions(self) -> Self:
        """The subject's own namespace: for what the next session is to find again."""
        return type(self)(self._transport.session, self._subject, None)


class Handle(_AnyHandle):
    """What tool code keeps for one subject, or one session of it."""

    store = call(HandlerCalls.store)
    recall = call(HandlerCalls.recall)
    list = call(HandlerCalls.list)
    delete = call(HandlerCalls.delete)
    context = call(HandlerCalls.context)


class AsyncHandle(_AnyHandle):
    """What tool code keeps for one subject, or one session of it, awaited."""

    _transport_type = AsyncLocalTransport

    store = acall(HandlerCalls.store)
    recall = acall(HandlerCalls.recall)
    list = acall(HandlerCalls.list)
    delete = acall(HandlerCalls.delete)
    context = acall(HandlerCalls.context)
