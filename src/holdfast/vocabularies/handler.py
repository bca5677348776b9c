"""Handler memory: what tool code keeps for itself in the caller's space. No model ever sees it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from holdfast.contracts.storage import Job
from holdfast.crypto.blind import fingerprint
from holdfast.domain.entry import Entry
from holdfast.domain.errors import NotText
from holdfast.domain.limits import check_limit
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Principal, check_subject
from holdfast.domain.profile import HANDLER
from holdfast.domain.retention import Ttl
from holdfast.domain.space import SpaceName, own_space, session_space
from holdfast.domain.times import to_datetime
from holdfast.operations import read, remember, remove
from holdfast.operations.authorize import EntryName
from holdfast.operations.notes import NoteInput
from holdfast.operations.read import Listing
from holdfast.operations.session import Session
from holdfast.vocabularies.call import Vocabulary
from holdfast.vocabularies.inputs import lookup_key, page_filter, tag_list

UNCATEGORIZED = "uncategorized"
ALL = 100_000


@dataclass(frozen=True, slots=True)
class HandlerEntry:
    key: str
    value: bytes
    category: str
    tags: tuple[str, ...]
    fingerprint: str
    """Keyed: equal values have equal fingerprints within one space, and nobody without its key can test a guess."""
    created_us: int
    updated_us: int
    expires_us: int | None

    @property
    def text(self) -> str:
        try:
            return self.value.decode()
        except UnicodeDecodeError:
            raise NotText("The value is not text; read its bytes as `value`.") from None

    @property
    def created_at(self) -> datetime:
        return to_datetime(self.created_us)

    @property
    def updated_at(self) -> datetime:
        return to_datetime(self.updated_us)

    @property
    def expires_at(self) -> datetime | None:
        return None if self.expires_us is None else to_datetime(self.expires_us)


HandlerEntries = list[HandlerEntry]
ByCategory = dict[str, HandlerEntries]


class HandlerCalls(Vocabulary):
    """One namespace: a subject, or a subject's session. Nothing else is reachable from it."""

    def __init__(self, session: Session, subject: Principal, session_id: str | None) -> None:
        super().__init__(session)
        self._subject = subject
        self._session_id = None if session_id is None else check_subject("session", session_id) or None
        self._space: SpaceName = (
            session_space(subject, self._session_id) if self._session_id else own_space(subject)
        )

    def namespace(self) -> str:
        """`subject` or `subject:session`, for show; the two parts never run together in the store."""
        return self._subject.id if self._session_id is None else f"{self._subject.id}:{self._session_id}"

    def store(
        self,
        key: str,
        value: bytes | str,
        *,
        ttl: Ttl = None,
        category: str | None = None,
        tags: Iterable[str] | None = None,
    ) -> Job[HandlerEntry]:
        """Keeps bytes under a key; without a ttl (or with 0) for ever."""
        arguments = NoteInput(value, key, category=category, tags=tag_list(tags), ttl=ttl)
        kept = remember.keep(self._session, HANDLER, self._space, arguments)
        return kept.then(lambda done: _entry(done.entry, done.fingerprint))

    def recall(self, key: str) -> HandlerEntry:
        """The entry of a key; NotFound when it is absent or has expired."""
        return self._shown(read.get(self._session, self._target(key)))

    def list(self, prefix: str = "") -> HandlerEntries:
        """Entries under a prefix, newest change first."""
        return self._entries(prefix, ALL)

    def delete(self, key: str) -> Job[bool]:
        """Removes an entry; a missing one is no error."""
        return remove.discard(self._session, self._target(key))

    def context(self, limit: int = 50) -> ByCategory:
        """The newest entries with their values, by category, for a prompt."""
        grouped: ByCategory = {}
        for entry in self._entries("", check_limit(limit, ALL)):
            grouped.setdefault(entry.category or UNCATEGORIZED, []).append(entry)
        return grouped

    def _entries(self, prefix: str, limit: int) -> HandlerEntries:
        found: HandlerEntries = []
        cursor = None
        while len(found) < limit:
            size = min(limit - len(found), self._session.limits.list_rows)
            listing = Listing((Partition.HANDLER,), self._space, page_filter(prefix), size, cursor)
            page = read.list_entries(self._session, listing)
            found += [self._shown(entry) for entry in page]
            cursor = page.cursor
            if cursor is None:
                break
        return found

    def _shown(self, entry: Entry) -> HandlerEntry:
        key = self._session.sealed.keyring.of(entry.space).current
        return _entry(entry, fingerprint(key, entry.value))

    def _target(self, key: str) -> EntryName:
        return EntryName(lookup_key(key), space=self._space, partitions=(Partition.HANDLER,))


def _entry(entry: Entry, mark: bytes) -> HandlerEntry:
    return HandlerEntry(
        entry.key,
        entry.value,
        entry.category,
        entry.tags,
        mark.hex()[:16],
        entry.created_us,
        entry.updated_us,
        entry.expires_us,
    )
