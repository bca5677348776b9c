"""One turn of a chat with memory on a server: the prompt for the model before it, a memory to save after it.

export HOLDFAST_URL=http://127.0.0.1:7077 HOLDFAST_TOKEN=$(holdfast token create --subject alice)
python examples/chat_turn.py "how do we deploy?"
"""

from __future__ import annotations

import os
import sys

import holdfast


def prompt_for(memory: holdfast.Client, question: str) -> str:
    """Returns the context, the memories that answer the question, and the question itself."""
    hits = memory.recall(question, limit=5)
    found = "\n".join(f"- {hit.text!r} ({hit.key}, {hit.updated_at:%Y-%m-%d})" for hit in hits)
    return f"{memory.context().text}\nFound for this question:\n{found or '- nothing'}\n\n{question}"


def main() -> int:
    question = " ".join(sys.argv[1:]) or "how do we deploy?"
    with holdfast.Client(os.environ["HOLDFAST_URL"], token=os.environ.get("HOLDFAST_TOKEN")) as memory:
        print(prompt_for(memory, question))  # noqa: T201 - give this to your model
        memory.remember(f"Asked: {question}", conversation="example", ttl=86_400)
    return 0


if __name__ == "__main__":
    sys.exit(main())
