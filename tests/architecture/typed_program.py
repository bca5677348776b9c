"""A program of a user, for type checkers: it names every type as `holdfast.…` and has no other import of it."""

from __future__ import annotations

import holdfast


def remember(alice: holdfast.Own, source: holdfast.SourceName | None = None) -> holdfast.Remembered:
    kept: holdfast.Remembered = alice.remember("Deploys go through Konflux", key="deploy", source=source)
    rows: list[holdfast.Outcome] = alice.remember_many([{"text": "Tabs", "key": "style", "namespace": "a"}])
    error: holdfast.HoldfastError | None = rows[0].error
    if isinstance(error, holdfast.errors.TooLarge):
        print(error.code)
    return kept


def read(alice: holdfast.Own, partition: holdfast.PartitionName) -> list[str]:
    page: holdfast.Page = alice.list("deploy/", partition=partition, limit=5)
    keys = [entry.key for entry in page.all()]
    if page.more:
        print(page.cursor, page.locked)
    entry: holdfast.Entry = alice.get("deploy", namespace="a")
    hits: holdfast.Hits = alice.recall("how do we deploy?")
    best: holdfast.Hit = hits[0]
    near: list[holdfast.Similar] = alice.similar("deploy")
    states: list[holdfast.Revision] = alice.history("deploy")
    context: holdfast.Context = alice.context()
    dropped: holdfast.WhyNot = alice.why_not("deploy", entry.id)
    status: holdfast.IndexStatus = alice.index()
    print(best.score, near[0].verdict, states[0].text, context.text, dropped.stage, status.pending)
    return keys


def change(alice: holdfast.Own) -> holdfast.Undone:
    edited: holdfast.Edited = alice.edit("deploy", text="Deploys go through Tekton")
    replaced: holdfast.Replaced = alice.replace("deploy", old="Tekton", new="Argo")
    gone: holdfast.Forgotten = alice.forget("key:deploy")
    waiting: list[holdfast.Proposal] = alice.people.proposals()
    print(edited.advice, replaced.occurrences, gone.deleted, waiting[0].shown)
    return alice.people.undo_by("agent:helper", "2026-05-08T14:00:00Z")


def share(alice: holdfast.Own, level: holdfast.LevelName) -> holdfast.Grant:
    space: holdfast.SpaceInfo = alice.create_space("team")
    alice.share("user:bob", space=space.id, level="write")  # type: ignore[arg-type]
    alice.remember("x", source="user")  # type: ignore[arg-type]
    alice.list(partition="runs")  # type: ignore[arg-type]
    grant: holdfast.Grant = alice.share("user:bob", space=space.id, level=level)
    granted: holdfast.Level = grant.level
    print(granted.label, grant.grantee.id)
    return grant


async def awaited(memory: holdfast.AsyncMemory, client: holdfast.AsyncClient) -> list[str]:
    alice: holdfast.AsyncOwn = memory.user("alice")
    kept: holdfast.Remembered = await alice.remember("x")
    page: holdfast.AsyncPage = await alice.list()
    print(kept.key, page.more)
    return [entry.key async for entry in page.all()] + [
        entry.key async for entry in (await client.facts.list()).all()
    ]


def main(client: holdfast.Client) -> None:
    with holdfast.open(":memory:") as memory:
        for alice in (memory.user("alice"), client):
            print(remember(alice), read(alice, "notes"), change(alice), share(alice, "read"))
