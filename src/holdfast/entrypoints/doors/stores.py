"""Stores, through the Python door."""

from __future__ import annotations

from holdfast.entrypoints.waiting import Door, awaiting, blocking
from holdfast.surfaces.stores import StoreCalls


class Stores(Door):
    memory = blocking(StoreCalls.memory)


class AsyncStores(Door):
    memory = awaiting(StoreCalls.memory)
