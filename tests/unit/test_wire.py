"""What goes over the wire: shown, described and read back alike."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.entry import BYTES, TEXT, Content, Entry, Provenance, Source
from holdfast.domain.ids import new_space_id
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Principal, PrincipalKind
from holdfast.operations.results import Forgotten, Hit, Remembered
from holdfast.recall.fusion import Explanation
from holdfast.vocabularies.wire import answers
from holdfast.vocabularies.wire.answers import STORED
from holdfast.vocabularies.wire.entries import ENTRY, HIT
from holdfast.vocabularies.wire.shape import Shape

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
)


HITS = st.builds(
    Hit,
    ENTRIES,
    st.floats(0, 9),
    st.none() | st.just(Explanation(1.0, 0.5, 0.25, 0.125, {"recency": 0.1}, 1.0)),
)


@given(ENTRIES)
def test_an_entry_comes_back_as_it_was_sent(entry: Entry) -> None:
    assert ENTRY.read(ENTRY.show(entry)) == entry


@given(KEPT)
def test_what_a_write_came_to_comes_back_as_it_was_sent(kept: Remembered) -> None:
    assert STORED.read(STORED.show(kept)) == kept


@pytest.mark.parametrize(
    ("shape", "values"), [(ENTRY, ENTRIES), (HIT, HITS), (STORED, KEPT)], ids=["entries", "hits", "writes"]
)
def test_the_quick_way_shows_what_the_parts_describe(
    shape: Shape[object], values: st.SearchStrategy[object]
) -> None:
    slowly = Shape(shape.name, shape.parts, shape.read)

    @given(values)
    def check(value: object) -> None:
        assert shape.show(value) == slowly.show(value)

    check()


def test_a_client_passes_over_what_a_newer_server_says_besides() -> None:
    kept = Forgotten("key:a", 1)
    shown = answers.FORGOTTEN.show(kept) | {"said_since_next_year": True}
    assert answers.FORGOTTEN.read(shown) == kept
