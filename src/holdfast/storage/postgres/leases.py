"""Who does some work in a space, and until when: so that several workers share it and none embeds what another is
embedding. A lease is a row with an end, not a lock of a connection: it needs no session and ends with a dead worker.
Taking one twice does no harm, so after a lost connection it is simply tried again."""

from __future__ import annotations

from uuid import UUID

from holdfast.storage.postgres.connections import Connections
from holdfast.storage.postgres.statements import of_space


class Leases:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def take(self, space: UUID, work: str, holder: str, now: int, until: int) -> bool:
        """Takes or prolongs the lease; False while another holder has it."""
        values = {"space": space, "work": work, "holder": holder, "now": now, "until": until}
        return bool(self._connections.rows(_TAKE, values))

    def give_back(self, space: UUID, work: str, holder: str) -> None:
        self._connections.rows(_GIVE_BACK, {"space": space, "work": work, "holder": holder})


_TAKE = of_space(
    "leases.take",
    """
    INSERT INTO holdfast.leases (space_id, work, holder, until_us)
    VALUES (%(space)s, %(work)s, %(holder)s, %(until)s)
    ON CONFLICT (space_id, work)
    DO UPDATE SET holder = excluded.holder, until_us = excluded.until_us
     WHERE leases.holder = excluded.holder OR leases.until_us <= %(now)s
    RETURNING true
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
