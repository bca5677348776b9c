"""The bytes inside a seal: a header of fields in a fixed order, parted by NUL, then the body as it is. Fields are only
ever added at the end, so that old seals stay readable. No field holds a NUL: the checks of `limits` see to it."""

from __future__ import annotations

import struct
from typing import Any

from holdfast.domain.entry import TEXT, Change, Content, Provenance, Source
from holdfast.domain.errors import InvalidField
from holdfast.domain.principal import Principal, PrincipalKind

_LENGTH = struct.Struct(">I")
_CHANGES = {change.value: change for change in Change}
_SOURCES = {source.value: source for source in Source}
_KINDS = {kind.value: kind for kind in PrincipalKind}
_FIELDS = 18
_PADDING = [""] * _FIELDS
_tuple: Any = tuple.__new__
"""Builds a named tuple without the function Python puts before it: every row that is read makes four."""
_BETWEEN = "\0"
_BETWEEN_TAGS = "\x1f"


def pack(owner: Principal, content: Content) -> bytes:
    """What is empty at the end of the header is left out: most notes have neither speaker nor time."""
    writer = content.provenance
    fields = (
        content.key,
        owner.kind,
        owner.id,
        writer.by,
        writer.door,
        writer.source,
        content.namespace,
        content.hint,
        "" if content.media_type == TEXT else content.media_type,
        content.category,
        _BETWEEN_TAGS.join(content.tags),
        content.conversation or "",
        content.speaker or "",
        "" if content.at_us is None else str(content.at_us),
        "" if content.change is Change.CREATED else content.change,
        "" if content.restores is None else str(content.restores),
        writer.conversation or "",
        writer.run or "",
    )
    header = _BETWEEN.join(fields)
    if header.count(_BETWEEN) != _FIELDS - 1:
        raise InvalidField("No field of an entry but its value may hold NUL characters.")
    encoded = header.rstrip(_BETWEEN).encode()
    return _LENGTH.pack(len(encoded)) + encoded + content.body


def unpack(plain: bytes) -> tuple[Principal, Content]:
    end = _LENGTH.size + _LENGTH.unpack_from(plain)[0]
    fields = plain[_LENGTH.size : end].decode().split(_BETWEEN)
    fields += _PADDING[len(fields) :]
    (
        key, kind, subject, by, door, source, namespace, hint, media, category, tags,
        conversation, speaker, at, change, restores, writer_conversation, run,
    ) = fields  # fmt: skip
    content: Content = _tuple(
        Content,
        (
            key,
            plain[end:],
            _tuple(Provenance, (by, door, _SOURCES[source], writer_conversation or None, run or None)),
            namespace,
            hint,
            media or TEXT,
            category,
            tuple(tags.split(_BETWEEN_TAGS)) if tags else (),
            conversation or None,
            speaker or None,
            int(at) if at else None,
            _CHANGES[change] if change else Change.CREATED,
            int(restores) if restores else None,
        ),
    )
    return _tuple(Principal, (_KINDS[kind], subject)), content
