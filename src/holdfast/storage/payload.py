"""The bytes inside a seal: a header in two parts, who wrote and what it says, then the body as it is. Fields of a part
are parted by NUL and only ever added at its end, so that old seals stay readable. No field holds a NUL: the checks of
`limits` see to it."""

from __future__ import annotations

import struct
from functools import lru_cache

from holdfast.domain.entry import TEXT, Change, Content, Provenance, Source
from holdfast.domain.errors import InvalidField
from holdfast.domain.principal import Principal, PrincipalKind

_ENDS = struct.Struct(">II")
"""Where the two parts of the header end."""
_CHANGES = {change.value: change for change in Change}
_SOURCES = {source.value: source for source in Source}
_KINDS = {kind.value: kind for kind in PrincipalKind}
_BETWEEN = "\0"
_BETWEEN_TAGS = "\x1f"
_NO_CIRCUMSTANCES = (None, None, None, Change.CREATED, None, (), "")
"""What most notes have: neither conversation, speaker nor time, no change yet, no source. It is left out."""
_KNOWN_WRITERS = 1_024

_tuple = tuple.__new__
"""Makes a named tuple without the function Python puts before it, at half its price."""


def pack(owner: Principal, content: Content) -> bytes:
    (
        key, body, writer, namespace, hint, media_type, category, tags, conversation, speaker, at_us, change, restores,
        derived_from, removed_by,
    ) = content  # fmt: skip
    who = _who_part(owner, writer)
    media = "" if media_type == TEXT else media_type
    what = _joined(key, namespace, hint, media, category, _BETWEEN_TAGS.join(tags))
    if (conversation, speaker, at_us, change, restores, derived_from, removed_by) != _NO_CIRCUMSTANCES:
        what += _BETWEEN.encode() + _joined(
            conversation or "",
            speaker or "",
            "" if at_us is None else str(at_us),
            change.value,
            "" if restores is None else str(restores),
            _BETWEEN_TAGS.join(derived_from),
            removed_by,
        )
    who_ends = _ENDS.size + len(who)
    return _ENDS.pack(who_ends, who_ends + len(what)) + who + what + body


@lru_cache(_KNOWN_WRITERS)
def _who_part(owner: Principal, writer: Provenance) -> bytes:
    return _joined(
        owner.kind,
        owner.id,
        writer.by,
        writer.door,
        writer.source,
        writer.conversation or "",
        writer.run or "",
    )


def _joined(*fields: str) -> bytes:
    joined = _BETWEEN.join(fields)
    if joined.count(_BETWEEN) != len(fields) - 1:
        raise InvalidField("No field of an entry but its value may hold NUL characters.")
    return joined.encode()


def unpack(plain: bytes) -> tuple[Principal, Content]:
    who_ends, what_ends = _ENDS.unpack_from(plain)
    owner, provenance = _who(plain[_ENDS.size : who_ends])
    key, namespace, hint, media, category, tags, *others = plain[who_ends:what_ends].decode().split(_BETWEEN)
    circumstances = _circumstances(*others) if others else _NO_CIRCUMSTANCES
    content = _tuple(
        Content,
        (
            key,
            plain[what_ends:],
            provenance,
            namespace,
            hint,
            media or TEXT,
            category,
            tuple(tags.split(_BETWEEN_TAGS)) if tags else (),
            *circumstances,
        ),
    )
    return owner, content


@lru_cache(_KNOWN_WRITERS)
def _who(part: bytes) -> tuple[Principal, Provenance]:
    """Remembered, because the entries of a space have few writers."""
    kind, subject, by, door, source, conversation, run = part.decode().split(_BETWEEN)
    provenance = Provenance(by, door, _SOURCES[source], conversation or None, run or None)
    return Principal(_KINDS[kind], subject), provenance


def _circumstances(
    conversation: str,
    speaker: str,
    at: str,
    change: str,
    restores: str,
    derived_from: str = "",
    removed_by: str = "",
) -> tuple[str | None, str | None, int | None, Change, int | None, tuple[str, ...], str]:
    return (
        conversation or None,
        speaker or None,
        int(at) if at else None,
        _CHANGES[change],
        int(restores) if restores else None,
        tuple(derived_from.split(_BETWEEN_TAGS)) if derived_from else (),
        removed_by,
    )
