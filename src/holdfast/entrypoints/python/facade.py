"""The vocabularies of the Python interface, blocking and async."""

from __future__ import annotations

from holdfast.entrypoints.python.local import (
    Door,
    awaiting,
    blocking,
    reading,
    reading_aside,
    reading_later,
    reading_there,
)
from holdfast.vocabularies.administration import AdministrationCalls
from holdfast.vocabularies.agents import AgentCalls
from holdfast.vocabularies.anthropic import AnthropicCalls
from holdfast.vocabularies.assistant import AssistantCalls
from holdfast.vocabularies.corpus import CorpusCalls
from holdfast.vocabularies.facts import FactCalls
from holdfast.vocabularies.files import FileCalls
from holdfast.vocabularies.kv import KvCalls
from holdfast.vocabularies.people import PeopleCalls
from holdfast.vocabularies.stores import StoreCalls


class Administration(Door):
    set_participants = blocking(AdministrationCalls.set_participants)
    set_system_access = blocking(AdministrationCalls.set_system_access)
    set_rules = blocking(AdministrationCalls.set_rules)
    stats = reading_there(AdministrationCalls.stats)
    audit = reading_there(AdministrationCalls.audit)


class AsyncAdministration(Door):
    set_participants = awaiting(AdministrationCalls.set_participants)
    set_system_access = awaiting(AdministrationCalls.set_system_access)
    set_rules = awaiting(AdministrationCalls.set_rules)
    stats = reading_later(AdministrationCalls.stats)
    audit = reading_later(AdministrationCalls.audit)


class Agents(Door):
    memory_settings = reading_there(AgentCalls.memory_settings)
    set_memory_settings = blocking(AgentCalls.set_memory_settings)


class AsyncAgents(Door):
    memory_settings = reading_later(AgentCalls.memory_settings)
    set_memory_settings = awaiting(AgentCalls.set_memory_settings)


class AnthropicMemory(Door):
    memory = blocking(AnthropicCalls.memory)


class AsyncAnthropicMemory(Door):
    memory = awaiting(AnthropicCalls.memory)


class Assistant(Door):
    search_memory = reading_there(AssistantCalls.search_memory)
    save_memory = blocking(AssistantCalls.save_memory)
    delete_memory = blocking(AssistantCalls.delete_memory)
    set_memory_always_inject = blocking(AssistantCalls.set_memory_always_inject)
    list = reading_there(AssistantCalls.list)


class AsyncAssistant(Door):
    search_memory = reading_aside(AssistantCalls.search_memory)
    save_memory = awaiting(AssistantCalls.save_memory)
    delete_memory = awaiting(AssistantCalls.delete_memory)
    set_memory_always_inject = awaiting(AssistantCalls.set_memory_always_inject)
    list = reading_later(AssistantCalls.list)


class Corpus(Door):
    query = reading_there(CorpusCalls.query)


class AsyncCorpus(Door):
    query = reading_aside(CorpusCalls.query)


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


class Files(Door):
    update_user_memory = blocking(FileCalls.update_user_memory)
    read_user_memory = reading_there(FileCalls.read_user_memory)
    index = reading_there(FileCalls.index)


class AsyncFiles(Door):
    update_user_memory = awaiting(FileCalls.update_user_memory)
    read_user_memory = reading_later(FileCalls.read_user_memory)
    index = reading_later(FileCalls.index)


class Kv(Door):
    kv_set = blocking(KvCalls.kv_set)
    kv_get = reading_there(KvCalls.kv_get)
    kv_delete = blocking(KvCalls.kv_delete)


class AsyncKv(Door):
    kv_set = awaiting(KvCalls.kv_set)
    kv_get = reading_later(KvCalls.kv_get)
    kv_delete = awaiting(KvCalls.kv_delete)


class People(Door):
    proposals = reading_there(PeopleCalls.proposals)
    approve = blocking(PeopleCalls.approve)
    refuse = blocking(PeopleCalls.refuse)
    quarantine = reading_there(PeopleCalls.quarantine)
    approve_quarantined = blocking(PeopleCalls.approve_quarantined)
    undo_by = blocking(PeopleCalls.undo_by)


class AsyncPeople(Door):
    proposals = reading_later(PeopleCalls.proposals)
    approve = awaiting(PeopleCalls.approve)
    refuse = awaiting(PeopleCalls.refuse)
    quarantine = reading_later(PeopleCalls.quarantine)
    approve_quarantined = awaiting(PeopleCalls.approve_quarantined)
    undo_by = awaiting(PeopleCalls.undo_by)


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
