"""What only people do, over HTTP."""

from __future__ import annotations

from holdfast.entrypoints.http.asking import sending, sending_later, sending_work, sending_work_later
from holdfast.entrypoints.http.remote.line import AsyncRemote, Remote
from holdfast.surfaces.people import PeopleCalls


class RemotePeople(Remote):
    proposals = sending(PeopleCalls.proposals)
    approve = sending_work(PeopleCalls.approve)
    refuse = sending_work(PeopleCalls.refuse)


class AsyncRemotePeople(AsyncRemote):
    proposals = sending_later(PeopleCalls.proposals)
    approve = sending_work_later(PeopleCalls.approve)
    refuse = sending_work_later(PeopleCalls.refuse)
