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
    renew = blocking(FactCalls.renew)
    history = reading(FactCalls.history)
    forget = blocking(FactCalls.forget)
    my_memory = reading(FactCalls.my_memory)
    defaults = reading(FactCalls.defaults)
    callers = reading(FactCalls.callers)


class AsyncFacts(Door):
    store = awaiting(FactCalls.store)
    recall = reading_aside(FactCalls.recall)
    get = reading_later(FactCalls.get)
    list = reading_later(FactCalls.list)
    renew = awaiting(FactCalls.renew)
    history = reading_later(FactCalls.history)
    forget = awaiting(FactCalls.forget)
    my_memory = reading_later(FactCalls.my_memory)
    defaults = reading_aside(FactCalls.defaults)
    callers = reading_aside(FactCalls.callers)
