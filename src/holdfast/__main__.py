"""The `holdfast` command. With arguments it is the command line; alone it opens the store and, at a terminal, a Python
prompt on it. The server will take that place."""

from __future__ import annotations

import sys

from holdfast import __version__
from holdfast.domain.errors import HoldfastError

WELCOME = """holdfast {version}: the Python door (the server is not built yet)

  store   {path}
  you     user:{subject}, holding {count} memories

  try this
    me.remember("Deploys go through Konflux", key="konflux/deploy")
    me.recall("how do we deploy?")[0].text
    me.list("konflux/")
    me.history("konflux/deploy")
    me.forget("key:konflux/deploy")
"""


def main() -> int:
    if arguments := sys.argv[1:]:
        from holdfast.entrypoints.cli import run

        return run(arguments)
    return prompt()


def prompt() -> int:
    from holdfast.entrypoints.python import open_memory
    from holdfast.settings import load

    try:
        memory = open_memory()
    except HoldfastError as error:
        print(f"{error.code}: {error.message}", file=sys.stderr)
        return 1
    with memory:
        if not memory.enabled:
            print(memory.reason)
            return 0
        me = memory.user(subject := load().subject)
        count = f"{len(page)}{'+' if page.cursor else ''}" if (page := me.list()) else "no"
        print(WELCOME.format(version=__version__, path=memory.path, subject=subject, count=count))
        if sys.stdin.isatty():
            import code

            code.interact(
                banner="memory and me are ready; Ctrl-D ends.", local={"memory": memory, "me": me}, exitmsg=""
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
