"""The audit log, as a store keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holdfast.contracts.rows import AuditHead, AuditRow


class AuditReads(Protocol):
    def last(self) -> AuditRow | None: ...

    def head(self) -> AuditHead:
        """Where the log ends; position 0 when nothing was ever logged."""
        ...

    def after(self, position: int, limit: int) -> list[AuditRow]:
        """Lines in order, after the first `position` lines."""
        ...

    def about(self, object: bytes, operations: Sequence[str], limit: int) -> list[AuditRow]:
        """Lines of these operations that name an object, newest first. Looks at the whole log."""
        ...


class AuditWrites(AuditReads, Protocol):
    def append(self, row: AuditRow, code: bytes = b"") -> None:
        """Adds a line; `code` is that of the head it makes."""
        ...
