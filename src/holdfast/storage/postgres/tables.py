"""The tables that are kept by space, partitioned when they grow with the entries, whole when a space has few rows. A
test compares this with the catalogue."""

from __future__ import annotations

PARTITIONED = ("entries", "revisions", "labels", "terms", "derived")
"""Partitioned by a hash of `space_id`, which comes first in every key."""

WHOLE = {
    "spaces": "one row a space, also found by owner; partitions would only multiply that look-up",
    "data_keys": "one row a space, two while keys rotate; kept by every node, also found by master key",
    "progress": "one row a space and model, read beside `spaces` by the queue of what waits",
    "grants": "a few rows a space, as often found by grantee",
    "members": "a few rows a space, as often found by member",
    "leases": "one row a space that is being worked in",
}
"""`space_id` comes first in every key of these too, and a cluster distributes them with the others."""

BY_PRINCIPAL = {
    "receipts": "answers to idempotency keys, found by who asked; gone after a day",
    "proposals": "what waits for a person, found by id and by person; gone after days",
    "space_names": "a name is taken once in the whole store, so the name is the key",
}
"""Tables that name a space, but are not found by it."""

BY_SPACE = ("spaces", "data_keys", *PARTITIONED, "progress", "grants", "members", "leases")
