"""Which entry is meant by a key or an id, and what the caller may see of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from holdfast.contracts.rows import Visible
from holdfast.domain.access import Op, may_delete, may_flag, sees
from holdfast.domain.entry import Entry
from holdfast.domain.errors import AccessDenied, InvalidKey, Locked, MissingKey, NotFound
from holdfast.domain.ids import split_entry_id
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Caller
from holdfast.operations.engine import Engine
from holdfast.operations.enter import Entered, SpaceRef, enter
from holdfast.storage.sealed import Head, Place
from holdfast.storage.sealed_transaction import SealedTransaction


class Target(NamedTuple):
    """An entry as a caller names it: by key in a space, or by id."""

    key: str | None = None
    id: str | UUID | None = None
    space: SpaceRef = None
    namespace: str = ""
    partitions: tuple[Partition, ...] = ()


class Sought(NamedTuple):
    """A target in a space that was entered."""

    entered: Entered
    visible: Visible
    key: str | None
    number: int | None
    namespace: str


def seek(engine: Engine, caller: Caller, target: Target, op: Op, now: int) -> Sought:
    """Enters the target's space. An id in a space one cannot enter is like an id that does not exist."""
    if target.id is not None:
        space, number = split_entry_id(target.id)
        try:
            entered = enter(engine, caller, space, op, now)
        except AccessDenied:
            if op is Op.READ or _cannot_read(engine, caller, space, now):
                raise NotFound from None
            raise
        return Sought(entered, visible_to(engine, entered, target.partitions, now), None, number, "")
    if target.key is None:
        raise MissingKey
    if not isinstance(target.key, str):
        raise InvalidKey("A key must be text.")
    entered = enter(engine, caller, target.space, op, now)
    return Sought(
        entered,
        visible_to(engine, entered, target.partitions, now),
        target.key.strip(),
        None,
        target.namespace,
    )


def _cannot_read(engine: Engine, caller: Caller, space: UUID, now: int) -> bool:
    try:
        enter(engine, caller, space, Op.READ, now)
    except AccessDenied:
        return True
    return False


def visible_to(engine: Engine, entered: Entered, partitions: tuple[Partition, ...], now: int) -> Visible:
    return engine.sealed.visible(entered.space, entered.caller.principal, partitions, now)


def look_up(engine: Engine, sought: Sought) -> Head:
    """The entry meant, from the last committed state."""
    if not sought.entered.space.stored:
        raise NotFound
    if sought.number is not None:
        head = engine.sealed.by_number(sought.visible, sought.number)
        return first_readable(sought, [head] if head else [])
    assert sought.key is not None
    return first_readable(sought, engine.sealed.by_key(sought.visible, sought.namespace, sought.key))


def look_up_in(tx: SealedTransaction, place: Place, sought: Sought) -> Head:
    """The entry meant, as this transaction sees it."""
    if sought.number is not None:
        head = tx.by_number(place, sought.visible, sought.number)
        return first_readable(sought, [head] if head else [])
    assert sought.key is not None
    return first_readable(sought, tx.by_key(place, sought.visible, sought.namespace, sought.key))


def first_readable(sought: Sought, heads: Sequence[Head]) -> Head:
    """The caller's own row, else the newest visible; its first room before others. Locked rows come last."""
    entered, now = sought.entered, sought.visible.now
    if len(heads) > 1:
        heads = sorted(heads, key=lambda head: _rank(sought, head))
    for head in heads:
        if head.entry is None or sees(entered.caller, entered.space, head.entry, now):
            return head
    raise NotFound


def opened(head: Head) -> Entry:
    if head.entry is None:
        raise Locked
    return head.entry


def deletable(engine: Engine, entered: Entered, head: Head) -> bool:
    """Judged by the visible owner, so that a locked row can still be removed."""
    creator = head.row.owner == engine.sealed.blind(entered.caller.principal)
    return may_delete(entered.space, entered.level, creator=creator)


def require_delete(engine: Engine, entered: Entered, head: Head) -> None:
    if not deletable(engine, entered, head):
        raise AccessDenied("Only who made this entry, or someone with manage, may remove it.")


def require_creator(engine: Engine, entered: Entered, head: Head) -> None:
    """For vocabularies in which not even manage removes what somebody else made."""
    if head.row.owner != engine.sealed.blind(entered.caller.principal):
        raise AccessDenied("Only who made this entry may remove or rename it.")
    require_delete(engine, entered, head)


def seen(entered: Entered, head: Head, now: int) -> Entry | None:
    """The entry, if it can be opened and the caller may see it."""
    entry = head.entry
    return entry if entry is not None and sees(entered.caller, entered.space, entry, now) else None


def require_flagging(entered: Entered) -> None:
    """For changing the words of what always applies: they steer every later turn, as making it apply did."""
    if not may_flag(entered.caller, entered.space, entered.level):
        raise AccessDenied("This memory always applies; a person who manages its space changes its words.")


def _rank(sought: Sought, head: Head) -> tuple[bool, bool, bool, int]:
    entry = head.entry
    first_room = sought.visible.partitions[0]
    return (
        entry is None,
        entry is not None and entry.owner != sought.entered.caller.principal,
        head.row.partition != first_room,
        -head.row.seq,
    )
