"""Judge: who stands behind a write, which secrets leave it, how far its words are trusted, and what the save coach
says about them."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

from holdfast.domain.access import MODEL_DOORS, Op, is_person
from holdfast.domain.entry import Content, Provenance, Source, least_trusted
from holdfast.domain.errors import InvalidField, LiveState, NotFound
from holdfast.domain.key import is_made
from holdfast.domain.limits import check_list
from holdfast.domain.partition import MODEL_VISIBLE
from holdfast.domain.principal import Caller, Principal, PrincipalKind
from holdfast.domain.profile import Profile
from holdfast.operations.authorize import EntryName, look_up, opened, seek
from holdfast.operations.engine import Engine
from holdfast.operations.results import Redactions
from holdfast.safety.advice import LESS_TRUSTED, SENTENCES, Action, Advice, Code, action, advised, doubts
from holdfast.safety.prompt_injection import claims_authority

NO_ADVICE: tuple[Advice, ...] = ()
NO_REDACTIONS: Redactions = ()
SOURCES_AT_MOST = 32
_KNOWN_WRITERS = 1_024
_OF_MACHINES = frozenset({*MODEL_DOORS, "handler"})
_SAID = {"tool": Source.TOOL, "import": Source.IMPORT}


def provenance_of(caller: Caller, source: Source | None = None) -> Provenance:
    """Who stands behind a write, as far as the engine knows it itself. What comes through the door of a model or of
    tool code is an agent's, whomever it works for."""
    if source is None:
        by_user = caller.principal.kind is PrincipalKind.USER and caller.door not in _OF_MACHINES
        source = Source.USER if by_user else Source.AGENT
    return _provenance(caller.principal, caller.door, source, caller.conversation, caller.run)


def provenance_after(caller: Caller, before: Content) -> Provenance:
    """Of a change: words that nobody stood behind are not vouched for by who changes a part of them."""
    own, old = provenance_of(caller), before.provenance.source
    return own if old not in LESS_TRUSTED else provenance_of(caller, least_trusted(own.source, old))


@lru_cache(_KNOWN_WRITERS)
def _provenance(
    principal: Principal, door: str, source: Source, conversation: str | None, run: str | None
) -> Provenance:
    return Provenance(str(principal), door, source, conversation, run)


def removed_by(caller: Caller) -> str:
    """A line for who it is and one for the run, as no id has line breaks."""
    return f"{caller.principal}\n{caller.run}" if caller.run else str(caller.principal)


def removers(removed_by: str) -> list[str]:
    return removed_by.split("\n")


def scrubbed(engine: Engine, content: Content, words: str | None = None) -> tuple[Content, Redactions]:
    """Secrets leave every part that a model may come to see. Most notes have none: one look over all parts tells.
    `words` is what `words_of` gives."""
    scrub = engine.scrub
    if not scrub(words_of(content) if words is None else words).found:
        return content, ()
    text = content.text
    clean: dict[str, Any] = {}
    found: Counter[str] = Counter()
    for name in ("hint", "key", "category", "conversation", "speaker"):
        if (value := getattr(content, name)) and (result := scrub(value)).count:
            clean[name] = result.text
            found.update(dict(result.found))
    body, tags = scrub(text), [scrub(tag) for tag in content.tags]
    for part in (body, *tags):
        found.update(dict(part.found))
    if not found:
        return content, ()
    kept = tuple(dict.fromkeys(tag.text for tag in tags))
    return content._replace(body=body.text.encode(), tags=kept, **clean), tuple(sorted(found.items()))


def judged(
    engine: Engine,
    caller: Caller,
    profile: Profile,
    content: Content,
    now: int,
    source: str | None = None,
    derived_from: tuple[str, ...] | None = None,
    words: str | None = None,
) -> tuple[Content, tuple[Advice, ...], bool]:
    """The content with its source, what there is to say about it, and whether it is kept from models."""
    held_back = False
    if source is not None or derived_from is not None:
        content, held_back = _traced(engine, caller, content, now, source, derived_from)
    advice, doubtful = weighed(profile, content, words)
    return content, advice, held_back or doubtful


def weighed(profile: Profile, content: Content, words: str | None = None) -> tuple[tuple[Advice, ...], bool]:
    """What there is to say about words as they stand, and whether they are kept from models for it. Needs no store."""
    origin, held_back = content.provenance.source, False
    said = words_of(content) if words is None else words
    found = doubts(said, dated=content.at_us is not None, trusted=origin not in LESS_TRUSTED)
    if origin in LESS_TRUSTED and Code.INSTRUCTION not in found and claims_authority(content.key):
        found = (*found, Code.INSTRUCTION)
    if not found:
        return NO_ADVICE, False
    for code in found:
        match action(profile.name, code, origin):
            case Action.REFUSE:
                raise LiveState(SENTENCES[code]) if code is Code.LIVE_STATE else InvalidField(SENTENCES[code])
            case Action.QUARANTINE:
                held_back = True
            case Action.NOTE:
                pass
    return advised(found), held_back


def words_of(content: Content) -> str:
    """Everything a model may come to see of it."""
    named = "" if is_made(content.key) else content.key
    labels = content.hint, named, content.category, content.speaker, content.conversation, content.namespace
    return "\n".join(filter(None, (content.text, *labels, *content.tags)))


def _traced(
    engine: Engine, caller: Caller, content: Content, now: int, source: str | None, sources: object
) -> tuple[Content, bool]:
    """With the least trusted of what it says it is, and of what it was made from."""
    origins = [content.provenance.source]
    if source is not None:
        if source not in _SAID:
            raise InvalidField("A source is `tool` or `import`; who writes is known.")
        origins.append(_SAID[source])
    ids = () if sources is None else check_list("derived_from", sources)
    if len(ids) > SOURCES_AT_MOST:
        raise InvalidField(f"An entry is derived from at most {SOURCES_AT_MOST} others.")
    held_back = False
    for id in ids:
        entry = opened(
            look_up(engine, seek(engine, caller, EntryName(id=id, partitions=MODEL_VISIBLE), Op.READ, now))
        )
        if entry.quarantined and not is_person(caller):
            raise NotFound
        origins.append(entry.provenance.source)
        held_back |= entry.quarantined
    traced = content._replace(
        provenance=provenance_of(caller, least_trusted(*origins)), derived_from=tuple(map(str, ids))
    )
    return traced, held_back
