"""The kv vocabulary: three plain calls that older agents know. Their keys are those of the agent's own store, so that
what was set here is found by the memory tool, and the other way round."""

from __future__ import annotations

from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.errors import AccessDenied, InvalidField, MissingValue, NotFound
from holdfast.domain.limits import check_label
from holdfast.domain.partition import Partition
from holdfast.domain.profile import STORES
from holdfast.operations import read, remember, remove
from holdfast.operations.authorize import EntryName
from holdfast.operations.notes import Asked, NoteInput
from holdfast.operations.work import Write
from holdfast.vocabularies.agents import with_default_ttl
from holdfast.vocabularies.session import Session, name_of


class KvCalls:
    def __init__(self, session: Session) -> None:
        self._session = session

    def kv_set(self, key: str, value: str, *, namespace: str = "") -> Write[bool]:
        """Keeps a text under a key of one's own; the same key again replaces it."""
        if value is None:
            raise MissingValue("`value` is required for kv_set.")
        if not isinstance(value, str):
            raise InvalidField("`value` must be text.")
        session = self._session
        asked = Asked(STORES, None, NoteInput(value, key, namespace=self._room(namespace)))

        def prepare() -> Job[bool]:
            keep = remember.remember(session.engine, session.caller, with_default_ttl(session, asked))
            return lambda tx: keep(tx).persisted

        def not_kept() -> bool:
            return remember.not_kept(
                session.limits, session.caller, asked, session.reason, session.clock()
            ).persisted

        return Write(prepare, off=not_kept)

    def kv_get(self, key: str, *, namespace: str = "") -> str:
        """The text of a key of one's own; an empty one when there is none."""
        session = self._session
        try:
            entry = read.get(session.engine, session.caller, self._target(key, namespace))
        except NotFound:
            return ""
        return entry.text if entry.owner == session.caller.principal else ""

    def kv_delete(self, key: str, *, namespace: str = "") -> Write[bool]:
        """Removes a key of one's own, to the trash, and says whether it was there."""
        session = self._session

        def prepare() -> Job[bool]:
            job = remove.trash(
                session.engine, session.caller, self._target(key, namespace), creator_only=True
            )

            def write(tx: Transaction) -> bool:
                try:
                    job(tx)
                except (NotFound, AccessDenied):  # nothing there, or somebody else's
                    return False
                return True

            return write

        return Write(prepare)

    def _target(self, key: object, namespace: object) -> EntryName:
        return EntryName(name_of(key), namespace=self._room(namespace), partitions=(Partition.STORES,))

    def _room(self, namespace: object) -> str:
        return check_label("namespace", namespace, self._session.limits)
