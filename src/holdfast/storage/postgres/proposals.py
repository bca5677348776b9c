"""Proposals."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from holdfast.contracts.rows import WAITING, ProposalRow
from holdfast.storage.postgres.connections import Reads, Writes
from holdfast.storage.postgres.statements import shared

_COLUMNS = "id, person, proposer, space_id, number, created_us, expires_us, answer, sealed"
_OF_PEOPLE = "proposals wait for people, whatever space they are about"


class ProposalReads(Reads):
    def get(self, id: UUID) -> ProposalRow | None:
        rows = self._reader.rows(_GET, {"id": id})
        return ProposalRow._make(rows[0]) if rows else None

    def waiting(self, person: bytes, spaces: Sequence[UUID], now: int, limit: int) -> list[ProposalRow]:
        values = {"person": person, "spaces": list(spaces), "waiting": WAITING, "now": now, "limit": limit}
        return list(map(ProposalRow._make, self._reader.rows(_WAITING, values)))


_GET = shared(
    "proposals.get", f"SELECT {_COLUMNS} FROM holdfast.proposals WHERE id = %(id)s", because=_OF_PEOPLE
)
_WAITING = shared(
    "proposals.waiting",
    f"""
    SELECT {_COLUMNS}
      FROM holdfast.proposals
     WHERE (person = %(person)s OR space_id = ANY(%(spaces)s::uuid[]))
       AND answer = %(waiting)s
       AND expires_us > %(now)s
     ORDER BY created_us DESC, id DESC
     LIMIT %(limit)s
    """,
    because=_OF_PEOPLE,
)


class ProposalWrites(ProposalReads, Writes):
    def get(self, id: UUID) -> ProposalRow | None:
        """Locks the proposal in a transaction, so that a second answer sees the first."""
        self._tx.lock(b"proposal" + id.bytes)
        return super().get(id)

    def insert(self, row: ProposalRow) -> None:
        self._tx.run(_INSERT, row._asdict())

    def answer(self, id: UUID, answer: int) -> bool:
        return self._tx.count(_ANSWER, {"id": id, "answer": answer, "waiting": WAITING}) > 0

    def delete_before(self, moment: int, limit: int) -> int:
        return self._tx.count(_DELETE_BEFORE, {"moment": moment, "limit": limit})

    def delete_of(self, principal: bytes) -> int:
        return self._tx.count(_DELETE_OF, {"principal": principal})

    def delete_entry(self, space: UUID, number: int) -> int:
        return self._tx.count(_DELETE_ENTRY, {"space": space, "number": number})

    def delete_space(self, space: UUID) -> int:
        return self._tx.count(_DELETE_SPACE, {"space": space})


_INSERT = shared(
    "proposals.insert",
    f"""
    INSERT INTO holdfast.proposals ({_COLUMNS})
    VALUES (%(id)s, %(person)s, %(proposer)s, %(space)s, %(number)s, %(created_us)s, %(expires_us)s, %(answer)s,
            %(sealed)s)
    """,
    because=_OF_PEOPLE,
)
_ANSWER = shared(
    "proposals.answer",
    """
    UPDATE holdfast.proposals
       SET answer = %(answer)s, sealed = ''::bytea
     WHERE id = %(id)s
       AND answer = %(waiting)s
    """,
    because=_OF_PEOPLE,
)
_DELETE_BEFORE = shared(
    "proposals.delete_before",
    """
    WITH old AS MATERIALIZED (
        SELECT id
          FROM holdfast.proposals
         WHERE expires_us < %(moment)s
         LIMIT %(limit)s
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM holdfast.proposals
     USING old
     WHERE proposals.id = old.id
    """,
    because=_OF_PEOPLE,
)
_DELETE_OF = shared(
    "proposals.delete_of",
    "DELETE FROM holdfast.proposals WHERE person = %(principal)s OR proposer = %(principal)s",
    because=_OF_PEOPLE,
)
_DELETE_ENTRY = shared(
    "proposals.delete_entry",
    "DELETE FROM holdfast.proposals WHERE space_id = %(space)s AND number = %(number)s",
    because=_OF_PEOPLE,
)
_DELETE_SPACE = shared(
    "proposals.delete_space",
    "DELETE FROM holdfast.proposals WHERE space_id = %(space)s",
    because=_OF_PEOPLE,
)
