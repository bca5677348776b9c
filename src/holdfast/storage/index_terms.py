"""Makes the blind terms of the word index from the content of an entry."""

from __future__ import annotations

from holdfast.bounded_cache import BoundedCache
from holdfast.contracts.rows import IndexText
from holdfast.crypto.blind import BLOCK_BYTES, blind_digests, term_digest, written
from holdfast.crypto.keys import DataKey
from holdfast.domain.entry import Content
from holdfast.domain.ids import is_made
from holdfast.text.analyser import analyse, analyse_chunk
from holdfast.text.traits import chunks

Words = tuple[IndexText, int]
"""The word index of one entry, and its number of terms."""
NOT_INDEXED: Words = (IndexText("", "", "", ""), 0)
KNOWN_WORDS = 32_768
_LONG_WORD = 32
_SHORT_WORD = 5
_WORDS_OF_KEY = str.maketrans("/_-.:", "     ")
"""Splits a key into words: the whole key is found by name, and is never a known word to the analyser."""


class _Digests(BoundedCache[str, bytes]):
    """Cache from a written word to the digests of its terms. Short words recur, in one space and in others; long ones
    seldom do."""

    def __missing__(self, word: str) -> bytes:
        digests = b"".join(map(term_digest, analyse_chunk(word)))
        if len(word) <= (_LONG_WORD if word.isalpha() else _SHORT_WORD):
            self[word] = digests
        return digests


_digests_of = _Digests(KNOWN_WORDS).__getitem__


def _digests(line: str) -> bytes:
    """The digests of a chunk or a label, which is too short to reach the analyser's cap on terms."""
    return b"".join(map(_digests_of, line.split()))


def label_terms(content: Content) -> tuple[list[str], list[str], list[str]]:
    """The terms of hint, tags and key."""
    return (
        analyse(content.hint) if content.hint else [],
        analyse(" ".join(content.tags)) if content.tags else [],
        [] if is_made(content.key) else analyse(content.key.translate(_WORDS_OF_KEY)),
    )


def index_text(key: DataKey, content: Content) -> Words:
    """The blind terms of each field, and how many there are. They are sorted, so that the index does not keep the order
    of words; each chunk of the body apart, so that a position still tells its chunk."""
    hint = _digests(content.hint) if content.hint else b""
    tags = _digests(" ".join(content.tags)) if content.tags else b""
    name = b"" if is_made(content.key) else _digests(content.key.translate(_WORDS_OF_KEY))
    parts = [hint, tags, name, *map(_digests, chunks(content.text))]
    blinds, start, fields = blind_digests(key, b"".join(parts)), 0, []
    for digests in parts:
        end = start + len(digests) // BLOCK_BYTES
        fields.append(written(sorted(blinds[start:end])))
        start = end
    body = " ".join(filter(None, fields[3:]))
    return IndexText(hint=fields[0], tags=fields[1], key=fields[2], body=body), len(blinds)
