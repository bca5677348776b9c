"""Answers as text for a model: short lines, with every stored text quoted, so that it cannot imitate ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.domain.context import quoted
from holdfast.domain.entry import Entry
from holdfast.operations.results import Hits, redactions_text
from holdfast.vocabularies.call import Call
from holdfast.vocabularies.encoding import moment
from holdfast.vocabularies.facts import MyMemory
from holdfast.vocabularies.files import DELETE

NOTHING = "Nothing found."


def text_of(call: Call, result: Any, shown: Any) -> str:
    if (proposal := getattr(result, "proposal", None)) is not None:
        return f"Not done yet: a person must confirm it, by `holdfast proposals approve {proposal}`."
    write = _WRITERS.get(call.answer.name)
    return _json_text(shown) if write is None else write(result)


def hits_text(hits: Hits) -> str:
    return _entries_text([hit.entry for hit in hits], hits.note)


def my_memory_text(memory: MyMemory) -> str:
    lines = [
        f"{quoted(each.name)}: {each.count}, newest {', '.join(map(quoted, each.recent_keys))}"
        for each in memory.categories
    ]
    return "\n".join(lines) or memory.note or NOTHING


def _entries_text(entries: list[Entry], note: str | None) -> str:
    lines = [_entry_line(number, entry) for number, entry in enumerate(entries, 1)]
    return "\n".join([*lines, *([note] if note else [])]) or NOTHING


def _entry_line(number: int, entry: Entry) -> str:
    details = [f"key {quoted(entry.key)}", f"id {entry.id}"]
    if entry.category:
        details.append(f"category {quoted(entry.category)}")
    if entry.speaker:
        details.append(f"said by {quoted(entry.speaker)}")
    at = entry.content.at_us
    details.append(f"said {moment(at)}" if at is not None else f"changed {moment(entry.updated_us)}")
    hint = f"{quoted(entry.hint)}: " if entry.hint else ""
    text = quoted(entry.text) if entry.content.is_text else "(bytes)"
    return f"{number}. {hint}{text} ({', '.join(details)})"


def _stored_text(stored: Any) -> str:
    if not stored.persisted:
        return f"Not kept: {stored.note}"
    done = "Saved" if stored.created else "Updated"
    until = "" if stored.expires_us is None else f" until {moment(stored.expires_us)}"
    held = " It is held back until a person approves it." if stored.quarantined else ""
    advice = "".join(f"\n{each.code}: {each.message}" for each in stored.advised)
    return f"{done} key {quoted(stored.key)} (id {stored.id}){until}.{_redacted_text(stored)}{held}{advice}"


def _redacted_text(stored: Any) -> str:
    return f" Secrets were taken out: {redactions_text(stored.redactions)}." if stored.redactions else ""


def _remembered_text(remembered: Any) -> str:
    similar = [_entry_line(number, one.entry) for number, one in enumerate(remembered.similar or (), 1)]
    return "\n".join([_stored_text(remembered), *(["Similar memories:", *similar] if similar else [])])


def _forgotten_text(forgotten: Any) -> str:
    kept = f" {forgotten.kept_elsewhere} stay in other spaces." if forgotten.kept_elsewhere else ""
    return f"Forgot {forgotten.deleted}.{kept}" + (f" {forgotten.note}" if forgotten.note else "")


def _revisions_text(states: Any) -> str:
    lines = [
        f"{state.revision}. {'(locked)' if state.locked else quoted(state.text or '')} ({moment(state.updated_us)})"
        for state in states
    ]
    return "\n".join(lines) or NOTHING


def _file_change_text(change: Any) -> str:
    if not change.persisted:
        return f"Not kept: {change.note}"
    if change.action == DELETE:
        return f"Moved {quoted(change.name)} to the trash."
    return f"{'Saved' if change.created else 'Updated'} {quoted(change.name)}.{_redacted_text(change)}"


def _json_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_WRITERS: Mapping[str, Callable[[Any], str]] = {
    "Hits": hits_text,
    "Facts": lambda page: _entries_text(page, page.note),
    "Remembered": _remembered_text,
    "Stored": _stored_text,
    "Forgotten": _forgotten_text,
    "Revisions": _revisions_text,
    "MemoryAnswer": _json_text,
    "ToolText": str,
    "KvValue": str,
    "UserMemory": lambda file: file.text,
    "UserMemoryChange": _file_change_text,
    "Context": lambda context: context.text or context.note or "",
}
"""By the name of the answer's shape; others are written as JSON."""
