"""The bytes inside a seal: a JSON header with short names, then the body as it is."""

from __future__ import annotations

import json
import struct
from typing import Any

from holdfast.domain.entry import TEXT, Change, Content, Provenance, Source
from holdfast.domain.principal import Principal, PrincipalKind

_LENGTH = struct.Struct(">I")
_DUMP = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_LOAD = json.JSONDecoder().decode
_CHANGES = {change.value: change for change in Change}
_SOURCES = {source.value: source for source in Source}
_KINDS = {kind.value: kind for kind in PrincipalKind}


def pack(owner: Principal, content: Content) -> bytes:
    """What is empty or as usual is left out: most notes carry a key, an owner and a writer."""
    writer = content.provenance
    header: dict[str, Any] = {
        "k": content.key,
        "o": [owner.kind.value, owner.id],
        "w": [writer.by, writer.door, writer.source.value],
    }
    optional = {
        "n": content.namespace,
        "h": content.hint,
        "c": content.category,
        "t": content.tags,
        "m": "" if content.media_type == TEXT else content.media_type,
        "cv": content.conversation,
        "sp": content.speaker,
        "at": content.at_us,
        "ch": "" if content.change is Change.CREATED else content.change.value,
        "re": content.restores,
        "wc": writer.conversation,
        "wr": writer.run,
    }
    header.update((name, value) for name, value in optional.items() if value not in (None, "", ()))
    encoded = _DUMP(header).encode()
    return _LENGTH.pack(len(encoded)) + encoded + content.body


def unpack(plain: bytes) -> tuple[Principal, Content]:
    (size,) = _LENGTH.unpack_from(plain)
    end = _LENGTH.size + size
    header = _LOAD(plain[_LENGTH.size : end].decode())
    get = header.get
    by, door, source = header["w"]
    kind, subject = header["o"]
    content = Content(
        header["k"],
        plain[end:],
        Provenance(by, door, _SOURCES[source], get("wc"), get("wr")),
        get("n", ""),
        get("h", ""),
        get("m", TEXT),
        get("c", ""),
        tuple(get("t", ())),
        get("cv"),
        get("sp"),
        get("at"),
        _CHANGES[get("ch", "created")],
        get("re"),
    )
    return Principal(_KINDS[kind], subject), content
