"""What only people do, over HTTP."""

from __future__ import annotations

from holdfast.entrypoints.http.asking import sending, sending_later, sending_work, sending_work_later
from holdfast.entrypoints.http.remote.line import AsyncRemote, Remote
from holdfast.surfaces.people import PeopleCalls


class RemotePeople(Remote):
    proposals = sending(PeopleCalls.proposals)
    approve = sending_work(PeopleCalls.approve)
    refuse = sending_work(PeopleCalls.refuse)
    quarantine = sending(PeopleCalls.quarantine)
    approve_quarantined = sending_work(PeopleCalls.approve_quarantined)
    undo_by = sending_work(PeopleCalls.undo_by)


class AsyncRemotePeople(AsyncRemote):
    proposals = sending_later(PeopleCalls.proposals)
    approve = sending_work_later(PeopleCalls.approve)
    refuse = sending_work_later(PeopleCalls.refuse)
    quarantine = sending_later(PeopleCalls.quarantine)
    approve_quarantined = sending_work_later(PeopleCalls.approve_quarantined)
    undo_by = sending_work_later(PeopleCalls.undo_by)
