"""Administration, over HTTP."""

from __future__ import annotations

from holdfast.entrypoints.http.asking import sending, sending_later, sending_work, sending_work_later
from holdfast.entrypoints.http.remote.line import AsyncRemote, Remote
from holdfast.surfaces.administration import AdministrationCalls


class RemoteAdministration(Remote):
    set_participants = sending_work(AdministrationCalls.set_participants)
    set_system_access = sending_work(AdministrationCalls.set_system_access)
    set_rules = sending_work(AdministrationCalls.set_rules)
    stats = sending(AdministrationCalls.stats)
    audit = sending(AdministrationCalls.audit)


class AsyncRemoteAdministration(AsyncRemote):
    set_participants = sending_work_later(AdministrationCalls.set_participants)
    set_system_access = sending_work_later(AdministrationCalls.set_system_access)
    set_rules = sending_work_later(AdministrationCalls.set_rules)
    stats = sending_later(AdministrationCalls.stats)
    audit = sending_later(AdministrationCalls.audit)
