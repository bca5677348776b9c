"""The audit log from Python: whether it is whole. What it says is asked for as an administrator, or as an owner."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.domain.errors import Unavailable
from holdfast.operations.audit import Verified, verify_audit
from holdfast.wiring import Opened


class Audit:
    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def verify(self, anchor: str | None = None, progress: Callable[[int], None] | None = None) -> Verified:
        """Finds every line that was changed, moved, taken out or cut off. With the `anchor` of an earlier check it also
        finds that a whole older log was put back."""
        if self._opened.engine is None:
            raise Unavailable(self._opened.reason)
        return verify_audit(self._opened.engine, anchor, progress)
