"""Administration, through the Python door."""

from __future__ import annotations

from holdfast.entrypoints.waiting import Door, awaiting, blocking, reading_later, reading_there
from holdfast.surfaces.administration import AdministrationCalls


class Administration(Door):
    set_participants = blocking(AdministrationCalls.set_participants)
    set_system_access = blocking(AdministrationCalls.set_system_access)
    set_rules = blocking(AdministrationCalls.set_rules)
    stats = reading_there(AdministrationCalls.stats)
    audit = reading_there(AdministrationCalls.audit)


class AsyncAdministration(Door):
    set_participants = awaiting(AdministrationCalls.set_participants)
    set_system_access = awaiting(AdministrationCalls.set_system_access)
    set_rules = awaiting(AdministrationCalls.set_rules)
    stats = reading_later(AdministrationCalls.stats)
    audit = reading_later(AdministrationCalls.audit)
