"""Stores, through the Python door."""

from __future__ import annotations

from holdfast.entrypoints.waiting import Door, awaiting, blocking, reading_aside, reading_later, reading_there
from holdfast.surfaces.stores import StoreCalls


class Stores(Door):
    memory = blocking(StoreCalls.memory)
    preview = reading_there(StoreCalls.preview)
    get_internal = reading_there(StoreCalls.get_internal)
    set_internal = blocking(StoreCalls.set_internal)


class AsyncStores(Door):
    memory = awaiting(StoreCalls.memory)
    preview = reading_aside(StoreCalls.preview)
    get_internal = reading_later(StoreCalls.get_internal)
    set_internal = awaiting(StoreCalls.set_internal)
