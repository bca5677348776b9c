"""Changes that touch several rows at once, asked for over HTTP with an idempotency key; and what is there before and
after one, as its caller sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import httpx2

from holdfast.domain.partition import Partition
from holdfast.entrypoints.facade import Own
from tests.http.serving import Service


class Request(NamedTuple):
    path: str
    body: dict[str, Any]
    method: str = "POST"


class Somebody:
    """A caller of their own, so that changes share a store and nothing else."""

    def __init__(self, service: Service, name: str) -> None:
        self._service = service
        self.name = name
        self._systems = {f"system of {name}": "manage"}

    def send(self, path: str, body: Any, *, key: str | None = None, method: str = "POST") -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self._service.token(self.name, systems=self._systems)}"}
        if key is not None:
            headers["Idempotency-Key"] = f"{self.name}/{key}"
        return self._service.send(path, body, method, headers=headers)

    def ask(self, request: Request) -> httpx2.Response:
        """Always with the same idempotency key."""
        return self.send(request.path, request.body, key="once", method=request.method)

    def done(self, path: str, body: Any) -> Any:
        answer = self.send(path, body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def own(self) -> Own:
        assert self._service.memory is not None
        return self._service.memory.user(self.name, systems=self._systems)


Change = Callable[[Somebody], Request]
"""Makes what is to be changed, and says how the change is asked for."""


def rename(who: Somebody) -> Request:
    for content in ("first draft", "the plan"):
        who.done("memory/tool", {"command": "create", "path": "/memories/draft", "content": content})
    return Request(
        "memory/tool", {"command": "rename", "path": "/memories/draft", "new_str": "/memories/settled/plan"}
    )


def rename_to_another_space(who: Somebody) -> Request:
    space = who.done("spaces", {"ref": "team"})["id"]
    for content in ("first draft", "the plan"):
        who.done("memory/tool", {"command": "create", "path": "/memories/draft", "content": content})
    return Request(
        "memory/tool",
        {"command": "rename", "path": "/memories/draft", "new_str": f"/memories/shared/{space}/plan"},
    )


def rename_of_a_folder(who: Somebody) -> Request:
    for name in ("one", "two"):
        who.done(
            "anthropic/memory", {"command": "create", "path": f"/memories/old/{name}", "file_text": name}
        )
    return Request(
        "anthropic/memory", {"command": "rename", "old_path": "/memories/old", "new_path": "/memories/new"}
    )


def edit(who: Somebody) -> Request:
    who.done("memory/tool", {"command": "create", "path": "/memories/style", "content": "Short, short."})
    return Request(
        "memory/tool",
        {"command": "edit", "path": "/memories/style", "old_str": "hort", "new_str": "horter"},
    )


def edit_of_words_and_tags(who: Somebody) -> Request:
    id = who.done("remember", {"text": "Deploys go through Konflux", "key": "deploy", "tags": ["ci"]})["id"]
    return Request(
        f"entries/{id}", {"text": "Deploys go through Tekton", "tags": ["cd", "pipelines"]}, "PATCH"
    )


def duplicate(who: Somebody) -> Request:
    who.done("assistant/saveMemory", _note("where to file infra tickets", "File them in OPS"))
    return Request(
        "assistant/saveMemory",
        _note("where to file the infra tickets", "File them in INFRA") | {"tags": ["ops"]},
    )


def duplicate_in_a_system(who: Somebody) -> Request:
    about = {"scope": "system", "systemId": f"system of {who.name}"}
    who.done("assistant/saveMemory", _note("health check", "Use /ready") | about)
    return Request("assistant/saveMemory", _note("health check", "Use /live") | about)


def superseded(who: Somebody) -> Request:
    old = who.done("assistant/saveMemory", _note("use tabs in python", "Tabs."))["id"]
    return Request(
        "assistant/saveMemory", _note("use spaces in python", "Four spaces.") | {"supersedes": old}
    )


def _note(hint: str, content: str) -> dict[str, Any]:
    return {"scope": "user", "recallHint": hint, "content": content}


CHANGES: tuple[Change, ...] = (
    rename,
    rename_to_another_space,
    rename_of_a_folder,
    edit,
    edit_of_words_and_tags,
    duplicate,
    duplicate_in_a_system,
    superseded,
)


def seen(who: Somebody) -> list[Any]:
    """Every memory that somebody sees, with its history, and what lies in their trash. Made keys and ids, which differ
    from one caller to the next, are left out."""
    own = who.own()
    return [
        sorted(
            (
                str(entry.partition.label),
                "" if entry.partition is Partition.ASSISTANT else entry.key,
                str(entry.text),
                str(entry.hint),
                entry.tags,
                [state.text for state in own.history(id=entry.id)],
            )
            for entry in own.list(space=space.id, limit=1_000)
        )
        for space in sorted(own.spaces(), key=lambda space: space.kind)
    ] + [sorted((entry.text, entry.hint) for entry in own.trashed())]
