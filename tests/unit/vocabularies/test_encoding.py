"""What goes over the wire: shown, described and read back alike."""

import json
from dataclasses import dataclass
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from holdfast.domain.entry import BYTES, TEXT, Content, Entry, Provenance, Source
from holdfast.domain.ids import new_space_id
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Principal, PrincipalKind
from holdfast.operations.results import Forgotten, Hit, Page, Remembered
from holdfast.recall.fusion import Explanation
from holdfast.vocabularies import answers
from holdfast.vocabularies.answers import STORED
from holdfast.vocabularies.encoding import Answer, record
from holdfast.vocabularies.entries import ENTRY, HIT, PAGE

SPACE = new_space_id()
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
MOMENTS = st.integers(0, 4_000_000_000_000_000)
ORIGINS = st.builds(Provenance, TEXTS, TEXTS, st.sampled_from(Source), st.none() | TEXTS, st.none() | TEXTS)
CONTENTS = st.builds(
    Content,
    key=TEXTS,
    body=TEXTS.map(str.encode),
    provenance=ORIGINS,
    namespace=TEXTS,
    hint=TEXTS,
    media_type=st.sampled_from([TEXT, BYTES]),
    category=TEXTS,
    tags=st.lists(TEXTS, max_size=3).map(tuple),
    conversation=st.none() | TEXTS,
    speaker=st.none() | TEXTS,
    at_us=st.none() | MOMENTS,
    restores=st.none(),
)
OWNERS = st.sampled_from(PrincipalKind).flatmap(
    lambda kind: st.sampled_from(["alice", "https://issuer|bob", "a:b"]).map(lambda id: Principal(kind, id))
)
ENTRIES = st.builds(
    Entry,
    space=st.just(SPACE),
    number=st.integers(1, 2**32 - 1),
    owner=OWNERS,
    partition=st.sampled_from(Partition),
    revision=st.integers(1, 10_000),
    content=CONTENTS,
    created_us=MOMENTS,
    updated_us=MOMENTS,
    expires_us=st.none() | MOMENTS,
    trashed_us=st.none() | MOMENTS,
    always_inject=st.booleans(),
    encrypted=st.booleans(),
    quarantined=st.booleans(),
)
KEPT = st.builds(
    Remembered,
    st.none() | st.just(UUID(int=SPACE.int | 7)),
    TEXTS,
    st.none() | st.just(SPACE),
    st.integers(0, 9),
    st.booleans(),
    st.none() | MOMENTS,
    st.integers(0, 9),
    st.booleans(),
    st.none() | TEXTS,
    TEXTS,
    st.dictionaries(TEXTS, st.integers(1, 9)).map(lambda kinds: tuple(sorted(kinds.items()))),
    similar=st.none(),
)
"""Without similar entries, which a kept answer has none of."""


HITS = st.builds(
    Hit,
    ENTRIES,
    st.floats(0, 9),
    st.none() | st.just(Explanation(1.0, 0.5, 0.25, 0.125, {"recency": 0.1}, 1.0)),
)


@given(ENTRIES)
def test_an_entry_comes_back_as_it_was_sent(entry: Entry) -> None:
    assert ENTRY.decode(ENTRY.encode(entry)) == entry


@given(KEPT)
def test_what_a_write_came_to_comes_back_as_it_was_sent(kept: Remembered) -> None:
    assert STORED.decode(STORED.encode(kept)) == kept


@pytest.mark.parametrize(
    ("answer", "values"), [(ENTRY, ENTRIES), (HIT, HITS), (STORED, KEPT)], ids=["entries", "hits", "writes"]
)
def test_what_is_sent_is_what_the_schema_describes(
    answer: Answer[object], values: st.SearchStrategy[object]
) -> None:
    schema = Draft202012Validator(answer.schema())

    @given(values)
    def check(value: object) -> None:
        schema.validate(json.loads(json.dumps(answer.encode(value))))

    check()


def test_a_client_passes_over_what_a_newer_server_says_besides() -> None:
    kept = Forgotten("key:a", 1)
    shown = answers.FORGOTTEN.encode(kept) | {"said_since_next_year": True}
    assert answers.FORGOTTEN.decode(shown) == kept


@dataclass(frozen=True, slots=True)
class Parcel:
    id: UUID
    owner: Principal
    sent_us: int
    labels: tuple[str, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    lost_us: int | None = None
    note: str | None = None

    @property
    def heavy(self) -> bool:
        return len(self.labels) > 1


PARCEL = record(
    Parcel,
    order=("id", "owner", "sent_us", "labels", "counts", "heavy", "lost_us", "note"),
    optional=("counts", "note"),
    renamed={"labels": "marks"},
)
SENT = Parcel(SPACE, Principal(PrincipalKind.USER, "alice"), 0, ("a", "b"))


def test_a_record_is_encoded_by_the_annotations_of_its_class() -> None:
    assert PARCEL.encode(SENT) == {
        "id": str(SPACE),
        "owner": "user:alice",
        "sent_at": "1970-01-01T00:00:00Z",
        "marks": ("a", "b"),
        "heavy": True,
        "lost_at": None,
    }


@given(
    st.builds(
        Parcel,
        st.uuids(),
        OWNERS,
        MOMENTS,
        st.lists(TEXTS, max_size=3).map(tuple),
        st.dictionaries(TEXTS, st.integers(1, 9)).map(lambda counts: tuple(sorted(counts.items()))),
        st.none() | MOMENTS,
        st.none() | TEXTS,
    )
)
def test_a_record_comes_back_as_it_was_sent_and_as_its_schema_describes(parcel: Parcel) -> None:
    encoded = json.loads(json.dumps(PARCEL.encode(parcel)))
    Draft202012Validator(PARCEL.schema()).validate(encoded)
    assert PARCEL.decode(encoded) == parcel


def test_a_list_carries_what_stands_beside_its_rows() -> None:
    page = Page(cursor="next", note="one row is locked")
    assert PAGE.encode(page) == {"entries": [], "cursor": "next", "note": "one row is locked"}
    again = PAGE.decode({"entries": [], "cursor": None, "locked": 2})
    assert (again.cursor, again.locked, again.note) == (None, 2, None)
