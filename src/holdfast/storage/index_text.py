"""From what an entry says to the blind terms of its word index."""

from __future__ import annotations

from holdfast.contracts.rows import IndexText
from holdfast.crypto.blind import blind_digests, blind_terms, term_digest
from holdfast.crypto.keys import DataKey
from holdfast.domain.entry import Content
from holdfast.domain.key import is_made
from holdfast.search.analyser import analyse, analyse_chunk
from holdfast.search.traits import CHUNK_CHARACTERS, chunks

KNOWN_WORDS = 32_768
_LONG_WORD = 32
_LONG_TEXT = 4_096
"""Up to here a text is analysed word by word: it cannot reach the analyser's cap on terms."""
_SIGNS = str.maketrans("/_-.:", "     ")
"""A key is indexed by its words: whole it is found by name, and every whole key is new to the analyser."""
_tuple = tuple.__new__
"""Makes a named tuple without the function Python puts before it, at half its price."""


class _Digests(dict[str, bytes]):
    """Words as they were written, and the digests of their terms. Words recur, in one space and in others, so they are
    remembered; numbers seldom come again."""

    def __missing__(self, word: str) -> bytes:
        digests = b"".join(map(term_digest, analyse_chunk(word)))
        if word.isalpha() and len(word) <= _LONG_WORD:
            if len(self) >= KNOWN_WORDS:
                self.clear()
            self[word] = digests
        return digests


_digests_of = _Digests().__getitem__
"""Safe between threads: what two of them forget or learn at once is only looked at again."""


def blind_words(key: DataKey, text: str) -> list[str]:
    """The blind terms of a text, in any order."""
    if key.blocks is None or len(text) > _LONG_TEXT:
        return blind_terms(key, analyse(text))
    return blind_digests(key, b"".join(map(_digests_of, text.split())))


def blind_body(key: DataKey, text: str) -> list[str]:
    """Each chunk sorted by itself: the order of words is not kept, and still a place tells its chunk."""
    if len(text) <= CHUNK_CHARACTERS:
        return sorted(blind_words(key, text))
    return [term for chunk in chunks(text) for term in sorted(blind_words(key, chunk))]


def label_terms(content: Content) -> tuple[list[str], list[str], list[str]]:
    """The terms of hint, tags and key."""
    return (
        analyse(content.hint) if content.hint else [],
        analyse(" ".join(content.tags)) if content.tags else [],
        [] if is_made(content.key) else analyse(content.key.translate(_SIGNS)),
    )


def index_text(key: DataKey, content: Content, body_terms: list[str] | None) -> tuple[IndexText, int]:
    """Blind terms of each field, and how many there are. Sorted, so that the index does not keep the order of words."""
    body = blind_body(key, content.text) if body_terms is None else body_terms
    hint = blind_words(key, content.hint) if content.hint else []
    tags = blind_words(key, " ".join(content.tags)) if content.tags else []
    name = [] if is_made(content.key) else blind_words(key, content.key.translate(_SIGNS))
    text = _tuple(IndexText, (_field(hint), _field(tags), _field(name), " ".join(body)))
    return text, len(hint) + len(tags) + len(name) + len(body)


def _field(terms: list[str]) -> str:
    return " ".join(sorted(terms)) if len(terms) > 1 else "".join(terms)
