"""Rows as a backend holds them: sealed, blinded, and plain only where docs/threat-model.md says so.

Tuples, because one is built for every row read. Times are microseconds. Blind values are keyed hashes the
backend cannot reverse; `sealed` is nonce and ciphertext, in entries and revisions bound to the row's other columns;
`mac` covers the visible columns of rows without a seal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

ALWAYS_INJECT = 1
ENCRYPTED = 2
QUARANTINED = 4
GUEST = 8
"""Flag of an entry outside its owner's own space and sessions, which `kept_elsewhere` counts."""

LABEL_BYTES = 8


def split_labels(labels: bytes) -> list[bytes]:
    return [labels[at : at + LABEL_BYTES] for at in range(0, len(labels), LABEL_BYTES)]


@lru_cache(maxsize=256)
def partition_mask(partitions: Collection[int]) -> int:
    """A number with the bit of each partition set, by which a statement selects rows."""
    return sum(1 << partition for partition in partitions)


STORE = UUID(int=0)
"""The space id of the store's own key: for names of principals and spaces, cursors, receipts and the audit log."""


class EntryRow(NamedTuple):
    """The head revision of an entry."""

    number: int
    partition: int
    owner: bytes
    key: bytes
    revision: int
    born: int
    """The space's sequence number at creation."""
    seq: int
    """The space's sequence number of the head. Newest first means highest first, whatever clocks say."""
    created_us: int
    updated_us: int
    expires_us: int | None
    trashed_us: int | None
    flags: int
    length: int
    """Number of index terms; 0 when the entry is not indexed."""
    key_id: int
    labels: bytes
    """Blind slash-prefixes, category and tags, 8 bytes each. Stored, so that a row can be removed without its key."""
    sealed: bytes

    def is_over(self, now: int) -> bool:
        return self.expires_us is not None and self.expires_us <= now


class RevisionRow(NamedTuple):
    """A superseded revision."""

    number: int
    revision: int
    seq: int
    updated_us: int
    expires_us: int | None
    flags: int
    key_id: int
    sealed: bytes


class MovedRow(NamedTuple):
    """An entry changed after a moment, and its sequence number at that moment."""

    was: int
    row: EntryRow


class EntryAddress(NamedTuple):
    """An entry found without naming its space (sweep)."""

    space: UUID
    number: int


class SpaceRow(NamedTuple):
    id: UUID
    kind: int
    name: bytes
    owner: bytes | None
    listed: bool
    key_id: int
    created_us: int
    sealed: bytes


class SpaceCounts(NamedTuple):
    seq: int
    entries: int
    indexed: int
    length: int
    key_id: int


class SpaceState(NamedTuple):
    """Three counters that only grow. While they are unchanged, a snapshot of the space is current."""

    seq: int
    """Grows with every new revision."""
    removed: int
    """Grows when an entry leaves or comes back: trash, restore, purge, a new seal."""
    settled: int
    """Grows when a derived row was added."""


class WholeSpace(NamedTuple):
    """A space with its counters, for moving it to another store."""

    row: SpaceRow
    counts: SpaceCounts
    state: SpaceState


class NameRow(NamedTuple):
    """A readable principal, sealed."""

    name: bytes
    sealed: bytes


class KeyRow(NamedTuple):
    """A data key, wrapped by the master key named `master`. Without the row, everything sealed under the key is
    unreadable."""

    space: UUID
    key_id: int
    master: bytes
    created_us: int
    wrapped: bytes


class KeyUse(NamedTuple):
    """The number of messages sealed under a data key, as far as processes have reported."""

    space: UUID
    key_id: int
    uses: int


class GrantRow(NamedTuple):
    space: UUID
    grantee: bytes
    granted_by: bytes
    level: int
    created_us: int
    expires_us: int | None
    mac: bytes


class MemberRow(NamedTuple):
    """One line of a chat's participants or of a system's access list."""

    member: bytes
    level: int
    mac: bytes


class RuleRow(NamedTuple):
    role: str
    read: bool
    manage: bool


class AgentRow(NamedTuple):
    """The settings of an agent's memory. `owner` is empty when the agent belongs to nobody."""

    agent: bytes
    owner: bytes
    enabled: bool
    own: bool
    chat: bool
    user: bool
    default_ttl: int
    mac: bytes


class ReceiptRow(NamedTuple):
    """The sealed answer to an idempotency key. It is removed with the entry it is about; `number` 0 means none."""

    principal: bytes
    key: bytes
    space: UUID
    number: int
    request: bytes
    answer: bytes
    created_us: int


class ProposalRow(NamedTuple):
    """A call that waits for a person's approval. Call and text shown are sealed, bound to the other columns but
    `answer`. `person` is empty when nobody in particular is asked; `number` 0 means no entry."""

    id: UUID
    person: bytes
    proposer: bytes
    space: UUID
    number: int
    created_us: int
    expires_us: int
    answer: int
    sealed: bytes


WAITING = 0
APPROVED = 1
REFUSED = 2


class AuditRow(NamedTuple):
    """One line of the audit log: keyed ids, no bodies. `link` chains it to the line before."""

    at_us: int
    operation: str
    actor: bytes
    space: bytes
    object: bytes
    revision: int
    key_id: int
    link: bytes


class AuditHead(NamedTuple):
    """The end of the audit log. `code` is keyed over the other two, so that lines cut off show."""

    position: int = 0
    link: bytes = b""
    code: bytes = b""


class IndexText(NamedTuple):
    """Blind terms of an entry, one string for each field, separated by blanks. They are sorted within a field, in the
    body within each chunk, so that neither order nor phrases are stored."""

    hint: str
    tags: str
    key: str
    body: str


PLACE_NUMBER_SHIFT = 27
PLACE_FIELD_SHIFT = 20
"""Shifts that pack a place in the word index: entry number, Unicode of the field's first letter (7 bits), terms
before it."""


class WordTableRow(NamedTuple):
    """The word index of one entry: blind terms as numbers, those of hint, tags, key and body concatenated."""

    number: int
    tags_from: int
    """The number of terms before those of the tags; likewise the next two."""
    key_from: int
    body_from: int
    terms: Sequence[int]


class OutlineRow(NamedTuple):
    """The columns of a live, indexed entry that ranking needs besides terms and derived rows."""

    number: int
    partition: int
    owner: bytes
    revision: int
    seq: int
    updated_us: int
    expires_us: int | None
    flags: int
    length: int


class DerivedRow(NamedTuple):
    """Features derived from one revision of an entry, and its vector for a model (0: features alone)."""

    number: int
    model: int
    revision: int
    key_id: int
    sealed: bytes
    vector: bytes = b""
    """The vector in half precision, rotated by the space's key, where the backend compares vectors itself
    (Store.vectors). It is written and compared, but never read: `sealed` holds the vector behind the features."""


FEATURES_ONLY = 0
"""The model number of features derived without an embedder."""


class ModelRow(NamedTuple):
    """An embedder whose vectors are kept. At most one serves recall."""

    model: int
    name: str
    dimensions: int
    state: str
    overlap: float | None
    """The share of the nearest ten that it has in common with the other model of a change, on a sample."""
    created_us: int


SERVING = "serving"
"""Its vectors answer questions."""
FOLLOWING = "following"
"""Its vectors are being made; it serves once all are there."""
HELD = "held"
"""All are there, but agree too little with the serving ones: a person decides."""
FORMER = "former"
"""It served before; its vectors are kept, so that one can go back."""


BEFORE_ALL_TIME = -1
"""A `now` before which nothing can have expired."""


class Visible(NamedTuple):
    """The part of one space that one caller may see at one moment. Backends apply it before any limit."""

    space: UUID
    partitions: tuple[int, ...]
    viewer: bytes
    now: int
    private: frozenset[int] = frozenset()
    """Partitions of which only the viewer's own rows are visible."""

    @property
    def with_expired(self) -> Visible:
        """A copy that also shows expired entries, which wait for the sweep."""
        return self._replace(now=BEFORE_ALL_TIME)
