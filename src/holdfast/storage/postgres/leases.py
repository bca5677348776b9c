"""Leases: several workers share the work in spaces, and none repeats another's.

A lease is a row with an end, not a lock of a connection: it needs no session and ends with a dead worker. One that
another worker takes at this moment is skipped, not waited for. Taking a lease twice is harmless, so a lost connection
is retried."""

from __future__ import annotations

from uuid import UUID

from holdfast.storage.postgres.connections import Connections
from holdfast.storage.postgres.statements import of_space

STILL_GOOD = 0.9
"""Holders ask before every entry. With this share of the time left, a lease is not prolonged."""


class Leases:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._held: dict[tuple[UUID, str, str], int] = {}

    def take(self, space: UUID, work: str, holder: str, now: int, until: int) -> bool:
        """Takes or prolongs the lease; False while another holder has it, until its end."""
        lease = space, work, holder
        if self._held.get(lease, now) - now > (until - now) * STILL_GOOD:
            return True
        self._held.pop(lease, None)
        values = {"space": space, "work": work, "holder": holder, "now": now, "until": until}
        taken = bool(self._connections.rows(_TAKE, values))
        if taken:
            self._held[lease] = until
        return taken

    def give_back(self, space: UUID, work: str, holder: str) -> None:
        self._held.pop((space, work, holder), None)
        self._connections.rows(_GIVE_BACK, {"space": space, "work": work, "holder": holder})


_TAKE = of_space(
    "leases.take",
    """
    WITH free AS (
        SELECT space_id, work
          FROM holdfast.leases
         WHERE space_id = %(space)s
           AND work = %(work)s
           AND (holder = %(holder)s OR until_us <= %(now)s)
           FOR UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE holdfast.leases
           SET holder = %(holder)s, until_us = %(until)s
          FROM free
         WHERE leases.space_id = %(space)s
           AND leases.space_id = free.space_id
           AND leases.work = free.work
        RETURNING true
    ), made AS (
        INSERT INTO holdfast.leases (space_id, work, holder, until_us)
        SELECT %(space)s::uuid, %(work)s, %(holder)s, %(until)s::bigint
         WHERE NOT EXISTS (SELECT 1 FROM holdfast.leases WHERE space_id = %(space)s AND work = %(work)s)
        ON CONFLICT (space_id, work) DO NOTHING
        RETURNING true
    )
    SELECT * FROM taken UNION ALL SELECT * FROM made
    """,
)
_GIVE_BACK = of_space(
    "leases.give_back",
    """
    DELETE FROM holdfast.leases
     WHERE space_id = %(space)s
       AND work = %(work)s
       AND holder = %(holder)s
    RETURNING true
    """,
)
