"""The kv calls, over HTTP."""

from __future__ import annotations

from holdfast.entrypoints.http.asking import sending, sending_later, sending_work, sending_work_later
from holdfast.entrypoints.http.remote.line import AsyncRemote, Remote
from holdfast.surfaces.kv import KvCalls


class RemoteKv(Remote):
    kv_set = sending_work(KvCalls.kv_set)
    kv_get = sending(KvCalls.kv_get)
    kv_delete = sending_work(KvCalls.kv_delete)


class AsyncRemoteKv(AsyncRemote):
    kv_set = sending_work_later(KvCalls.kv_set)
    kv_get = sending_later(KvCalls.kv_get)
    kv_delete = sending_work_later(KvCalls.kv_delete)
