"""Answers as text a model reads: short lines, every stored text quoted, so that none can pass for a line of ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.domain.context import quoted
from holdfast.domain.entry import Entry
from holdfast.operations.results import Hits, Page, told_by_kind
from holdfast.vocabularies.facts import MyMemory
from holdfast.vocabularies.files import DELETE
from holdfast.vocabularies.wire.call import Call
from holdfast.vocabularies.wire.shape import moment

NOTHING = "Nothing found."


def text_of(call: Call, result: Any, shown: Any) -> str:
    if (proposal := getattr(result, "proposal", None)) is not None:
        return f"Not done yet: a person must confirm it, by `holdfast proposals approve {proposal}`."
    tell = _TELLING.get(call.answer.name)
    if tell is not None:
        return tell(result)
    return shown if isinstance(shown, str) else _compact(shown)


def hits_text(hits: Hits) -> str:
    return _entries_text([hit.entry for hit in hits], hits.note)


def facts_text(page: Page) -> str:
    return _entries_text(page, page.note)


def my_memory_text(memory: MyMemory) -> str:
    lines = [
        f"{quoted(each.name)}: {each.count}, newest {', '.join(map(quoted, each.recent_keys))}"
        for each in memory.categories
    ]
    return "\n".join(lines) or memory.note or NOTHING


def _entries_text(entries: list[Entry], note: str | None) -> str:
    lines = [_entry_line(place, entry) for place, entry in enumerate(entries, 1)]
    return "\n".join([*lines, *([note] if note else [])]) or NOTHING


def _entry_line(place: int, entry: Entry) -> str:
    said = [f"key {quoted(entry.key)}", f"id {entry.id}"]
    if entry.category:
        said.append(f"category {quoted(entry.category)}")
    if entry.speaker:
        said.append(f"said by {quoted(entry.speaker)}")
    at = entry.content.at_us
    said.append(f"said {moment(at)}" if at is not None else f"changed {moment(entry.updated_us)}")
    hint = f"{quoted(entry.hint)}: " if entry.hint else ""
    text = quoted(entry.text) if entry.content.is_text else "(bytes)"
    return f"{place}. {hint}{text} ({', '.join(said)})"


def _kept(kept: Any) -> str:
    if not kept.persisted:
        return f"Not kept: {kept.note}"
    done = "Saved" if kept.created else "Updated"
    until = "" if kept.expires_us is None else f" until {moment(kept.expires_us)}"
    held = " It is held back until a person approves it." if kept.quarantined else ""
    advice = "".join(f"\n{each.code}: {each.message}" for each in kept.advised)
    return f"{done} key {quoted(kept.key)} (id {kept.id}){until}.{_taken_out(kept)}{held}{advice}"


def _taken_out(done: Any) -> str:
    return f" Secrets were taken out: {told_by_kind(done.redactions)}." if done.redactions else ""


def _remembered(kept: Any) -> str:
    similar = [_entry_line(place, one.entry) for place, one in enumerate(kept.similar, 1)]
    return "\n".join([_kept(kept), *(["Similar memories:", *similar] if similar else [])])


def _forgotten(done: Any) -> str:
    kept = f" {done.kept_elsewhere} stay in other spaces." if done.kept_elsewhere else ""
    return f"Forgot {done.deleted}.{kept}" + (f" {done.note}" if done.note else "")


def _revisions(states: Any) -> str:
    lines = [
        f"{state.revision}. {'(locked)' if state.locked else quoted(state.text or '')} ({moment(state.updated_us)})"
        for state in states
    ]
    return "\n".join(lines) or NOTHING


def _file_change(done: Any) -> str:
    if not done.persisted:
        return f"Not kept: {done.note}"
    if done.action == DELETE:
        return f"Moved {quoted(done.name)} to the trash."
    return f"{'Saved' if done.created else 'Updated'} {quoted(done.name)}.{_taken_out(done)}"


def _tool_answer(answer: Any) -> str:
    return answer if isinstance(answer, str) else _compact(answer)


def _compact(shown: Any) -> str:
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


_TELLING: Mapping[str, Callable[[Any], str]] = {
    "Hits": hits_text,
    "Facts": facts_text,
    "Remembered": _remembered,
    "Stored": _kept,
    "Forgotten": _forgotten,
    "Revisions": _revisions,
    "MemoryAnswer": _tool_answer,
    "ToolText": str,
    "KvValue": str,
    "UserMemory": lambda file: file.text,
    "UserMemoryChange": _file_change,
    "Context": lambda context: context.text or context.note or "",
}
"""By the name of an answer's shape; others are told as JSON."""
