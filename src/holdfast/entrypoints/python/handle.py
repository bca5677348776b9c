"""What tool code keeps, through the Python door."""

from __future__ import annotations

from holdfast.domain.principal import Principal
from holdfast.entrypoints.python.local import Door, awaiting, blocking, reading_later, reading_there
from holdfast.vocabularies.handler import HandlerCalls
from holdfast.vocabularies.session import Session


class Handle(Door):
    """What tool code keeps for one subject, or one session of it."""

    _calls: HandlerCalls

    def __init__(self, session: Session, subject: Principal, session_id: str | None) -> None:
        super().__init__(HandlerCalls(session, subject, session_id), session)
        self._subject = subject

    store = blocking(HandlerCalls.store)
    recall = reading_there(HandlerCalls.recall)
    list = reading_there(HandlerCalls.list)
    delete = blocking(HandlerCalls.delete)
    context = reading_there(HandlerCalls.context)

    def namespace(self) -> str:
        return self._calls.namespace()

    def across_sessions(self) -> Handle:
        """The subject's own namespace: for what the next session is to find again."""
        return Handle(self._session, self._subject, None)


class AsyncHandle(Door):
    """What tool code keeps for one subject, or one session of it, awaited."""

    _calls: HandlerCalls

    def __init__(self, session: Session, subject: Principal, session_id: str | None) -> None:
        super().__init__(HandlerCalls(session, subject, session_id), session)
        self._subject = subject

    store = awaiting(HandlerCalls.store)
    recall = reading_later(HandlerCalls.recall)
    list = reading_later(HandlerCalls.list)
    delete = awaiting(HandlerCalls.delete)
    context = reading_later(HandlerCalls.context)

    def namespace(self) -> str:
        return self._calls.namespace()

    def across_sessions(self) -> AsyncHandle:
        return AsyncHandle(self._session, self._subject, None)
