"""The stores vocabulary: the `memory` tool, whose stores are spaces, and what skills keep beside it out of a model's
sight. Every entry belongs to its writer, as the session knows them; no argument says so."""

from __future__ import annotations

import base64
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any

from holdfast.contracts.storage import Job, Result, Transaction
from holdfast.domain.access import MODEL_DOORS
from holdfast.domain.errors import (
    AccessDenied,
    InvalidField,
    InvalidKey,
    InvalidLevel,
    MissingField,
    MissingKey,
    MissingValue,
    NotFound,
)
from holdfast.domain.limits import check_flag, check_label, check_words
from holdfast.domain.partition import Partition
from holdfast.domain.principal import PrincipalKind
from holdfast.domain.profile import SKILL, SKILL_JSON
from holdfast.domain.retention import CENTURY_SECONDS, Ttl
from holdfast.operations import read, remove
from holdfast.operations.authorize import EntryName
from holdfast.operations.notes import NoteInput
from holdfast.operations.remember import remember
from holdfast.operations.session import Session
from holdfast.operations.share import Preview, preview
from holdfast.vocabularies import encoding
from holdfast.vocabularies.call import Vocabulary, call
from holdfast.vocabularies.encoding import LEVELS, Codec, Json, Part, any_answer, record, single
from holdfast.vocabularies.entries import ENTRY
from holdfast.vocabularies.fields import CURSOR, LIMIT, LINE, NAME, SPACE, SUBJECT, Field, Kind, LevelName
from holdfast.vocabularies.inputs import SpaceId, required_key, space_id
from holdfast.vocabularies.rules import OF_THE_TOOL, TOOL_PATH, VALUE_OR_DATA
from holdfast.vocabularies.store_commands import (
    PARTITIONS,
    Answer,
    as_json,
    run_request,
    space_of_store,
    value_of,
)
from holdfast.vocabularies.store_requests import (
    ACTIONS,
    COMMANDS,
    LONGEST_KEY,
    Scope,
    parse,
)
from holdfast.vocabularies.store_requests import LEVELS as TOOL_LEVELS

SECONDS = {"minimum": 0, "maximum": CENTURY_SECONDS}
STORE = Field("A store's id.", "my-agent", missing=MissingField)
KEY = Field("The name in that store.", "github/token", missing=MissingKey, wrong=InvalidKey)
DATA = Field("Bytes in place of `value`, for what a client encrypted.", kind=Kind.DATA, name="data")
TOOL_ANSWER = any_answer(
    "MemoryAnswer",
    {
        "description": "`view`: the entry, or null. A folder, or `search`: {entries}. `stores`: {stores}. `edit`: "
        "{edited, occurrences, diff, redacted?, redactions?, advice?}. Other commands: a sentence that says what was "
        "done.",
        "type": ["object", "string", "null"],
        "examples": ["created /memories/preferences"],
    },
)


def _internal_value() -> Codec[Any]:
    """Bytes are sent as `data`."""
    value = {"description": "As it was given; null when there is nothing."}

    def encode(kept: Any) -> Json:
        if isinstance(kept, bytes):
            return {"value": None, "data": base64.b64encode(kept).decode()}
        return {"value": kept}

    def decode(encoded: Json) -> Any:
        return base64.b64decode(encoded["data"]) if "data" in encoded else encoded["value"]

    return Codec((Part("value", value), Part("data", encoding.BYTES, optional=True)), encode, decode)


INTERNAL = encoding.Answer("Internal", _internal_value)


class StoreCalls(Vocabulary):
    @call(TOOL_ANSWER, writes=True, slow="query", rules=OF_THE_TOOL)
    def memory(
        self,
        command: Annotated[
            str | None, Field("What to do.", "create", bounds={"enum": list(COMMANDS)})
        ] = None,
        *,
        action: Annotated[
            str | None,
            Field(
                "The older words, with `store` and `key`, in place of `command`.",
                bounds={"enum": list(ACTIONS)},
            ),
        ] = None,
        path: Annotated[
            str | None,
            Field(
                "`/memories/KEY` in the own store, `/memories/shared/STORE/KEY` in another; `/` at the end lists.",
                "/memories/preferences",
                bounds=TOOL_PATH,
            ),
        ] = None,
        scope: Annotated[
            str | None,
            Field(
                "In place of a path, with `key`: the own store, that of the user or that of the chat.",
                bounds={"enum": list(Scope)},
            ),
        ] = None,
        store: Annotated[
            str | None, Field("In place of a path, with `key`: a store's id.", bounds={"minLength": 1})
        ] = None,
        key: Annotated[
            str | None,
            Field("The entry's name in that store.", wrong=InvalidKey, bounds={"maxLength": LONGEST_KEY}),
        ] = None,
        namespace: Annotated[
            str | None, Field("A room of keys of its own inside a store.", bounds=LINE)
        ] = None,
        content: Annotated[Any, Field("What to keep: text, or any JSON.", "Prefers short answers")] = None,
        value: Annotated[Any, Field("set: what to keep.")] = None,
        old_str: Annotated[
            str | None, Field("edit: the passage, exactly as it stands; the first one is replaced.")
        ] = None,
        new_str: Annotated[str | None, Field("edit: what to put there. rename: the new path or key.")] = None,
        query: Annotated[str | None, Field("search: a question, in words.")] = None,
        prefix: Annotated[str | None, Field("What listed keys begin with, literally.")] = None,
        agent: Annotated[
            str | None, Field("share, unshare: whom, as kind:id; a bare id is an agent.")
        ] = None,
        level: Annotated[
            str | None,
            Field(
                "share: how far in; default: read.", wrong=InvalidLevel, bounds={"enum": list(TOOL_LEVELS)}
            ),
        ] = None,
        ttl: Annotated[
            Ttl, Field("create, share: how long it holds, in seconds; 0: for ever.", bounds=SECONDS)
        ] = None,
        encrypted: Annotated[
            bool | None, Field("create: the client encrypted the text: kept as it is, never indexed.")
        ] = None,
        limit: Annotated[int | None, LIMIT] = None,
        cursor: Annotated[str | None, CURSOR] = None,
    ) -> Result[Answer]:
        """The memory tool: `view`, `create`, `edit`, `delete`, `rename`, `search`, `share`, `unshare` and `stores`.
        Entries are named by `path` (`/memories/KEY`, `/memories/shared/STORE/KEY`), or by `scope` or `store` and `key`.
        As `action`: `get`, `set`, `delete`, `list`, `search`, `share`, `unshare` and `stores`."""
        if namespace is not None:
            namespace = check_label("namespace", namespace, self._session.limits)
        arguments = {
            "command": command, "action": action, "path": path, "scope": scope, "store": store, "key": key,
            "namespace": namespace, "content": content, "value": value, "old_str": old_str, "new_str": new_str,
            "query": query, "prefix": prefix, "agent": agent, "level": level, "ttl": ttl, "encrypted": encrypted,
            "limit": limit, "cursor": cursor,
        }  # fmt: skip
        return run_request(
            self._session, parse({name: one for name, one in arguments.items() if one is not None})
        )

    @call(record(Preview, of={"entries": ENTRY}), slow=True)
    def preview(
        self,
        agent: Annotated[
            str,
            Field(
                "Who: kind:id; a bare id is an agent.",
                "reviewer",
                missing=MissingField,
                bounds=SUBJECT | {"minLength": 1},
            ),
        ],
        *,
        space: Annotated[SpaceId, SPACE] = None,
        level: Annotated[
            LevelName,
            Field("The level they would be given; default: read.", "read", wrong=InvalidLevel, bounds=LEVELS),
        ] = "read",
        limit: Annotated[int, LIMIT] = 100,
    ) -> Preview:
        """Previews what somebody (kind:id, a bare id is an agent) would see of a store at a level, for those who could
        give it. Nothing is given."""
        return preview(self._session, space_id(space), agent, level, limit)

    @call(INTERNAL)
    def get_internal(self, store: Annotated[str, STORE], key: Annotated[str, KEY]) -> Any:
        """The value a skill of this agent keeps in a store out of every model's sight; None when there is nothing."""
        session, name = self._session, _internal(self._session, store, key)
        try:
            entry = read.get(session, name)
        except NotFound:
            return None
        return value_of(entry) if entry.owner == session.principal else None

    @call(single("InternalKept", "persisted", bool), writes=True, rules=VALUE_OR_DATA)
    def set_internal(
        self,
        store: Annotated[str, STORE],
        key: Annotated[str, replace(KEY, bounds=NAME)],
        value: Annotated[Any, DATA, Field("Text, or any JSON.", "ghp_example", missing=MissingValue)],
        encrypted: Annotated[bool, Field("The client encrypted it.")] = False,
        ttl: Annotated[
            Ttl, Field("How long it lives, in seconds; 0 or none: for ever.", bounds=SECONDS)
        ] = None,
    ) -> Result[bool]:
        """Keeps something for a skill in a store, out of every model's sight. An entry of the agent's own under that
        key that models could see goes to the trash in the same step."""
        session, name = self._session, _internal(self._session, store, key)
        text, opaque = isinstance(value, str | bytes), check_flag("encrypted", encrypted)
        if isinstance(value, bytes) and not opaque:
            raise InvalidField("Bytes are for what the client encrypted; say `encrypted`.")
        arguments = NoteInput(value if text else as_json(value), key, ttl=ttl, encrypted=opaque)
        if session.is_off:
            return False
        keep = remember(session, SKILL if text else SKILL_JSON, name.space, arguments)
        hide = remove.trash(session, name._replace(partitions=PARTITIONS), creator_only=True)

        def write(tx: Transaction) -> bool:
            keep.run(tx)
            with suppress(NotFound, AccessDenied):  # nothing there, or somebody else's: that one stays
                hide.run(tx)
            return True

        return Job(write)


def _internal(session: Session, store: str, key: str) -> EntryName:
    """Names an internal entry. Never for people, and never through a model's interface: that keeps these entries from
    its sight."""
    caller = session.caller
    if caller.principal.kind is PrincipalKind.USER or caller.door in MODEL_DOORS:
        raise AccessDenied("Only the code of an agent or a service reads and writes what is internal.")
    where = space_of_store(caller, check_words("store", store))
    return EntryName(required_key(key), None, where, "", (Partition.INTERNAL,))
