"""Proposals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from holdfast.contracts.rows import WAITING, ProposalRow
from holdfast.storage.sqlite.connections import Reads, Writes

_COLUMNS = ", ".join(ProposalRow._fields)


class ProposalReads(Reads):
    def get(self, id: UUID) -> ProposalRow | None:
        rows = self._reader.rows(f"SELECT {_COLUMNS} FROM proposals WHERE id = ?", (id.bytes,))
        return _proposal_of(rows[0]) if rows else None

    def waiting(self, person: bytes, spaces: Sequence[UUID], now: int, limit: int) -> list[ProposalRow]:
        rows = self._reader.rows(
            f"""
            SELECT {_COLUMNS}
              FROM proposals
             WHERE (person = ? OR space IN (SELECT unhex(value) FROM json_each(?)))
               AND answer = ?
               AND expires_us > ?
             ORDER BY created_us DESC, id DESC
             LIMIT ?
            """,
            (person, json.dumps([space.hex for space in spaces]), WAITING, now, limit),
        )
        return list(map(_proposal_of, rows))


def _proposal_of(row: tuple[Any, ...]) -> ProposalRow:
    return ProposalRow._make((UUID(bytes=row[0]), *row[1:3], UUID(bytes=row[3]), *row[4:]))


class ProposalWrites(ProposalReads, Writes):
    def insert(self, row: ProposalRow) -> None:
        self._tx.run(
            f"INSERT INTO proposals ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (row.id.bytes, row.person, row.proposer, row.space.bytes, *row[4:]),
        )

    def answer(self, id: UUID, answer: int) -> bool:
        changed = self._tx.count(
            "UPDATE proposals SET answer = ?, sealed = X'' WHERE id = ? AND answer = ?",
            (answer, id.bytes, WAITING),
        )
        return changed > 0

    def delete_before(self, moment: int, limit: int) -> int:
        return self._tx.count(
            "DELETE FROM proposals WHERE id IN (SELECT id FROM proposals WHERE expires_us < ? LIMIT ?)",
            (moment, limit),
        )

    def delete_of(self, principal: bytes) -> int:
        return self._tx.count(
            "DELETE FROM proposals WHERE person = ? OR proposer = ?", (principal, principal)
        )

    def delete_entry(self, space: UUID, number: int) -> int:
        return self._tx.count("DELETE FROM proposals WHERE space = ? AND number = ?", (space.bytes, number))

    def delete_space(self, space: UUID) -> int:
        return self._tx.count("DELETE FROM proposals WHERE space = ?", (space.bytes,))
