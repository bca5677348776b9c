"""Requests of the `memory` tool as one type, and the three ways of naming: by path, by scope or store and key, and by
the eight older actions. Nothing here knows an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from holdfast.domain.errors import (
    HoldfastError,
    InvalidField,
    InvalidKey,
    InvalidLevel,
    MissingField,
    MissingKey,
    MissingValue,
)
from holdfast.domain.limits import check_flag, check_words, is_text
from holdfast.domain.profile import STORES
from holdfast.domain.retention import Ttl

ROOT = "/memories"
SHARED = "shared"
LONGEST_PATH = 1_024
LONGEST_KEY = 200
LEVELS = ("search", "read", "readwrite")
DEFAULT_LEVEL = "read"
_NO_NAMES = frozenset({"", ".", ".."})


class Scope(StrEnum):
    """Stores that are meant by their part in the call: the agent's own, that of the user it works for, that of the
    chat it works in."""

    AGENT = "agent"
    USER = "user"
    CHAT = "chat"


Store = Scope | str
"""A scope, or a store's id or reference."""


class Spot(NamedTuple):
    """The address of one entry. A named tuple, as the requests are: one is made for every call, at a third of the
    price."""

    store: Store
    key: str
    namespace: str = ""


class View(NamedTuple):
    spot: Spot


class ListEntries(NamedTuple):
    store: Store
    prefix: str = ""
    namespace: str = ""
    limit: int | None = None
    cursor: str | None = None


class Create(NamedTuple):
    spot: Spot
    value: Any
    ttl: Ttl = None
    encrypted: bool = False


class Edit(NamedTuple):
    spot: Spot
    old: str
    new: str


class Delete(NamedTuple):
    spot: Spot


class Rename(NamedTuple):
    spot: Spot
    to: Spot


class Search(NamedTuple):
    query: str
    store: Store | None = None
    """None: every store that can be searched."""
    limit: int | None = None
    namespace: str = ""
    """Empty: every namespace."""


class Share(NamedTuple):
    store: Store
    agent: str
    level: str
    ttl: Ttl = None


class Unshare(NamedTuple):
    store: Store
    agent: str


class Stores(NamedTuple):
    pass


Request = View | ListEntries | Create | Edit | Delete | Rename | Search | Share | Unshare | Stores


class _Address(NamedTuple):
    """A store, an entry in it, or everything under a prefix."""

    store: Store
    key: str | None = None
    prefix: str = ""


Arguments = Mapping[str, Any]
"""The given arguments by name."""


class _Invocation(NamedTuple):
    """A command with its arguments, whichever vocabulary named it."""

    command: str
    arguments: Arguments
    address: _Address

    def needed(self, name: str, refusal: type[HoldfastError] = MissingField) -> Any:
        if name not in self.arguments:
            raise refusal(f"`{name}` is required for {self.command}.")
        return self.arguments[name]

    def namespace(self) -> str:
        return str(self.arguments.get("namespace", ""))

    def spot(self) -> Spot:
        store, key, _ = self.address
        if not key:
            raise MissingKey(f"`path` (or `key`) must name an entry for {self.command}.")
        return Spot(store, key, self.namespace())


def parse(arguments: Arguments) -> Request:
    """Parses the arguments of any of the three vocabularies."""
    for name, value in arguments.items():
        if (check := _CHECKS.get(name)) is not None:
            check(name, value)
    if "action" in arguments:
        if "command" in arguments:
            raise InvalidField("Say `command` or `action`, not both.")
        if "path" in arguments:
            raise InvalidField(
                "An `action` names its entry by `store` and `key`; a `path` goes with `command`."
            )
        content = {"content": arguments["value"]} if "value" in arguments else {}
        return _built(ACTIONS, _word("action", arguments["action"]), {**arguments, **content}, "action")
    if "command" not in arguments:
        raise MissingField(f"`command` is required: one of {', '.join(COMMANDS)}.")
    return _built(COMMANDS, _word("command", arguments["command"]), arguments, "command")


def _word(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidField(f"`{name}` must be text.")
    return value


def _built(
    table: Mapping[str, Callable[[_Invocation], Request]], command: str, arguments: Arguments, what: str
) -> Request:
    build = table.get(command)
    if build is None:
        raise InvalidField(f"Unknown {what} `{command[:64]}`; there are {', '.join(table)}.")
    return build(_Invocation(command, arguments, _address(arguments)))


def _address(arguments: Arguments) -> _Address:
    if "path" not in arguments:
        key = _key(arguments["key"]) if "key" in arguments else None
        return _Address(_store(arguments), key, arguments.get("prefix", ""))
    if "key" in arguments or "store" in arguments or "scope" in arguments:
        raise InvalidField("Name the entry by `path`, or by `scope` or `store` and `key`, not both.")
    return address_of(arguments["path"])


def address_of(path: object) -> _Address:
    """Parses a path: `/memories/<key>` is in the caller's store, `/memories/shared/<store>/<key>` in another; a slash
    at the end lists."""
    if not is_text(path) or len(path) > LONGEST_PATH:
        raise InvalidField(f"`path` must be text of at most {LONGEST_PATH} characters.")
    if path != ROOT and not path.startswith(ROOT + "/"):
        raise InvalidField(f"`path` must start with {ROOT}/, for example {ROOT}/preferences.")
    key = path[len(ROOT) + 1 :]
    parts = key.split("/")
    if not _NO_NAMES.isdisjoint(parts[:-1]) or parts[-1] in (".", ".."):
        raise InvalidField("`path` must not hold empty parts, `.` or `..`.")
    if parts[0] != SHARED:
        return _inside(Scope.AGENT, key)
    if len(parts) == 2 and parts[1]:
        return _Address(parts[1])
    if len(parts) < 3:
        raise InvalidField(f"Name the store: {ROOT}/{SHARED}/<store id>/, or ask for `stores`.")
    return _inside(parts[1], "/".join(parts[2:]))


def _inside(store: Store, key: str) -> _Address:
    return _Address(store, prefix=key) if not key or key.endswith("/") else _Address(store, _key(key))


def _store(arguments: Arguments) -> Store:
    if "scope" in arguments and "store" in arguments:
        raise InvalidField("Say `scope` or `store`, not both.")
    if "store" in arguments:
        store = check_words("store", arguments["store"])
        if not store:
            raise InvalidField("`store` must not be empty; leave it out to mean your own.")
        return store
    try:
        return Scope(arguments.get("scope", Scope.AGENT))
    except ValueError:
        raise InvalidField(f"`scope` is one of {', '.join(Scope)}.") from None


def _key(key: object) -> str:
    if not is_text(key):
        raise InvalidKey("A key must be text.")
    if len(key) > LONGEST_KEY:
        raise InvalidKey(f"A key may have {LONGEST_KEY} characters.")
    return key.strip()


def _check_level(_: str, level: object) -> None:
    if level not in LEVELS:
        raise InvalidLevel(f"The level must be one of {', '.join(LEVELS)}.")


def _check_limit(_: str, limit: object) -> None:
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InvalidField("A limit must be a whole number from 1.")


_CHECKS: Mapping[str, Callable[[str, Any], object]] = {
    **dict.fromkeys(("old_str", "new_str", "query", "agent", "prefix", "namespace", "cursor"), check_words),
    "level": _check_level,
    "ttl": lambda _, ttl: STORES.retention.seconds(ttl),
    "encrypted": check_flag,
    "limit": _check_limit,
}
"""Checks of arguments by name. Every command refuses a wrong one, also if it has no use for it."""


def _view(call: _Invocation) -> Request:
    return View(call.spot()) if call.address.key else _list(call)


def _list(call: _Invocation) -> Request:
    address, arguments = call.address, call.arguments
    return ListEntries(
        address.store, address.prefix, call.namespace(), arguments.get("limit"), arguments.get("cursor")
    )


def _create(call: _Invocation) -> Request:
    spot, arguments = call.spot(), call.arguments
    value = call.needed("content", MissingValue)
    return Create(spot, value, arguments.get("ttl"), arguments.get("encrypted", False))


def _edit(call: _Invocation) -> Request:
    spot, old = call.spot(), call.needed("old_str")
    if not old:
        raise MissingField("`old_str` must not be empty for edit.")
    return Edit(spot, old, call.needed("new_str"))


def _rename(call: _Invocation) -> Request:
    """The new name is a path, or a key in the same store."""
    spot, name = call.spot(), call.needed("new_str")
    if name == ROOT or name.startswith(ROOT + "/"):
        address = address_of(name)
    else:
        address = _inside(spot.store, name.strip())
    if not address.key:
        raise MissingKey("`new_str` must name an entry for rename.")
    return Rename(spot, Spot(address.store, address.key, spot.namespace))


def _search(call: _Invocation) -> Request:
    arguments = call.arguments
    where = call.address.store if {"path", "scope", "store"} & arguments.keys() else None
    return Search(call.needed("query"), where, arguments.get("limit"), call.namespace())


def _share(call: _Invocation) -> Request:
    arguments = call.arguments
    return Share(
        call.address.store, call.needed("agent"), arguments.get("level", DEFAULT_LEVEL), arguments.get("ttl")
    )


COMMANDS: Mapping[str, Callable[[_Invocation], Request]] = {
    "view": _view,
    "create": _create,
    "edit": _edit,
    "delete": lambda call: Delete(call.spot()),
    "rename": _rename,
    "search": _search,
    "share": _share,
    "unshare": lambda call: Unshare(call.address.store, call.needed("agent")),
    "stores": lambda _: Stores(),
}
ACTIONS: Mapping[str, Callable[[_Invocation], Request]] = {
    "get": lambda call: View(call.spot()),
    "set": _create,
    "delete": COMMANDS["delete"],
    "list": _list,
    "search": _search,
    "share": _share,
    "unshare": COMMANDS["unshare"],
    "stores": COMMANDS["stores"],
}
