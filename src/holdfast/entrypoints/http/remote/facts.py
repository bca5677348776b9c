"""Facts, over HTTP."""

from __future__ import annotations

from holdfast.entrypoints.http.asking import sending, sending_later, sending_work, sending_work_later
from holdfast.entrypoints.http.remote.line import AsyncRemote, Remote
from holdfast.surfaces.facts import FactCalls


class RemoteFacts(Remote):
    store = sending_work(FactCalls.store)
    recall = sending(FactCalls.recall)
    get = sending(FactCalls.get)
    list = sending(FactCalls.list)
    renew = sending_work(FactCalls.renew)
    history = sending(FactCalls.history)
    forget = sending_work(FactCalls.forget)
    my_memory = sending(FactCalls.my_memory)
    defaults = sending(FactCalls.defaults)
    callers = sending(FactCalls.callers)


class AsyncRemoteFacts(AsyncRemote):
    store = sending_work_later(FactCalls.store)
    recall = sending_later(FactCalls.recall)
    get = sending_later(FactCalls.get)
    list = sending_later(FactCalls.list)
    renew = sending_work_later(FactCalls.renew)
    history = sending_later(FactCalls.history)
    forget = sending_work_later(FactCalls.forget)
    my_memory = sending_later(FactCalls.my_memory)
    defaults = sending_later(FactCalls.defaults)
    callers = sending_later(FactCalls.callers)
