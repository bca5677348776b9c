"""What only people do, through the Python door."""

from __future__ import annotations

from holdfast.entrypoints.waiting import Door, awaiting, blocking, reading_later, reading_there
from holdfast.surfaces.people import PeopleCalls


class People(Door):
    proposals = reading_there(PeopleCalls.proposals)
    approve = blocking(PeopleCalls.approve)
    refuse = blocking(PeopleCalls.refuse)
    quarantine = reading_there(PeopleCalls.quarantine)
    approve_quarantined = blocking(PeopleCalls.approve_quarantined)
    undo_by = blocking(PeopleCalls.undo_by)


class AsyncPeople(Door):
    proposals = reading_later(PeopleCalls.proposals)
    approve = awaiting(PeopleCalls.approve)
    refuse = awaiting(PeopleCalls.refuse)
    quarantine = reading_later(PeopleCalls.quarantine)
    approve_quarantined = awaiting(PeopleCalls.approve_quarantined)
    undo_by = awaiting(PeopleCalls.undo_by)
