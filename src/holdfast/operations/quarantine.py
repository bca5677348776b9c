"""Quarantine: entries that models are not shown until a person approves them."""

from __future__ import annotations

from uuid import UUID

from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import Level, Op, is_person, sees
from holdfast.domain.entry import Change, Entry
from holdfast.domain.errors import AccessDenied, NotFound
from holdfast.domain.limits import check_limit
from holdfast.domain.partition import MODEL_VISIBLE
from holdfast.domain.principal import Caller
from holdfast.domain.profile import PROFILES
from holdfast.domain.space import SpaceKind
from holdfast.operations.authorize import EntryName, opened, prepare_change, visible_to
from holdfast.operations.session import Session
from holdfast.operations.spaces import accessible
from holdfast.storage.row_codec import State

_NO_PERSON = "Only a person may see and approve what is quarantined."


def list_quarantined(session: Session, limit: int) -> list[Entry]:
    """Lists the quarantined entries of every space the caller may read, newest first."""
    limit = check_limit(limit, session.limits.list_rows)
    _require_person(session.caller)
    now = session.clock()
    found: list[Entry] = []
    for access in accessible(session, Op.READ, now):
        if access.space.stored:
            visible = visible_to(access, MODEL_VISIBLE, now)
            heads = session.sealed.open_rows(
                visible, session.sealed.store.entries.quarantined(visible, limit)
            )
            found += [
                head.entry
                for head in heads
                if head.entry and sees(session.caller, access.space, head.entry, now)
            ]
    return sorted(found, key=lambda entry: -entry.updated_us)[:limit]


def approve_quarantined(session: Session, id: str | UUID) -> Job[Entry]:
    """Shows an entry to models again. Its source stays unchanged."""
    _require_person(session.caller)
    change = prepare_change(session, EntryName(id=id, partitions=MODEL_VISIBLE), Op.CHANGE)
    if change.access.level is not Level.MANAGE and change.access.space.kind is not SpaceKind.CHAT:
        # Others read what is approved: it needs manage, or a part in a chat, which nobody manages.
        raise AccessDenied("Approving what is quarantined needs manage in its space.")

    def write(tx: Transaction) -> Entry:
        sealed, head = change.begin(tx)
        entry = opened(head)
        if not entry.quarantined:
            raise NotFound("This entry is not quarantined.")
        approved = sealed.revise(
            change.target,
            head,
            entry.content._replace(change=Change.APPROVED, restores=None),
            State.of(entry)._replace(quarantined=False),
            indexed=PROFILES[entry.partition].indexed and not entry.encrypted,
            history=True,
            keep=session.limits.revisions,
        )
        sealed.audit("approve quarantined", session.principal, approved.space, approved.id, approved.revision)
        return approved

    return Job(write)


def _require_person(caller: Caller) -> None:
    if not is_person(caller):
        raise AccessDenied(_NO_PERSON)
