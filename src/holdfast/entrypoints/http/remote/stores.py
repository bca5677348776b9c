"""Stores, over HTTP."""

from __future__ import annotations

from holdfast.entrypoints.http.asking import sending_work, sending_work_later
from holdfast.entrypoints.http.remote.line import AsyncRemote, Remote
from holdfast.surfaces.stores import StoreCalls


class RemoteStores(Remote):
    memory = sending_work(StoreCalls.memory)


class AsyncRemoteStores(AsyncRemote):
    memory = sending_work_later(StoreCalls.memory)
