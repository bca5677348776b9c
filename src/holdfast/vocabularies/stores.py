"""The stores vocabulary: the `memory` tool, whose stores are spaces, and what skills keep beside it out of a model's
sight. Every entry belongs to who wrote it, as the door knows them; no argument says so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar, assert_never
from uuid import UUID

from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import MODEL_DOORS, Op
from holdfast.domain.entry import JSON, TEXT, Entry
from holdfast.domain.errors import AccessDenied, InvalidField, NotFound
from holdfast.domain.grant import Grant, Level
from holdfast.domain.limits import check_flag, check_label, check_words
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Caller, PrincipalKind
from holdfast.domain.profile import SKILL, SKILL_JSON, STORES, STORES_JSON
from holdfast.domain.retention import Ttl, whole_seconds
from holdfast.domain.space import Space, SpaceKind, SpaceName, own_space
from holdfast.operations import edit, read, remember, remove, share, spaces
from holdfast.operations.ask import Ask, check_question
from holdfast.operations.authorize import Access, EntryName, SpaceRef
from holdfast.operations.edit import Replaced
from holdfast.operations.engine import Engine
from holdfast.operations.notes import Asked, NoteInput
from holdfast.operations.proposals import Wanted
from holdfast.operations.results import Remembered, told_by_kind
from holdfast.operations.share import Unshared
from holdfast.operations.share_preview import Preview, preview
from holdfast.operations.work import Read, Steps, Work, Write
from holdfast.storage.sealed_store import Filter
from holdfast.vocabularies.agents import with_default_ttl
from holdfast.vocabularies.approvals import ask_a_person, must_ask_to_share, refuse_to_an_unwatched_model
from holdfast.vocabularies.session import Session, SpaceId, filter_of, name_of, space_of
from holdfast.vocabularies.store_requests import (
    ROOT,
    SHARED,
    Create,
    Delete,
    Edit,
    Listing,
    Rename,
    Request,
    Scope,
    Search,
    Share,
    Spot,
    Store,
    Stores,
    Unshare,
    View,
    parse,
)
from holdfast.vocabularies.wire.shape import moment

ROOM = (Partition.STORES,)
LISTED = 100
FOUND = 10
AROUND = 40
"""Characters shown on either side of an edited passage."""
_SOURCES = {"own": "self", "session user": "user"}

T = TypeVar("T")
Answer = Any
"""What the tool answers: null, a sentence, or an object, as JSON has them."""


class StoreCalls:
    def __init__(self, session: Session) -> None:
        self._session = session

    def memory(
        self,
        command: str | None = None,
        *,
        action: str | None = None,
        path: str | None = None,
        scope: str | None = None,
        store: str | None = None,
        key: str | None = None,
        namespace: str | None = None,
        content: Any = None,
        value: Any = None,
        old_str: str | None = None,
        new_str: str | None = None,
        query: str | None = None,
        prefix: str | None = None,
        agent: str | None = None,
        level: str | None = None,
        ttl: Ttl = None,
        encrypted: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Work[Answer]:
        """The memory tool: `view`, `create`, `edit`, `delete`, `rename`, `search`, `share`, `unshare` and `stores`,
        with a `path` (`/memories/KEY`, `/memories/shared/STORE/KEY`) or `scope` or `store` and `key`; or, as `action`,
        `get`, `set`, `delete`, `list`, `search`, `share`, `unshare` and `stores`."""
        if namespace is not None:
            namespace = check_label("namespace", namespace, self._session.limits)
        said = {
            "command": command, "action": action, "path": path, "scope": scope, "store": store, "key": key,
            "namespace": namespace, "content": content, "value": value, "old_str": old_str, "new_str": new_str,
            "query": query, "prefix": prefix, "agent": agent, "level": level, "ttl": ttl, "encrypted": encrypted,
            "limit": limit, "cursor": cursor,
        }  # fmt: skip
        return _work(self._session, parse({name: one for name, one in said.items() if one is not None}))

    def preview(self, agent: str, *, space: SpaceId = None, level: str = "read", limit: int = 100) -> Preview:
        """What somebody (kind:id, a bare id is an agent) would see of a store if they were given a level there, for
        those who could give it. Nothing is given."""
        return preview(self._session.engine, self._session.caller, space_of(space), agent, level, limit)

    def get_internal(self, store: str, key: str) -> Any:
        """What a skill of this agent keeps in a store out of every model's sight; None when there is nothing."""
        session, target = self._session, _internal(self._session, store, key)
        try:
            entry = read.get(session.engine, session.caller, target)
        except NotFound:
            return None
        return value_of(entry) if entry.owner == session.caller.principal else None

    def set_internal(
        self, store: str, key: str, value: Any, encrypted: bool = False, ttl: Ttl = None
    ) -> Write[bool]:
        """Keeps something for a skill in a store, out of every model's sight. An entry of the agent's own under that
        key that models could see goes to the trash in the same step."""
        session, target = self._session, _internal(self._session, store, key)
        text, opaque = isinstance(value, str | bytes), check_flag("encrypted", encrypted)
        if isinstance(value, bytes) and not opaque:
            raise InvalidField("Bytes are for what the client encrypted; say `encrypted`.")
        draft = NoteInput(value if text else as_json(value), key, ttl=ttl, encrypted=opaque)
        asked = Asked(SKILL if text else SKILL_JSON, target.space, draft)

        def prepare() -> Job[bool]:
            keep = remember.remember(session.engine, session.caller, asked)
            hide = remove.trash(
                session.engine, session.caller, target._replace(partitions=ROOM), creator_only=True
            )

            def write(tx: Transaction) -> bool:
                keep(tx)
                with suppress(NotFound, AccessDenied):  # nothing there, or somebody else's: that one stays
                    hide(tx)
                return True

            return write

        return Write(prepare, off=lambda: False)


def _work(session: Session, request: Request) -> Work[Answer]:
    match request:
        case View(spot):
            return Read(lambda: _view(session, spot))
        case Listing():
            return Read(lambda: _list(session, request), off=lambda: _nothing(session))
        case Create():
            return _create(session, request)
        case Edit(spot, old, new):
            return _then(
                lambda: edit.replace_text(
                    session.engine, session.caller, _target(session, spot), old, new, None
                ),
                lambda done: _edited(session, spot, old, new, done),
            )
        case Delete(spot):
            refuse_to_an_unwatched_model(session)
            return _then(
                lambda: remove.trash(
                    session.engine, session.caller, _target(session, spot), creator_only=True
                ),
                lambda _: f"deleted {_path(session, spot)}",
            )
        case Rename(spot, to):
            return _then(
                lambda: _rename(session, spot, to),
                lambda _: f"renamed {_path(session, spot)} to {_path(session, to)}",
            )
        case Search():
            return Read(
                lambda: _search(session, request), aside=True, name="search", off=lambda: _nothing(session)
            )
        case Share():
            return _share(session, request)
        case Unshare():
            return _unshare(session, request)
        case Stores():
            return Read(lambda: _stores(session), off=lambda: {"stores": [], "note": session.reason})
        case never:
            assert_never(never)


def _then(prepare: Callable[[], Job[T]], show: Callable[[T], Answer]) -> Write[Answer]:
    """A write whose answer is told in the tool's words."""

    def prepared() -> Job[Answer]:
        job = prepare()
        return lambda tx: show(job(tx))

    return Write(prepared)


def _nothing(session: Session) -> Answer:
    return {"entries": [], "note": session.reason}


def _view(session: Session, spot: Spot) -> Answer:
    """The entry, or null when there is none."""
    engine, caller, where = session.engine, session.caller, space_meant(session.caller, spot.store)
    try:
        if spot.namespace:
            entry = read.get(engine, caller, _target(session, spot))
        else:
            entry = read.get_by_key(engine, caller, spot.key, where, ROOM)
    except NotFound:
        return None
    return _shown(entry, _stores_of(engine, caller, (entry.space,))[entry.space])


def _list(session: Session, asked: Listing) -> Answer:
    """What a model may see of a store, newest change first."""
    engine, caller = session.engine, session.caller
    wanted = Filter(asked.namespace, filter_of(asked.prefix).prefix)
    page = read.list_entries(
        engine,
        caller,
        read.Listing(ROOM, space_meant(caller, asked.store), wanted, asked.limit or LISTED, asked.cursor),
    )
    stores = _stores_of(engine, caller, {entry.space for entry in page})
    answer: dict[str, Any] = {"entries": [_shown(entry, stores[entry.space]) for entry in page]}
    return answer if page.cursor is None else answer | {"cursor": page.cursor}


def _create(session: Session, asked: Create) -> Write[Answer]:
    draft = NoteInput(
        "", asked.spot.key, ttl=asked.ttl, encrypted=asked.encrypted, namespace=asked.spot.namespace
    )
    if isinstance(asked.value, str):
        profile, draft = STORES, draft._replace(text=asked.value)
    else:
        profile, draft = STORES_JSON, draft._replace(text=as_json(asked.value))
    request = Asked(profile, space_meant(session.caller, asked.spot.store), draft)

    def not_kept() -> Answer:
        kept = remember.not_kept(session.limits, session.caller, request, session.reason, session.clock())
        return {"persisted": kept.persisted, "note": kept.note}

    work = _then(
        lambda: remember.remember(session.engine, session.caller, with_default_ttl(session, request)),
        lambda kept: _created(session, asked.spot, kept),
    )
    return Write(work.prepare, off=not_kept)


def _created(session: Session, spot: Spot, kept: Remembered) -> str:
    left_out = f"; secrets left out: {told_by_kind(kept.redactions)}" if kept.redactions else ""
    advice = "".join(f"; note: {each.message}" for each in kept.advised)
    return f"created {_path(session, spot)}{left_out}{advice}"


def _edited(session: Session, spot: Spot, old: str, new: str, done: Replaced) -> Answer:
    """Where the passage stood, before and after, and how often it had occurred: only the first was replaced."""
    at = done.before.find(old)
    end = at + len(old)
    before, after = done.before[max(0, at - AROUND) : at], done.before[end : end + AROUND]
    kept = session.engine.scrub(f"{before}{new}{after}")
    answer: dict[str, Any] = {
        "edited": _path(session, spot),
        "occurrences": done.occurrences,
        "diff": f"- {before}{old}{after}\n+ {kept.text}",
    }
    if kept.count:
        answer |= {"redacted": kept.count, "redactions": dict(kept.found)}
    if done.entry.advice:
        answer["advice"] = [each._asdict() for each in done.entry.advice]
    return answer


def _rename(session: Session, spot: Spot, to: Spot) -> Job[Entry]:
    there = (
        None
        if to.store == spot.store
        else space_meant(session.caller, to.store) or own_space(session.caller.principal)
    )
    return edit.rename(
        session.engine, session.caller, _target(session, spot), to.key, there, creator_only=True
    )


def _search(session: Session, asked: Search) -> Answer:
    engine, caller = session.engine, session.caller
    where = None if asked.store is None else (space_meant(caller, asked.store),)
    question, limit = check_question(asked.query), asked.limit or FOUND
    ask = Ask(question, ROOM, limit, spaces=where, namespace=asked.namespace)
    from holdfast.operations.recall import recall  # numpy, which keeping and reading need not wait for

    hits = recall(engine, caller, ask)
    stores = _stores_of(engine, caller, {hit.entry.space for hit in hits})
    answer: dict[str, Any] = {"entries": [_shown(hit.entry, stores[hit.entry.space]) for hit in hits]}
    return answer if hits.note is None else answer | {"note": hits.note}


def _share(session: Session, asked: Share) -> Work[Answer]:
    def prepare() -> Job[Grant]:
        where = space_meant(session.caller, asked.store)
        return share.share(session.engine, session.caller, where, asked.agent, asked.level, asked.ttl)

    if must_ask_to_share(session):
        told = f"Share {_folder(session, asked.store)} with {asked.agent} at {asked.level}"
        until = f" for {whole_seconds(asked.ttl)} seconds." if asked.ttl else "."
        said = {"agent": asked.agent, "level": asked.level, "ttl": whole_seconds(asked.ttl)}
        return _ask(session, "share", asked.store, said, told + until, prepare)
    return _then(
        prepare,
        lambda grant: f"shared {_folder(session, asked.store)} with {grant.grantee} at {grant.level.label}",
    )


def _unshare(session: Session, asked: Unshare) -> Work[Answer]:
    def prepare() -> Job[Unshared]:
        return share.unshare(
            session.engine, session.caller, space_meant(session.caller, asked.store), asked.agent
        )

    if must_ask_to_share(session):
        told = f"Take back what {asked.agent} may do in {_folder(session, asked.store)}."
        return _ask(session, "unshare", asked.store, {"agent": asked.agent}, told, prepare)
    return _then(
        prepare,
        lambda done: (
            f"unshared {_folder(session, asked.store)}; grants taken back: {done.revoked + done.cascaded}"
        ),
    )


def _ask(
    session: Session,
    command: str,
    store: Store,
    said: dict[str, Any],
    told: str,
    prepare: Callable[[], Job[Any]],
) -> Steps[Answer]:
    named = {"scope": store.value} if isinstance(store, Scope) else {"store": store}
    arguments = {"command": command, **named, **{name: one for name, one in said.items() if one is not None}}
    wanted = Wanted("stores.memory", arguments, told, space_meant(session.caller, store))
    return ask_a_person(session, wanted, prepare)


def _stores(session: Session) -> Answer:
    """The own store first, then what was granted, then what this chat and this user open."""
    engine, caller = session.engine, session.caller
    entered = spaces.enterable(engine, caller, Op.SEARCH, engine.clock())
    names = [store_id(caller, one.space) for one in entered]
    return {
        "stores": [
            {
                "storeId": name if names.count(name) == 1 else f"{one.space.kind.label}:{one.space.ref}",
                "level": min(one.level, Level.READWRITE).label,
                "source": _source(caller, one),
            }
            for name, one in zip(names, entered, strict=True)
        ]
    }


def _source(caller: Caller, entered: Access) -> str:
    if entered.space.kind is SpaceKind.SHARED and entered.space.owner == caller.principal:
        return SHARED
    reason = entered.decision.reason.value
    return _SOURCES.get(reason, reason)


def space_meant(caller: Caller, store: Store) -> SpaceRef:
    """The space of a store as a caller names it. A scope never names a space that the door did not vouch for."""
    match store:
        case Scope.AGENT:
            return None
        case Scope.USER:
            user = caller.principal if caller.principal.kind is PrincipalKind.USER else caller.session_user
            if user is None:
                raise AccessDenied("This call is made for no user, so there is no user's store.")
            return own_space(user)
        case Scope.CHAT:
            if len(caller.chats) != 1:
                raise AccessDenied("This call is made in no chat, or in several; name the store by its id.")
            return SpaceName(SpaceKind.CHAT, next(iter(caller.chats)))
        case str():
            return None if store == caller.principal.id else store


def store_id(caller: Caller, space: Space) -> str:
    """What a store is called in answers: who or what it belongs to, as the session knows it; an id where that would be
    ambiguous or cannot stand in a path."""
    if space.owner == caller.principal and space.kind is not SpaceKind.SHARED:
        return caller.principal.id
    if space.kind is SpaceKind.SHARED or space.ref == caller.principal.id or "/" in space.ref:
        return str(space.id) if space.stored else f"{space.kind.label}:{space.ref}"
    return space.ref


def _internal(session: Session, store: str, key: str) -> EntryName:
    """Never for people, and never through the door of a model: that is what keeps these entries from its sight."""
    caller = session.caller
    if caller.principal.kind is PrincipalKind.USER or caller.door in MODEL_DOORS:
        raise AccessDenied("Only the code of an agent or a service reads and writes what is internal.")
    where = space_meant(caller, check_words("store", store))
    return EntryName(name_of(key), None, where, "", (Partition.INTERNAL,))


def _target(session: Session, spot: Spot) -> EntryName:
    return EntryName(spot.key, None, space_meant(session.caller, spot.store), spot.namespace, ROOM)


def _folder(session: Session, store: Store) -> str:
    match store:
        case Scope.AGENT:
            return f"{ROOT}/"
        case Scope():
            where = space_meant(session.caller, store)
            name = where.ref if isinstance(where, SpaceName) else str(where)
            return f"{ROOT}/{SHARED}/{name}/"
        case _:
            own = store == session.caller.principal.id
            return f"{ROOT}/" if own else f"{ROOT}/{SHARED}/{store}/"


def _path(session: Session, spot: Spot) -> str:
    return _folder(session, spot.store) + spot.key


def as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InvalidField("A value must be text, or something that JSON can write.") from None


def value_of(entry: Entry) -> Any:
    """As it was given. Secrets may have been cut out of JSON so that it is none any more; then its text."""
    if not entry.content.is_text:
        return entry.value
    if entry.content.media_type != JSON:
        return entry.text
    try:
        return json.loads(entry.text)
    except ValueError:
        return entry.text


def _stores_of(engine: Engine, caller: Caller, spaces: Iterable[UUID]) -> dict[UUID, str]:
    """What the stores that these spaces are go by."""
    own = engine.sealed.own_space(caller.principal)
    named: dict[UUID, str] = {}
    for id in spaces:
        space = own if own is not None and own.id == id else engine.sealed.space(id)
        named[id] = str(id) if space is None else store_id(caller, space)
    return named


def _shown(entry: Entry, store: str) -> dict[str, Any]:
    content = entry.content
    shown: dict[str, Any] = {
        "key": content.key,
        "value": content.text if content.media_type == TEXT else value_of(entry),
        "storeId": store,
        "owner_id": str(entry.owner),
        "updated_at": moment(entry.updated_us),
    }
    if entry.expires_us is not None:
        shown["expires_at"] = moment(entry.expires_us)
    if content.namespace:
        shown["namespace"] = content.namespace
    if entry.encrypted:
        shown["encrypted"] = True
    return shown
