"""The kv calls, through the Python door."""

from __future__ import annotations

from holdfast.entrypoints.waiting import Door, awaiting, blocking, reading_later, reading_there
from holdfast.surfaces.kv import KvCalls


class Kv(Door):
    kv_set = blocking(KvCalls.kv_set)
    kv_get = reading_there(KvCalls.kv_get)
    kv_delete = blocking(KvCalls.kv_delete)


class AsyncKv(Door):
    kv_set = awaiting(KvCalls.kv_set)
    kv_get = reading_later(KvCalls.kv_get)
    kv_delete = awaiting(KvCalls.kv_delete)
