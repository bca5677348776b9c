"""The kv vocabulary: three plain calls that older agents know. Their keys are those of the agent's own store, so that
what was set here is found by the memory tool, and the other way round."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from holdfast.contracts.storage import Job, Result, Transaction
from holdfast.domain.errors import AccessDenied, InvalidField, InvalidKey, MissingKey, MissingValue, NotFound
from holdfast.domain.limits import check_label
from holdfast.domain.partition import Partition
from holdfast.domain.profile import STORES
from holdfast.operations import read, remove
from holdfast.operations.authorize import EntryName
from holdfast.operations.notes import NoteInput
from holdfast.operations.remember import not_kept, remember
from holdfast.vocabularies.administration import with_default_ttl
from holdfast.vocabularies.call import Vocabulary, call
from holdfast.vocabularies.encoding import single
from holdfast.vocabularies.fields import LINE, NAME, NO_NUL, Field
from holdfast.vocabularies.inputs import required_key

KEY = Field("The name.", "timezone", missing=MissingKey, wrong=InvalidKey)
NAMESPACE = Field("A room of keys of its own.", bounds=LINE)


class KvCalls(Vocabulary):
    @call(single("KvKept", "persisted", bool), writes=True)
    def kv_set(
        self,
        key: Annotated[str, replace(KEY, bounds=NAME)],
        value: Annotated[str, Field("The text.", "Europe/Lisbon", missing=MissingValue, bounds=NO_NUL)],
        *,
        namespace: Annotated[str, NAMESPACE] = "",
    ) -> Result[bool]:
        """Keeps a text under a key of one's own; the same key again replaces it."""
        if value is None:
            raise MissingValue("`value` is required for kv_set.")
        if not isinstance(value, str):
            raise InvalidField("`value` must be text.")
        session, arguments = self._session, NoteInput(value, key, namespace=self._label(namespace))
        if session.is_off:
            return not_kept(session, STORES, arguments).persisted
        job = remember(session, STORES, None, with_default_ttl(session, arguments))
        return job.then(lambda remembered: remembered.persisted)

    @call(single("KvValue", "value", str))
    def kv_get(self, key: Annotated[str, KEY], *, namespace: Annotated[str, NAMESPACE] = "") -> str:
        """The text of a key of one's own; an empty one when there is none."""
        session = self._session
        try:
            entry = read.get(session, self._name(key, namespace))
        except NotFound:
            return ""
        return entry.text if entry.owner == session.principal else ""

    @call(single("KvRemoved", "removed", bool), writes=True)
    def kv_delete(self, key: Annotated[str, KEY], *, namespace: Annotated[str, NAMESPACE] = "") -> Job[bool]:
        """Removes a key of one's own, to the trash, and says whether it was there."""
        trash = remove.trash(self._session, self._name(key, namespace), creator_only=True)

        def write(tx: Transaction) -> bool:
            try:
                trash.run(tx)
            except (NotFound, AccessDenied):  # nothing there, or somebody else's
                return False
            return True

        return Job(write)

    def _name(self, key: object, namespace: object) -> EntryName:
        return EntryName(required_key(key), namespace=self._label(namespace), partitions=(Partition.STORES,))

    def _label(self, namespace: object) -> str:
        return check_label("namespace", namespace, self._session.limits)
