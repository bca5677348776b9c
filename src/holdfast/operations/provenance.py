"""Provenance: who stands behind a write, as far as the engine knows it itself."""

from __future__ import annotations

from functools import lru_cache

from holdfast.domain.access import MODEL_DOORS, Op, is_person
from holdfast.domain.entry import Content, Provenance, Source, least_trusted
from holdfast.domain.errors import InvalidField, NotFound
from holdfast.domain.limits import check_list
from holdfast.domain.partition import MODEL_VISIBLE
from holdfast.domain.principal import Caller, Principal, PrincipalKind
from holdfast.operations.authorize import EntryName, find_ref, look_up, opened
from holdfast.operations.session import Session
from holdfast.safety.advice import LESS_TRUSTED

SOURCES_AT_MOST = 32
_KNOWN_WRITERS = 1_024
_MACHINE_INTERFACES = frozenset({*MODEL_DOORS, "handler"})
_LOWERED_TO = {"tool": Source.TOOL, "import": Source.IMPORT}


def provenance_of(caller: Caller, source: Source | None = None) -> Provenance:
    """The provenance of a new note. What a model or tool code sends is an agent's, whomever it works for."""
    if source is None:
        by_user = caller.principal.kind is PrincipalKind.USER and caller.door not in _MACHINE_INTERFACES
        source = Source.USER if by_user else Source.AGENT
    return _provenance(caller.principal, caller.door, source, caller.conversation, caller.run)


@lru_cache(_KNOWN_WRITERS)
def _provenance(
    principal: Principal, door: str, source: Source, conversation: str | None, run: str | None
) -> Provenance:
    return Provenance(str(principal), door, source, conversation, run)


def provenance_after(caller: Caller, before: Content) -> Provenance:
    """The provenance of a change. Changing a part of less trusted words does not vouch for the rest."""
    own, old = provenance_of(caller), before.provenance.source
    return own if old not in LESS_TRUSTED else provenance_of(caller, least_trusted(own.source, old))


def removed_by(caller: Caller) -> str:
    """A line for the principal and one for the run; no id has line breaks."""
    return f"{caller.principal}\n{caller.run}" if caller.run else str(caller.principal)


def removers(removed_by: str) -> list[str]:
    return removed_by.split("\n")


def trace_sources(
    session: Session, content: Content, source: str | None, derived_from: object, now: int
) -> tuple[Content, bool]:
    """The content with the least trusted of its sources, and whether one of them is quarantined."""
    origins = [content.provenance.source]
    if source is not None:
        if source not in _LOWERED_TO:
            raise InvalidField("A source is `tool` or `import`; who writes is known.")
        origins.append(_LOWERED_TO[source])
    ids = () if derived_from is None else check_list("derived_from", derived_from)
    if len(ids) > SOURCES_AT_MOST:
        raise InvalidField(f"An entry is derived from at most {SOURCES_AT_MOST} others.")
    held_back = False
    for id in ids:
        entry = opened(look_up(find_ref(session, EntryName(id=id, partitions=MODEL_VISIBLE), Op.READ, now)))
        if entry.quarantined and not is_person(session.caller):
            raise NotFound
        origins.append(entry.provenance.source)
        held_back |= entry.quarantined
    provenance = provenance_of(session.caller, least_trusted(*origins))
    return content._replace(provenance=provenance, derived_from=tuple(map(str, ids))), held_back
