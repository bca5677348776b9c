"""Facts, through the Python door."""

from __future__ import annotations

from holdfast.entrypoints.waiting import (
    Door,
    awaiting,
    blocking,
    reading,
    reading_aside,
    reading_later,
    reading_there,
)
from holdfast.surfaces.facts import FactCalls


class Facts(Door):
    store = blocking(FactCalls.store)
    recall = reading_there(FactCalls.recall)
    get = reading(FactCalls.get)
    list = reading(FactCalls.list)
    history = reading(FactCalls.history)
    forget = blocking(FactCalls.forget)
    my_memory = reading(FactCalls.my_memory)


class AsyncFacts(Door):
    store = awaiting(FactCalls.store)
    recall = reading_aside(FactCalls.recall)
    get = reading_later(FactCalls.get)
    list = reading_later(FactCalls.list)
    history = reading_later(FactCalls.history)
    forget = awaiting(FactCalls.forget)
    my_memory = reading_later(FactCalls.my_memory)
