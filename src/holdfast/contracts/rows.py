"""Rows as a backend holds them: sealed, blinded, and plain only where docs/threat-model.md says so.

Tuples, because one is built for every row read. Times are microseconds. Blind values are keyed hashes the
backend cannot reverse; `sealed` is nonce and ciphertext, in entries and revisions bound to the row's other columns;
`mac` covers the visible columns of rows without a seal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

ALWAYS_INJECT = 1
ENCRYPTED = 2
QUARANTINED = 4
GUEST = 8
"""The entry lies outside its owner's own space and sessions: what `kept_elsewhere` counts."""

LABEL_BYTES = 8

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
    """The space's sequence number of the head: newest first means highest first, whatever clocks say."""
    created_us: int
    updated_us: int
    expires_us: int | None
    trashed_us: int | None
    flags: int
    length: int
    """Number of index terms; 0 when the entry is not indexed."""
    key_id: int
    labels: bytes
    """Blind slash-prefixes, category and tags, 8 bytes each: kept so that a row can be removed without its key."""
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
    """An entry changed since a moment, and the place it had then."""

    was: int
    row: EntryRow


class PlacedRow(NamedTuple):
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
    """Three counters that only grow. While they stand still, what was read of a space's entries still holds."""

    seq: int
    """Grows with every new revision."""
    removed: int
    """Grows when an entry leaves or comes back: trash, restore, purge, a new seal."""
    settled: int
    """Grows when something derived was added."""


class WholeSpace(NamedTuple):
    """A space with its counters, as it is moved to another store."""

    row: SpaceRow
    counts: SpaceCounts
    state: SpaceState


class NameRow(NamedTuple):
    """A readable principal, sealed."""

    name: bytes
    sealed: bytes


class KeyRow(NamedTuple):
    """A data key, wrapped by the master key named `master`. Destroying the row makes what it sealed unreadable."""

    space: UUID
    key_id: int
    master: bytes
    created_us: int
    wrapped: bytes


class KeyUse(NamedTuple):
    """How many messages were sealed under a data key, as far as processes have told."""

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
    """One line of a chat's participants or a system's access list."""

    member: bytes
    level: int
    mac: bytes


class RuleRow(NamedTuple):
    role: str
    read: bool
    manage: bool


class AgentRow(NamedTuple):
    """What an agent's memory may be used for. `owner` is empty when nobody's."""

    agent: bytes
    owner: bytes
    enabled: bool
    own: bool
    chat: bool
    user: bool
    default_ttl: int
    mac: bytes


class ReceiptRow(NamedTuple):
    """What an idempotency key was answered, sealed. It goes with the entry it is about; `number` 0: about none."""

    principal: bytes
    key: bytes
    space: UUID
    number: int
    request: bytes
    answer: bytes
    created_us: int


class ProposalRow(NamedTuple):
    """What waits for a person's yes; the call and the text shown are sealed, bound to the other columns but `answer`.
    `person` is empty when nobody in particular is asked, `number` 0 when no entry is concerned."""

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
    """Where the audit log ends. `code` is keyed over the other two, so that lines cut off show."""

    position: int = 0
    link: bytes = b""
    code: bytes = b""


class IndexText(NamedTuple):
    """Blind terms of an entry, separated by blanks, one string a field. Within a field sorted, in the body each chunk
    by itself, so that neither order nor phrases are kept."""

    hint: str
    tags: str
    key: str
    body: str


PLACE_NUMBER_SHIFT = 27
PLACE_FIELD_SHIFT = 20
"""How a place in the word index is packed: number, Unicode of the field's first letter (7 bits), terms before it."""


class LexiconRow(NamedTuple):
    """The word index of one entry: its blind terms as numbers, those of hint, tags, key and body one after another."""

    number: int
    tags_from: int
    """How many terms come before those of the tags; likewise the next two."""
    key_from: int
    body_from: int
    terms: Sequence[int]


class OutlineRow(NamedTuple):
    """What ranking needs of a live, indexed entry besides its words and what is derived from it."""

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
    """What was derived from one revision of an entry: signals, and the vector of a model (0: signals alone)."""

    number: int
    model: int
    revision: int
    key_id: int
    sealed: bytes
    vector: bytes = b""
    """Where the backend can compare vectors itself (Store.vectors): the vector once more, in half precision, rotated by
    the space's key. It is written, and compared, but never read: the vector itself lies in `sealed`, behind the
    signals."""


FEATURES_ONLY = 0
"""The model of what is derived without one."""


class ModelRow(NamedTuple):
    """An embedder whose vectors are kept. At most one serves recall."""

    model: int
    name: str
    dimensions: int
    state: str
    overlap: float | None
    """Share of the nearest ten that it has in common with the model it follows or followed, on a sample."""
    created_us: int


SERVING = "serving"
"""Its vectors answer questions."""
FOLLOWING = "following"
"""Its vectors are being made; it serves once all are there."""
HELD = "held"
"""All are there, but they agree too little with the serving ones: a person decides."""
FORMER = "former"
"""It served before; its vectors are kept so that one can go back."""


BEFORE_ALL_TIME = -1
"""A `now` before which nothing can have expired."""


class Visible(NamedTuple):
    """What one caller may see of one space at one moment. Backends apply it before any limit."""

    space: UUID
    partitions: tuple[int, ...]
    viewer: bytes
    now: int
    private: frozenset[int] = frozenset()
    """Of these partitions only the viewer's own rows."""

    @property
    def with_expired(self) -> Visible:
        """The same, and what has expired but still waits for the sweep."""
        return self._replace(now=BEFORE_ALL_TIME)
