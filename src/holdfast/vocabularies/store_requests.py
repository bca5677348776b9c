"""What the `memory` tool may be asked, as one type of request, and the three ways of asking: by path, by scope or store
and key, and by the eight older actions. Nothing here knows an engine."""

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
    """Where one entry lies. A named tuple, as the requests are: one is made for every call, at a third of the price."""

    store: Store
    key: str
    namespace: str = ""


class View(NamedTuple):
    spot: Spot


class Listing(NamedTuple):
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


Request = View | Listing | Create | Edit | Delete | Rename | Search | Share | Unshare | Stores


class _Address(NamedTuple):
    """What an address names: a store; an entry in it, or what lies under a prefix."""

    store: Store
    key: str | None = None
    prefix: str = ""


Said = Mapping[str, Any]
"""What was said, without what was left out."""


class _Asked(NamedTuple):
    """One command with its arguments, whichever vocabulary it came in."""

    command: str
    said: Said
    address: _Address

    def needed(self, name: str, refusal: type[HoldfastError] = MissingField) -> Any:
        if name not in self.said:
            raise refusal(f"`{name}` is required for {self.command}.")
        return self.said[name]

    def namespace(self) -> str:
        return str(self.said.get("namespace", ""))

    def spot(self) -> Spot:
        store, key, _ = self.address
        if not key:
            raise MissingKey(f"`path` (or `key`) must name an entry for {self.command}.")
        return Spot(store, key, self.namespace())


def parse(said: Said) -> Request:
    """The request that was made, in whichever of the three vocabularies."""
    for name, value in said.items():
        if (check := _CHECKS.get(name)) is not None:
            check(name, value)
    if "action" in said:
        if "command" in said:
            raise InvalidField("Say `command` or `action`, not both.")
        return _parse_action(said)
    if "command" not in said:
        raise MissingField(f"`command` is required: one of {', '.join(COMMANDS)}.")
    return _built(COMMANDS, _word("command", said["command"]), said, "command")


def _parse_action(said: Said) -> Request:
    if "path" in said:
        raise InvalidField("An `action` names its entry by `store` and `key`; a `path` goes with `command`.")
    value = {"content": said["value"]} if "value" in said else {}
    return _built(ACTIONS, _word("action", said["action"]), {**said, **value}, "action")


def _word(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidField(f"`{name}` must be text.")
    return value


def _built(table: Mapping[str, Callable[[_Asked], Request]], command: str, said: Said, what: str) -> Request:
    build = table.get(command)
    if build is None:
        raise InvalidField(f"Unknown {what} `{command[:64]}`; there are {', '.join(table)}.")
    return build(_Asked(command, said, _by_path(said) if "path" in said else _by_key(said)))


def _by_path(said: Said) -> _Address:
    if "key" in said or "store" in said or "scope" in said:
        raise InvalidField("Name the entry by `path`, or by `scope` or `store` and `key`, not both.")
    return address_of(said["path"])


def address_of(path: object) -> _Address:
    """`/memories/<key>` is in the own store, `/memories/shared/<store>/<key>` in another; a slash at the end lists."""
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


def _by_key(said: Said) -> _Address:
    store = _store(said)
    prefix = said.get("prefix", "")
    return _Address(store, _key(said["key"]), prefix) if "key" in said else _Address(store, None, prefix)


def _store(said: Said) -> Store:
    if "scope" in said and "store" in said:
        raise InvalidField("Say `scope` or `store`, not both.")
    if "store" in said:
        store = check_words("store", said["store"])
        if not store:
            raise InvalidField("`store` must not be empty; leave it out to mean your own.")
        return store
    try:
        return Scope(said.get("scope", Scope.AGENT))
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
"""What is wrong is refused by every command, also by one that has no use for it."""


def _view(asked: _Asked) -> Request:
    return View(asked.spot()) if asked.address.key else _list(asked)


def _list(asked: _Asked) -> Request:
    address, said = asked.address, asked.said
    return Listing(address.store, address.prefix, asked.namespace(), said.get("limit"), said.get("cursor"))


def _create(asked: _Asked) -> Request:
    spot, said = asked.spot(), asked.said
    value = asked.needed("content", MissingValue)
    return Create(spot, value, said.get("ttl"), said.get("encrypted", False))


def _edit(asked: _Asked) -> Request:
    spot, old = asked.spot(), asked.needed("old_str")
    if not old:
        raise MissingField("`old_str` must not be empty for edit.")
    return Edit(spot, old, asked.needed("new_str"))


def _rename(asked: _Asked) -> Request:
    """The new name is a path, or a key in the same store."""
    spot, name = asked.spot(), asked.needed("new_str")
    if name == ROOT or name.startswith(ROOT + "/"):
        address = address_of(name)
    else:
        address = _inside(spot.store, name.strip())
    if not address.key:
        raise MissingKey("`new_str` must name an entry for rename.")
    return Rename(spot, Spot(address.store, address.key, spot.namespace))


def _search(asked: _Asked) -> Request:
    said = asked.said
    where = asked.address.store if {"path", "scope", "store"} & said.keys() else None
    return Search(asked.needed("query"), where, said.get("limit"), asked.namespace())


def _share(asked: _Asked) -> Request:
    said = asked.said
    return Share(
        asked.address.store, asked.needed("agent"), said.get("level", DEFAULT_LEVEL), said.get("ttl")
    )


def _unshare(asked: _Asked) -> Request:
    return Unshare(asked.address.store, asked.needed("agent"))


def _stores(_: _Asked) -> Request:
    return Stores()


COMMANDS: Mapping[str, Callable[[_Asked], Request]] = {
    "view": _view,
    "create": _create,
    "edit": _edit,
    "delete": lambda asked: Delete(asked.spot()),
    "rename": _rename,
    "search": _search,
    "share": _share,
    "unshare": _unshare,
    "stores": _stores,
}
ACTIONS: Mapping[str, Callable[[_Asked], Request]] = {
    "get": lambda asked: View(asked.spot()),
    "set": _create,
    "delete": COMMANDS["delete"],
    "list": _list,
    "search": _search,
    "share": _share,
    "unshare": _unshare,
    "stores": _stores,
}
