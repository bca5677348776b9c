"""Stores, over HTTP."""

from __future__ import annotations

from holdfast.entrypoints.http.asking import sending, sending_later, sending_work, sending_work_later
from holdfast.entrypoints.http.remote.line import AsyncRemote, Remote
from holdfast.surfaces.stores import StoreCalls


class RemoteStores(Remote):
    memory = sending_work(StoreCalls.memory)
    preview = sending(StoreCalls.preview)
    get_internal = sending(StoreCalls.get_internal)
    set_internal = sending_work(StoreCalls.set_internal)


class AsyncRemoteStores(AsyncRemote):
    memory = sending_work_later(StoreCalls.memory)
    preview = sending_later(StoreCalls.preview)
    get_internal = sending_later(StoreCalls.get_internal)
    set_internal = sending_work_later(StoreCalls.set_internal)
