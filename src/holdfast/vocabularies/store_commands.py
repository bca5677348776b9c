"""The commands of the memory tool: each parsed request becomes an answer or a job."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, assert_never
from uuid import UUID

from holdfast.contracts.storage import Job, Result
from holdfast.domain.access import Level, Op
from holdfast.domain.entry import JSON, TEXT, Entry
from holdfast.domain.errors import (
    AccessDenied,
    InvalidField,
    NotFound,
)
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Caller, PrincipalKind
from holdfast.domain.profile import STORES, STORES_JSON
from holdfast.domain.retention import whole_seconds
from holdfast.domain.space import Space, SpaceKind, SpaceName, own_space
from holdfast.operations import edit, read, remove, share, spaces
from holdfast.operations.authorize import Access, EntryName, SpaceRef
from holdfast.operations.edit import Replaced
from holdfast.operations.notes import NoteInput
from holdfast.operations.proposals import ProposalRequest
from holdfast.operations.read import Ask, check_question
from holdfast.operations.remember import not_kept, remember
from holdfast.operations.results import Remembered, redactions_text
from holdfast.operations.session import Session
from holdfast.vocabularies.administration import with_default_ttl
from holdfast.vocabularies.approvals import (
    ask_a_person,
    must_ask_to_share,
    refuse_unattended_model,
)
from holdfast.vocabularies.encoding import moment
from holdfast.vocabularies.inputs import page_filter
from holdfast.vocabularies.store_requests import (
    ROOT,
    SHARED,
    Create,
    Delete,
    Edit,
    ListEntries,
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
)

PARTITIONS = (Partition.STORES,)
LISTED = 100
FOUND = 10
AROUND = 40
"""Characters shown on either side of an edited passage."""
_SOURCES = {"own": "self", "session user": "user"}
Answer = Any
"""The tool's answer: null, a sentence, or an object, as JSON has them."""


def run_request(session: Session, request: Request) -> Result[Answer]:
    match request:
        case View(spot):
            return _view(session, spot)
        case ListEntries():
            return _off(session) if session.is_off else _list(session, request)
        case Create():
            return _create(session, request)
        case Edit(spot, old, new):
            replaced = edit.replace_text(session, _name(session, spot), old, new, None)
            return replaced.then(lambda done: _edited(session, spot, old, new, done))
        case Delete(spot):
            refuse_unattended_model(session)
            trashed = remove.trash(session, _name(session, spot), creator_only=True)
            return trashed.then(lambda _: f"deleted {_path(session, spot)}")
        case Rename(spot, to):
            renamed = _rename(session, spot, to)
            return renamed.then(lambda _: f"renamed {_path(session, spot)} to {_path(session, to)}")
        case Search():
            return _off(session) if session.is_off else _search(session, request)
        case Share():
            return _share(session, request)
        case Unshare():
            return _unshare(session, request)
        case Stores():
            return {"stores": [], "note": session.reason} if session.is_off else _stores(session)
        case never:
            assert_never(never)


def _off(session: Session) -> Answer:
    return {"entries": [], "note": session.reason}


def _view(session: Session, spot: Spot) -> Answer:
    """The entry, or null when there is none."""
    try:
        entry = read.get(session, _name(session, spot))
    except NotFound:
        return None
    return _shown(entry, _stores_of(session, (entry.space,))[entry.space])


def _list(session: Session, request: ListEntries) -> Answer:
    """Lists the entries of a store that a model may see, newest change first."""
    listing = read.Listing(
        PARTITIONS,
        space_of_store(session.caller, request.store),
        page_filter(request.prefix, namespace=request.namespace),
        request.limit or LISTED,
        request.cursor,
    )
    page = read.list_entries(session, listing)
    stores = _stores_of(session, {entry.space for entry in page})
    answer: dict[str, Any] = {"entries": [_shown(entry, stores[entry.space]) for entry in page]}
    return answer if page.cursor is None else answer | {"cursor": page.cursor}


def _create(session: Session, request: Create) -> Result[Answer]:
    spot, is_text = request.spot, isinstance(request.value, str)
    arguments = NoteInput(
        request.value if is_text else as_json(request.value),
        spot.key,
        ttl=request.ttl,
        encrypted=request.encrypted,
        namespace=spot.namespace,
    )
    profile, space = STORES if is_text else STORES_JSON, space_of_store(session.caller, spot.store)
    if session.is_off:
        kept = not_kept(session, profile, arguments)
        return {"persisted": kept.persisted, "note": kept.note}
    job = remember(session, profile, space, with_default_ttl(session, arguments))

    def sentence(kept: Remembered) -> str:
        left_out = f"; secrets left out: {redactions_text(kept.redactions)}" if kept.redactions else ""
        advice = "".join(f"; note: {each.message}" for each in kept.advised)
        return f"created {_path(session, spot)}{left_out}{advice}"

    return job.then(sentence)


def _edited(session: Session, spot: Spot, old: str, new: str, done: Replaced) -> Answer:
    """The position of the passage, before and after, and how often it had occurred: only the first was replaced."""
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
    there = None
    if to.store != spot.store:
        there = space_of_store(session.caller, to.store) or own_space(session.principal)
    return edit.rename(session, _name(session, spot), to.key, there, creator_only=True)


def _search(session: Session, request: Search) -> Answer:
    space = None if request.store is None else (space_of_store(session.caller, request.store),)
    question, limit = check_question(request.query), request.limit or FOUND
    ask = Ask(question, PARTITIONS, limit, spaces=space, namespace=request.namespace)
    from holdfast.operations.recall import recall  # numpy, which keeping and reading need not wait for

    hits = recall(session, ask)
    stores = _stores_of(session, {hit.entry.space for hit in hits})
    answer: dict[str, Any] = {"entries": [_shown(hit.entry, stores[hit.entry.space]) for hit in hits]}
    return answer if hits.note is None else answer | {"note": hits.note}


def _share(session: Session, request: Share) -> Job[Answer]:
    store, agent, level = request.store, request.agent, request.level
    job = share.share(session, space_of_store(session.caller, store), agent, level, request.ttl)
    if must_ask_to_share(session):
        seconds = whole_seconds(request.ttl)
        until = f" for {seconds} seconds." if request.ttl else "."
        shown = f"Share {_folder(session, store)} with {agent} at {level}{until}"
        return _propose(session, "share", store, shown, {"agent": agent, "level": level, "ttl": seconds})
    return job.then(
        lambda grant: f"shared {_folder(session, store)} with {grant.grantee} at {grant.level.label}"
    )


def _unshare(session: Session, request: Unshare) -> Job[Answer]:
    store, agent = request.store, request.agent
    job = share.unshare(session, space_of_store(session.caller, store), agent)
    if must_ask_to_share(session):
        shown = f"Take back what {agent} may do in {_folder(session, store)}."
        return _propose(session, "unshare", store, shown, {"agent": agent})
    return job.then(
        lambda done: f"unshared {_folder(session, store)}; grants taken back: {done.revoked + done.cascaded}"
    )


def _propose(
    session: Session, command: str, store: Store, shown: str, details: dict[str, Any]
) -> Job[Answer]:
    where = {"scope": store.value} if isinstance(store, Scope) else {"store": store}
    proposed = {
        "command": command,
        **where,
        **{name: one for name, one in details.items() if one is not None},
    }
    space = space_of_store(session.caller, store)
    return ask_a_person(session, ProposalRequest("stores.memory", proposed, shown, space))


def _stores(session: Session) -> Answer:
    """The caller's own store first, then granted ones, then those that this chat and this user open."""
    found = spaces.accessible(session, Op.SEARCH, session.clock())
    names = [store_id(session.caller, one.space) for one in found]
    return {
        "stores": [
            {
                "storeId": name if names.count(name) == 1 else f"{one.space.kind.label}:{one.space.ref}",
                "level": min(one.level, Level.READWRITE).label,
                "source": _source(session.caller, one),
            }
            for name, one in zip(names, found, strict=True)
        ]
    }


def _source(caller: Caller, access: Access) -> str:
    if access.space.kind is SpaceKind.SHARED and access.space.owner == caller.principal:
        return SHARED
    reason = access.decision.reason.value
    return _SOURCES.get(reason, reason)


def space_of_store(caller: Caller, store: Store) -> SpaceRef:
    """The space of a store as a caller names it. A scope only names spaces the session vouches for."""
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
    """The name of a store in answers: who or what it belongs to, as the session knows it. An id where that would be
    ambiguous or cannot stand in a path."""
    if space.owner == caller.principal and space.kind is not SpaceKind.SHARED:
        return caller.principal.id
    if space.kind is SpaceKind.SHARED or space.ref == caller.principal.id or "/" in space.ref:
        return str(space.id) if space.stored else f"{space.kind.label}:{space.ref}"
    return space.ref


def _name(session: Session, spot: Spot) -> EntryName:
    return EntryName(spot.key, None, space_of_store(session.caller, spot.store), spot.namespace, PARTITIONS)


def _folder(session: Session, store: Store) -> str:
    match store:
        case Scope.AGENT:
            return f"{ROOT}/"
        case Scope():
            where = space_of_store(session.caller, store)
            name = where.ref if isinstance(where, SpaceName) else str(where)
            return f"{ROOT}/{SHARED}/{name}/"
        case _:
            own = store == session.principal.id
            return f"{ROOT}/" if own else f"{ROOT}/{SHARED}/{store}/"


def _path(session: Session, spot: Spot) -> str:
    return _folder(session, spot.store) + spot.key


def as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InvalidField("A value must be text, or something that JSON can write.") from None


def value_of(entry: Entry) -> Any:
    """The value as it was given. When secrets were cut out and left no valid JSON, its text."""
    if not entry.content.is_text:
        return entry.value
    if entry.content.media_type != JSON:
        return entry.text
    try:
        return json.loads(entry.text)
    except ValueError:
        return entry.text


def _stores_of(session: Session, spaces: Iterable[UUID]) -> dict[UUID, str]:
    """The names of the stores that these spaces are."""
    own = session.sealed.own_space(session.principal)
    named: dict[UUID, str] = {}
    for id in spaces:
        space = own if own is not None and own.id == id else session.sealed.space(id)
        named[id] = str(id) if space is None else store_id(session.caller, space)
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
