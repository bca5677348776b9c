"""Seals proposals: the call, the text shown and the caller, under the key of the store, bound to the columns beside
them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from holdfast.contracts.rows import ProposalRow
from holdfast.crypto.sealing import seal_blob, unseal_blob
from holdfast.domain.principal import Caller, Principal, PrincipalKind
from holdfast.domain.space import SpaceKind, SpaceName
from holdfast.storage.sealed_store import SealedStore


class ProposedCall(NamedTuple):
    """The sealed part of a proposal."""

    what: str
    arguments: Mapping[str, Any]
    shown: str
    caller: Caller
    space: SpaceName


def seal_proposal(sealed: SealedStore, row: ProposalRow, call: ProposedCall) -> ProposalRow:
    plain = json.dumps(
        {
            "what": call.what,
            "arguments": call.arguments,
            "shown": call.shown,
            "caller": _of_caller(call.caller),
            "space": [call.space.kind.label, call.space.ref, _of_principal(call.space.owner)],
        }
    ).encode()
    return row._replace(sealed=seal_blob(sealed.store_key, _bound(row), plain))


def open_proposal(sealed: SealedStore, row: ProposalRow) -> ProposedCall | None:
    """Opens a proposal; None when it was answered, or changed outside the engine."""
    plain = unseal_blob(sealed.store_key, _bound(row), row.sealed)
    if plain is None:
        return None
    fields = json.loads(plain)
    kind, ref, owner = fields["space"]
    space = SpaceName(SpaceKind[kind.upper()], ref, _to_principal(owner))
    return ProposedCall(
        fields["what"], fields["arguments"], fields["shown"], _to_caller(fields["caller"]), space
    )


def _bound(row: ProposalRow) -> bytes:
    numbers = b"".join(value.to_bytes(8) for value in (row.number, row.created_us, row.expires_us))
    people = b"".join(len(blind).to_bytes(2) + blind for blind in (row.person, row.proposer))
    return b"proposal" + row.id.bytes + row.space.bytes + numbers + people


def _of_caller(caller: Caller) -> dict[str, Any]:
    return {
        "principal": _of_principal(caller.principal),
        "session_user": _of_principal(caller.session_user),
        "owner": _of_principal(caller.owner),
        "chats": sorted(caller.chats),
        "systems": dict(caller.systems),
        "teams": sorted(caller.teams),
        "roles": sorted(caller.roles),
        "unattended": caller.unattended,
        "run": caller.run,
        "conversation": caller.conversation,
        "door": caller.door,
    }


def _to_caller(fields: dict[str, Any]) -> Caller:
    principal = _to_principal(fields["principal"])
    assert principal is not None
    sets = {name: frozenset(fields[name]) for name in ("chats", "teams", "roles")}
    people = {name: _to_principal(fields[name]) for name in ("session_user", "owner")}
    return Caller(**fields | sets | people | {"principal": principal})


def _of_principal(principal: Principal | None) -> list[str] | None:
    return None if principal is None else [principal.kind.value, principal.id]


def _to_principal(fields: list[str] | None) -> Principal | None:
    return None if fields is None else Principal(PrincipalKind(fields[0]), fields[1])
