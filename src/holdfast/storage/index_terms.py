"""From what an entry says to the blind terms of its word index."""

from __future__ import annotations

from holdfast.contracts.rows import IndexText
from holdfast.crypto.blind import BLOCK_BYTES, blind_digests, blind_terms, term_digest, written
from holdfast.crypto.keys import DataKey
from holdfast.domain.entry import Content
from holdfast.domain.key import is_made
from holdfast.text.analyser import analyse, analyse_chunk
from holdfast.text.traits import chunks

Words = tuple[IndexText, int]
"""What the word index holds of an entry, and how many terms that is."""
KNOWN_WORDS = 32_768
_LONG_WORD = 32
_SHORT_WORD = 5
_tuple = tuple.__new__
"""Makes a named tuple without the function Python puts before it, at half its price."""


class _Digests(dict[str, bytes]):
    """Words as they were written, and the digests of their terms. Words recur, in one space and in others, so they are
    remembered, and so are counts, years and other short numbers; long ones seldom come again."""

    def __missing__(self, word: str) -> bytes:
        digests = b"".join(map(term_digest, analyse_chunk(word)))
        if len(word) <= (_LONG_WORD if word.isalpha() else _SHORT_WORD):
            if len(self) >= KNOWN_WORDS:
                self.clear()
            self[word] = digests
        return digests


_digests_of = _Digests().__getitem__
"""Safe between threads: what two of them forget or learn at once is only looked at again."""


def _digested(line: str) -> bytes:
    """Of a chunk or a label, too short to reach the analyser's cap on terms."""
    return b"".join(map(_digests_of, line.split()))


def label_terms(content: Content) -> tuple[list[str], list[str], list[str]]:
    """The terms of hint, tags and key."""
    return (
        analyse(content.hint) if content.hint else [],
        analyse(" ".join(content.tags)) if content.tags else [],
        [] if is_made(content.key) else analyse(_parted(content.key)),
    )


def _parted(key: str) -> str:
    """A key is indexed by its words: whole it is found by name, and every whole key is new to the analyser."""
    return key.replace("/", " ").replace("_", " ").replace("-", " ").replace(".", " ").replace(":", " ")


def index_text(key: DataKey, content: Content) -> Words:
    """Blind terms of each field, and how many there are. Sorted, so that the index does not keep the order of words;
    each chunk of the body by itself, so that a place still tells its chunk."""
    if key.blocks is None:
        return _by_hash(key, content)
    hint = _digested(content.hint) if content.hint else b""
    tags = _digested(" ".join(content.tags)) if content.tags else b""
    name = b"" if is_made(content.key) else _digested(_parted(content.key))
    said = [_digested(chunk) for chunk in chunks(content.text)]
    parts = hint, tags, name, *said
    blinds, at, fields = blind_digests(key, b"".join(parts)), 0, []
    for digests in parts:
        end = at + len(digests) // BLOCK_BYTES
        fields.append(written(sorted(blinds[at:end])))
        at = end
    whole = fields[3] if len(said) == 1 else " ".join(filter(None, fields[3:]))
    text: IndexText = _tuple(IndexText, (*fields[:3], whole))
    return text, len(blinds)


def _by_hash(key: DataKey, content: Content) -> Words:
    """The same under a key from before."""
    hint, tags, name = (sorted(blind_terms(key, terms)) for terms in label_terms(content))
    said = [sorted(blind_terms(key, analyse(chunk))) for chunk in chunks(content.text)]
    body = [term for chunk in said for term in chunk]
    text = IndexText(*map(" ".join, (hint, tags, name, body)))
    return text, len(hint) + len(tags) + len(name) + len(body)
