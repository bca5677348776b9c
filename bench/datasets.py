"""The sets that recall is measured on: the shared ones, where they are, and our own in bench/data, always.

The shared ones are read from ../shared/data or HOLDFAST_BENCH_DATA and never copied: their licences forbid it."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OWN = Path(__file__).parent / "data"
_NEAR = Path(__file__).parents[2] / "shared" / "data"

RETRIEVAL = ("locomo", "beam100k", "beam500k")
PAIRS = ("mrpc", "sts", "sick")


@dataclass(frozen=True, slots=True)
class Document:
    """A memory: what is passed to remember(), and the id the set knows it by."""

    id: str
    arguments: dict[str, Any]
    supersedes: str | None = None

    @property
    def plain(self) -> str:
        """The text an ordinary index would be given."""
        labels = [self.arguments.get("hint") or "", *self.arguments.get("tags", ())]
        return " ".join([*filter(None, labels), self.arguments["text"]])


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    kind: str
    gold: frozenset[str]
    must_not: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Collection:
    """The memories of one person and the questions about them."""

    id: str
    documents: list[Document]
    questions: list[Question]

    @property
    def live(self) -> list[Document]:
        gone = {document.supersedes for document in self.documents}
        return [document for document in self.documents if document.id not in gone]


@dataclass(frozen=True, slots=True)
class Pair:
    a: str
    b: str
    same: bool
    contradiction: bool = False
    kind: str = field(default="", compare=False)


def shared(name: str) -> Path | None:
    """The folder of a shared set; None where there is none."""
    folder = Path(os.environ.get("HOLDFAST_BENCH_DATA") or _NEAR) / name
    return folder if folder.is_dir() else None


def own_collection() -> Collection:
    documents = [_own_document(row) for row in _lines("memories")]
    questions = [
        Question(row["text"], row["kind"], frozenset(row["gold"]), frozenset(row.get("must_not", ())))
        for row in _lines("questions")
    ]
    return Collection("own", documents, questions)


def shared_collections(name: str) -> list[Collection]:
    """The chats of a retrieval set; none where the set is not here."""
    folder = shared(name)
    if folder is None:
        return []
    with gzip.open(folder / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        return [_chat(name, chat) for chat in json.load(file)["collections"]]


def own_pairs() -> list[Pair]:
    return [Pair(row["a"], row["b"], row["merge"], kind=row["kind"]) for row in _lines("pairs")]


def shared_pairs(name: str) -> list[Pair]:
    folder = shared(name)
    if folder is None:
        return []
    with gzip.open(folder / f"{name}.tsv.gz", "rt", encoding="utf-8") as file:
        rows = (line.rstrip("\n").split("\t")[:3] for line in file if not line.startswith("#"))
        return [Pair(a, b, *_label(name, label)) for label, a, b in rows]


def _label(name: str, label: str) -> tuple[bool, bool]:
    """Pairs of texts, and if they say the same or contradict each other."""
    if name == "mrpc":
        return label == "1", False
    if name == "sts":
        return float(label) >= 4, False
    relatedness, _, relation = label.partition("|")
    return relation == "ENTAILMENT" and float(relatedness) >= 4, relation == "CONTRADICTION"


def _own_document(row: dict[str, Any]) -> Document:
    arguments = {name: value for name, value in row.items() if name not in ("id", "supersedes")}
    return Document(row["id"], arguments, row.get("supersedes"))


def _chat(name: str, chat: dict[str, Any]) -> Collection:
    documents = [
        Document(
            doc["id"],
            {
                "text": doc["text"],
                "speaker": doc["who"],
                "conversation": str(doc["session"]),
                "at": f"{doc['ts']}+00:00",
            },
        )
        for doc in chat["docs"]
    ]
    questions = [Question(q["text"], q["category"], frozenset(q["gold"])) for q in chat["queries"]]
    return Collection(f"{name}-{chat['id']}", documents, questions)


def _lines(name: str) -> Iterator[dict[str, Any]]:
    with (OWN / f"{name}.jsonl").open(encoding="utf-8") as file:
        yield from map(json.loads, file)
