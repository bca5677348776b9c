"""Quarantine: what models are not shown until a person approves it."""

from __future__ import annotations

from uuid import UUID

from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import Op, is_person, sees
from holdfast.domain.entry import Change, Entry
from holdfast.domain.errors import AccessDenied, NotFound
from holdfast.domain.grant import Level
from holdfast.domain.limits import check_limit
from holdfast.domain.partition import MODEL_VISIBLE
from holdfast.domain.principal import Caller
from holdfast.domain.profile import PROFILES
from holdfast.domain.space import SpaceKind
from holdfast.operations.authorize import Access, EntryName, look_up_in, opened, seek, visible_to
from holdfast.operations.engine import Engine
from holdfast.operations.spaces import enterable
from holdfast.storage.row_codec import State
from holdfast.storage.sealed_transaction import SealedTransaction

_NO_PERSON = "Only a person may see and approve what is quarantined."


def list_quarantined(engine: Engine, caller: Caller, limit: int) -> list[Entry]:
    """Of every space the caller may read, the newest first."""
    check_limit(limit, engine.limits.list_rows)
    _require_person(caller)
    now = engine.clock()
    found: list[Entry] = []
    for entered in enterable(engine, caller, Op.READ, now):
        if entered.space.stored:
            visible = visible_to(engine, entered, MODEL_VISIBLE, now)
            heads = engine.sealed.heads(visible, engine.sealed.store.entries.quarantined(visible, limit))
            found += [
                head.entry for head in heads if head.entry and sees(caller, entered.space, head.entry, now)
            ]
    return sorted(found, key=lambda entry: -entry.updated_us)[:limit]


def approve_quarantined(engine: Engine, caller: Caller, id: str | UUID) -> Job[Entry]:
    """From now on models see it too. Its source stays what it was."""
    _require_person(caller)
    now = engine.clock()
    sought = seek(engine, caller, EntryName(id=id, partitions=MODEL_VISIBLE), Op.CHANGE, now)
    _require_standing(sought.entered)
    place = engine.sealed.place(sought.entered.space, now)

    def write(tx: Transaction) -> Entry:
        sealed = SealedTransaction(engine.sealed, tx, now)
        head = look_up_in(sealed, place, sought)
        entry = opened(head)
        if not entry.quarantined:
            raise NotFound("This entry is not quarantined.")
        approved = sealed.revise(
            place,
            head,
            entry.content._replace(change=Change.APPROVED, restores=None),
            State.of(entry)._replace(quarantined=False),
            indexed=PROFILES[entry.partition].indexed and not entry.encrypted,
            history=True,
            keep=engine.limits.revisions,
        )
        sealed.audit("approve quarantined", caller.principal, approved.space, approved.id, approved.revision)
        return approved

    return write


def _require_person(caller: Caller) -> None:
    if not is_person(caller):
        raise AccessDenied(_NO_PERSON)


def _require_standing(entered: Access) -> None:
    """Others read what is approved: it needs manage, or a part in a chat, which nobody manages."""
    if entered.level is not Level.MANAGE and entered.space.kind is not SpaceKind.CHAT:
        raise AccessDenied("Approving what is quarantined needs manage in its space.")
