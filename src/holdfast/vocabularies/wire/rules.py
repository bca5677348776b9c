"""What JSON Schema says of several fields together: what a command needs, which fields exclude each other.
Made for the OpenAPI document; the call itself judges every request, and models are shown none of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.vocabularies.wire.call import NO_VALUE
from holdfast.vocabularies.wire.fields import Schema

SAID: Schema = {"not": NO_VALUE}


def way(title: str, needed: Mapping[str, Schema], *without: str, **more: Any) -> Schema:
    """One way of asking: what has to be said, and what must not be."""
    return {
        "title": title,
        "properties": {**needed, **dict.fromkeys(without, NO_VALUE)},
        **({"required": list(needed)} if needed else {}),
        **more,
    }
