"""The calls users make, on every interface of Python: `memory.user("alice")` and `holdfast.Client` are the same classes
over two transports, one that runs a call here and one that sends it to a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from inspect import cleandoc
from typing import Any, Concatenate, ParamSpec, TypeVar, overload
from uuid import UUID

from holdfast.contracts.storage import Job, Result
from holdfast.operations.edit import Edited
from holdfast.operations.results import AsyncPage, Page
from holdfast.vocabularies.administration import AdministrationCalls, AgentCalls
from holdfast.vocabularies.anthropic import AnthropicCalls
from holdfast.vocabularies.assistant import AssistantCalls
from holdfast.vocabularies.call import call_of
from holdfast.vocabularies.core import CoreCalls
from holdfast.vocabularies.corpus import CorpusCalls
from holdfast.vocabularies.facts import FactCalls
from holdfast.vocabularies.files import FileCalls
from holdfast.vocabularies.inputs import SpaceId
from holdfast.vocabularies.kv import KvCalls
from holdfast.vocabularies.people import PeopleCalls
from holdfast.vocabularies.sharing import SharingCalls
from holdfast.vocabularies.stores import StoreCalls

P = ParamSpec("P")
T = TypeVar("T")
V = TypeVar("V")


class Facade:
    """Calls of one vocabulary, carried out by a transport."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport


@overload
def call(method: Callable[Concatenate[V, P], Job[T]]) -> Callable[Concatenate[Any, P], T]: ...
@overload
def call(method: Callable[Concatenate[V, P], Result[T]]) -> Callable[Concatenate[Any, P], T]: ...
def call(method: Callable[..., Any]) -> Callable[..., Any]:
    """The call as a method that returns its answer."""

    @wraps(method)
    def blocking(facade: Facade, /, *args: Any, **kwargs: Any) -> Any:
        return facade._transport.run(method, args, kwargs)

    return blocking


@overload
def acall(method: Callable[Concatenate[V, P], Job[T]]) -> Callable[Concatenate[Any, P], Awaitable[T]]: ...
@overload
def acall(method: Callable[Concatenate[V, P], Result[T]]) -> Callable[Concatenate[Any, P], Awaitable[T]]: ...
def acall(method: Callable[..., Any]) -> Callable[..., Any]:
    """The call as a method to be awaited."""

    @wraps(method)
    async def awaited(facade: Facade, /, *args: Any, **kwargs: Any) -> Any:
        return await facade._transport.run(method, args, kwargs)

    return awaited


def pages(
    method: Callable[Concatenate[V, P], Page], *, then: Callable[..., Page] | None = None
) -> Callable[Concatenate[Any, P], Page]:
    """A call whose page fetches the next one: with the same arguments, or through `then`."""

    @wraps(method)
    def listing(facade: Facade, /, *args: Any, **kwargs: Any) -> Page:
        page: Page = facade._transport.run(method, args, kwargs)
        page.next_page = lambda cursor: (then or listing)(facade, *args, **{**kwargs, "cursor": cursor})
        return page

    return listing


def apages(
    method: Callable[Concatenate[V, P], Page], *, then: Callable[..., Awaitable[AsyncPage]] | None = None
) -> Callable[Concatenate[Any, P], Awaitable[AsyncPage]]:
    """`pages` to be awaited."""

    @wraps(method)
    async def listing(facade: Facade, /, *args: Any, **kwargs: Any) -> AsyncPage:
        found: Page = await facade._transport.run(method, args, kwargs)
        page = AsyncPage(found, found.cursor, found.locked, found.note)
        page.next_page = lambda cursor: (then or listing)(facade, *args, **{**kwargs, "cursor": cursor})
        return page

    return listing


def _further_facts(
    facts: Any, *_: Any, prefix: str | None = None, limit: int = 10, cursor: str, **__: Any
) -> Any:
    """Facts recalled by prefix are listed on."""
    return facts.list(prefix or "", limit=limit, cursor=cursor)


class Administration(Facade):
    set_participants = call(AdministrationCalls.set_participants)
    set_system_access = call(AdministrationCalls.set_system_access)
    set_rules = call(AdministrationCalls.set_rules)
    stats = call(AdministrationCalls.stats)
    audit = call(AdministrationCalls.audit)


class AsyncAdministration(Facade):
    set_participants = acall(AdministrationCalls.set_participants)
    set_system_access = acall(AdministrationCalls.set_system_access)
    set_rules = acall(AdministrationCalls.set_rules)
    stats = acall(AdministrationCalls.stats)
    audit = acall(AdministrationCalls.audit)


class Agents(Facade):
    memory_settings = call(AgentCalls.memory_settings)
    set_memory_settings = call(AgentCalls.set_memory_settings)


class AsyncAgents(Facade):
    memory_settings = acall(AgentCalls.memory_settings)
    set_memory_settings = acall(AgentCalls.set_memory_settings)


class AnthropicMemory(Facade):
    memory = call(AnthropicCalls.memory)


class AsyncAnthropicMemory(Facade):
    memory = acall(AnthropicCalls.memory)


class Assistant(Facade):
    search_memory = call(AssistantCalls.search_memory)
    save_memory = call(AssistantCalls.save_memory)
    delete_memory = call(AssistantCalls.delete_memory)
    set_memory_always_inject = call(AssistantCalls.set_memory_always_inject)
    list = call(AssistantCalls.list)


class AsyncAssistant(Facade):
    search_memory = acall(AssistantCalls.search_memory)
    save_memory = acall(AssistantCalls.save_memory)
    delete_memory = acall(AssistantCalls.delete_memory)
    set_memory_always_inject = acall(AssistantCalls.set_memory_always_inject)
    list = acall(AssistantCalls.list)


class Corpus(Facade):
    query = call(CorpusCalls.query)


class AsyncCorpus(Facade):
    query = acall(CorpusCalls.query)


class Facts(Facade):
    store = call(FactCalls.store)
    recall = pages(FactCalls.recall, then=_further_facts)
    get = call(FactCalls.get)
    list = pages(FactCalls.list)
    renew = call(FactCalls.renew)
    history = call(FactCalls.history)
    forget = call(FactCalls.forget)
    my_memory = call(FactCalls.my_memory)
    defaults = call(FactCalls.defaults)
    callers = call(FactCalls.callers)


class AsyncFacts(Facade):
    store = acall(FactCalls.store)
    recall = apages(FactCalls.recall, then=_further_facts)
    get = acall(FactCalls.get)
    list = apages(FactCalls.list)
    renew = acall(FactCalls.renew)
    history = acall(FactCalls.history)
    forget = acall(FactCalls.forget)
    my_memory = acall(FactCalls.my_memory)
    defaults = acall(FactCalls.defaults)
    callers = acall(FactCalls.callers)


class Files(Facade):
    update_user_memory = call(FileCalls.update_user_memory)
    read_user_memory = call(FileCalls.read_user_memory)
    index = call(FileCalls.index)


class AsyncFiles(Facade):
    update_user_memory = acall(FileCalls.update_user_memory)
    read_user_memory = acall(FileCalls.read_user_memory)
    index = acall(FileCalls.index)


class Kv(Facade):
    kv_set = call(KvCalls.kv_set)
    kv_get = call(KvCalls.kv_get)
    kv_delete = call(KvCalls.kv_delete)


class AsyncKv(Facade):
    kv_set = acall(KvCalls.kv_set)
    kv_get = acall(KvCalls.kv_get)
    kv_delete = acall(KvCalls.kv_delete)


class People(Facade):
    proposals = call(PeopleCalls.proposals)
    approve = call(PeopleCalls.approve)
    refuse = call(PeopleCalls.refuse)
    quarantine = pages(PeopleCalls.quarantine)
    approve_quarantined = call(PeopleCalls.approve_quarantined)
    undo_by = call(PeopleCalls.undo_by)


class AsyncPeople(Facade):
    proposals = acall(PeopleCalls.proposals)
    approve = acall(PeopleCalls.approve)
    refuse = acall(PeopleCalls.refuse)
    quarantine = apages(PeopleCalls.quarantine)
    approve_quarantined = acall(PeopleCalls.approve_quarantined)
    undo_by = acall(PeopleCalls.undo_by)


class Stores(Facade):
    memory = call(StoreCalls.memory)
    preview = call(StoreCalls.preview)
    get_internal = call(StoreCalls.get_internal)
    set_internal = call(StoreCalls.set_internal)


class AsyncStores(Facade):
    memory = acall(StoreCalls.memory)
    preview = acall(StoreCalls.preview)
    get_internal = acall(StoreCalls.get_internal)
    set_internal = acall(StoreCalls.set_internal)


class Own(Facade):
    """Everything one principal can do."""

    def __init__(self, transport: Any) -> None:
        super().__init__(transport)
        self.facts = Facts(transport)
        self.assistant = Assistant(transport)
        self.people = People(transport)
        self.stores = Stores(transport)
        self.agents = Agents(transport)
        self.kv = Kv(transport)
        self.anthropic = AnthropicMemory(transport)
        self.files = Files(transport)
        self.corpus = Corpus(transport)

    remember = call(CoreCalls.remember)
    remember_many = call(CoreCalls.remember_many)
    get = call(CoreCalls.get)
    list = pages(CoreCalls.list)
    recall = call(CoreCalls.recall)
    why_not = call(CoreCalls.why_not)
    context = call(CoreCalls.context)
    similar = call(CoreCalls.similar)
    history = call(CoreCalls.history)
    readers = call(CoreCalls.readers)
    edit = call(CoreCalls.edit)
    replace = call(CoreCalls.replace)
    rename = call(CoreCalls.rename)
    renew = call(CoreCalls.renew)
    undo = call(CoreCalls.undo)
    trash = call(CoreCalls.trash)
    trashed = pages(CoreCalls.trashed)
    locked = call(CoreCalls.locked)
    restore = call(CoreCalls.restore)
    purge = call(CoreCalls.purge)
    forget = call(CoreCalls.forget)
    share = call(SharingCalls.share)
    unshare = call(SharingCalls.unshare)
    grants = call(SharingCalls.grants)
    spaces = call(SharingCalls.spaces)
    create_space = call(SharingCalls.create_space)
    index = call(CoreCalls.index)

    def flag(
        self,
        key: str | None = None,
        *,
        always_inject: bool,
        id: str | UUID | None = None,
        space: SpaceId = None,
        namespace: str = "",
    ) -> Edited:
        """Turns always-apply on or off, which needs manage."""
        return self.edit(key, id=id, space=space, always_inject=always_inject, namespace=namespace)


class AsyncOwn(Facade):
    """Everything one principal can do, awaited."""

    def __init__(self, transport: Any) -> None:
        super().__init__(transport)
        self.facts = AsyncFacts(transport)
        self.assistant = AsyncAssistant(transport)
        self.people = AsyncPeople(transport)
        self.stores = AsyncStores(transport)
        self.agents = AsyncAgents(transport)
        self.kv = AsyncKv(transport)
        self.anthropic = AsyncAnthropicMemory(transport)
        self.files = AsyncFiles(transport)
        self.corpus = AsyncCorpus(transport)

    remember = acall(CoreCalls.remember)
    remember_many = acall(CoreCalls.remember_many)
    get = acall(CoreCalls.get)
    list = apages(CoreCalls.list)
    recall = acall(CoreCalls.recall)
    why_not = acall(CoreCalls.why_not)
    context = acall(CoreCalls.context)
    similar = acall(CoreCalls.similar)
    history = acall(CoreCalls.history)
    readers = acall(CoreCalls.readers)
    edit = acall(CoreCalls.edit)
    replace = acall(CoreCalls.replace)
    rename = acall(CoreCalls.rename)
    renew = acall(CoreCalls.renew)
    undo = acall(CoreCalls.undo)
    trash = acall(CoreCalls.trash)
    trashed = apages(CoreCalls.trashed)
    locked = acall(CoreCalls.locked)
    restore = acall(CoreCalls.restore)
    purge = acall(CoreCalls.purge)
    forget = acall(CoreCalls.forget)
    share = acall(SharingCalls.share)
    unshare = acall(SharingCalls.unshare)
    grants = acall(SharingCalls.grants)
    spaces = acall(SharingCalls.spaces)
    create_space = acall(SharingCalls.create_space)
    index = acall(CoreCalls.index)

    async def flag(
        self,
        key: str | None = None,
        *,
        always_inject: bool,
        id: str | UUID | None = None,
        space: SpaceId = None,
        namespace: str = "",
    ) -> Edited:
        """Turns always-apply on or off, which needs manage."""
        return await self.edit(key, id=id, space=space, always_inject=always_inject, namespace=namespace)


def _explain(name: str) -> None:
    """Adds the arguments of a call to its docstrings, for `help()`."""
    fields = {field.parameter: field.sentence for field in call_of(getattr(Own, name)).fields}
    arguments = "\n".join(f"    {parameter}: {sentence}" for parameter, sentence in fields.items())
    for method in (getattr(Own, name), getattr(AsyncOwn, name)):
        method.__doc__ = f"{cleandoc(method.__doc__)}\n\nArgs:\n{arguments}"


for _name in ("remember", "get", "list", "recall"):
    _explain(_name)
