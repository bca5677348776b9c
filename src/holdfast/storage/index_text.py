"""From what an entry says to the blind terms of its word index."""

from __future__ import annotations

from sys import intern

from holdfast.contracts.rows import IndexText
from holdfast.crypto.blind import blind_term, blind_terms
from holdfast.crypto.keys import DataKey
from holdfast.domain.entry import Content
from holdfast.domain.key import is_made
from holdfast.search.analyser import analyse, analyse_chunk
from holdfast.search.traits import CHUNK_CHARACTERS, chunks

KNOWN_WORDS = 512
"""Words remembered a key: one costs a tenth of a new one."""
_LONG_TEXT = 4_096
"""Up to here a text is analysed word by word: it cannot reach the analyser's cap on terms."""
_SIGNS = str.maketrans("/_-.:", "     ")
"""A key is indexed by its words: whole it is found by name, and every whole key is new to the analyser."""
_tuple = tuple.__new__
"""Makes a named tuple without the function Python puts before it, at half its price."""


class BlindWords(dict[str, str]):
    """Words as they were written, and their blind terms with spaces between. A space's words recur, so they are
    remembered; numbers seldom come again."""

    __slots__ = ("_begin",)

    def __init__(self, key: DataKey) -> None:
        self._begin = key.terms.copy  # not the key itself, which would then live until garbage is collected

    def __missing__(self, word: str) -> str:
        blind = " ".join([blind_term(self._begin(), term) for term in analyse_chunk(word)])
        if word.isalpha():
            if len(self) >= KNOWN_WORDS:
                self.clear()
            self[intern(word)] = blind  # the words of many spaces are few
        return blind


def blind_words(key: DataKey, text: str) -> list[str]:
    """The blind terms of a text, in any order."""
    if len(text) > _LONG_TEXT:
        return blind_terms(key, analyse(text))
    words = key.words
    if words is None:
        words = key.words = BlindWords(key)
    return " ".join(map(words.__getitem__, text.split())).split()


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
