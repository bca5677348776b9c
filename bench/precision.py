"""precisionMemBench through the door: scopes are spaces, canonical names hints, aliases tags; what was superseded or
resolved is trashed, as a user would do it, and must never come back."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import holdfast
from bench.datasets import shared
from bench.measure import CACHE, Line
from holdfast.entrypoints.facade import Own

NAME = "precisionmembench"
TOP = 5
DEEPEST = 20
INCLUDED = 0.9

Json = dict[str, Any]


@dataclass(slots=True)
class Counted:
    wanted: int = 0
    found: int = 0
    pinned: int = 0
    pinned_found: int = 0
    forbidden: int = 0
    extra: int = 0
    fitting: int = 0


def precision_lines(modes: Mapping[str, str]) -> list[Line]:
    """One run for each mode, which names an embedder."""
    folder = shared(NAME)
    if folder is None:
        print(f"  {NAME} left out: it is not in the shared data")
        return []
    data = json.loads((folder / f"{NAME}.json").read_text(encoding="utf-8"))
    return [line for mode, embedder in modes.items() for line in _lines(mode, _count(data, embedder))]


def _lines(mode: str, counted: Counted) -> list[Line]:
    return [
        Line(f"{NAME}, {mode}, excluded returned", counted.forbidden, "hits", at_most=0),
        Line(
            f"{NAME}, {mode}, to be included in the top {TOP}",
            counted.found / counted.wanted,
            "",
            at_least=INCLUDED,
            beside=f"{counted.found} of {counted.wanted}, of which {counted.fitting} fit; "
            f"pinned and open questions by search alone {counted.pinned_found} of {counted.pinned}",
        ),
        Line(f"{NAME}, {mode}, extra hits in the top {TOP}", counted.extra, "hits"),
    ]


def _count(data: Json, embedder: str) -> Counted:
    counted = Counted()
    with (
        tempfile.TemporaryDirectory(prefix="precision-", dir=CACHE) as folder,
        holdfast.open(folder, embedder=embedder, durability="relaxed", sweep_seconds=0) as memory,
    ):
        door = memory.user("reader")
        ours = _keep(door, data)
        memory.settle(timeout=600)
        names = {id: name for name, id in ours.items()}
        for case in data["cases"]:
            hits = door.recall(
                case["query"], limit=DEEPEST, spaces=[_space(scope) for scope in case["scope"]]
            )
            _judge(case, [names[str(hit.id)] for hit in hits], _gone_or_elsewhere(data, case), counted)
    return counted


def _keep(door: Own, data: Json) -> dict[str, str]:
    """Writes every belief and trashes those that are no longer held; gives our id for each of theirs."""
    for scope in sorted({scope for row in (*data["beliefs"], *data["cases"]) for scope in row["scope"]}):
        door.create_space(_space(scope))
    ours = {belief["_id"]: str(door.remember(**_arguments(belief)).id) for belief in data["beliefs"]}
    for belief in data["beliefs"]:
        if _is_gone(belief):
            door.trash(id=ours[belief["_id"]], space=_space(belief["scope"][0]))
    return ours


def _arguments(belief: Json) -> Json:
    (scope,) = belief["scope"]
    return {
        "text": belief["content"],
        "hint": belief["canonical_name"].replace("_", " "),
        "tags": belief["aliases"],
        "space": _space(scope),
        "always_inject": belief["pinned"],
    }


def _space(scope: str) -> str:
    return scope.replace(":", "-")


def _gone_or_elsewhere(data: Json, case: Json) -> set[str]:
    return {
        belief["_id"]
        for belief in data["beliefs"]
        if _is_gone(belief) or not set(belief["scope"]) & set(case["scope"])
    }


def _is_gone(belief: Json) -> bool:
    return bool(belief["superseded_by"] or belief["resolved_at"])


def _judge(case: Json, hits: list[str], gone: set[str], counted: Counted) -> None:
    parts = {name: part for name, part in case["expect"].items() if name != "personaPrelude"}
    wanted = set(parts.get("relevantBeliefs", {}).get("shouldOnlyInclude", []))
    pinned = {id for part in parts.values() for id in part.get("mustInclude", [])}
    # Some cases exclude from one list what they want in another; recall has one list.
    excluded = {id for part in parts.values() for id in part.get("mustExclude", [])} - wanted - pinned
    top = set(hits[:TOP])
    counted.wanted += len(wanted)
    counted.fitting += min(len(wanted), TOP)
    counted.found += len(wanted & top)
    counted.pinned += len(pinned)
    counted.pinned_found += len(pinned & top)
    counted.forbidden += len(set(hits) & (excluded | gone))
    counted.extra += len(top - wanted - pinned)
