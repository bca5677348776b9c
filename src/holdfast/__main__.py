"""The `holdfast` command; `python -m holdfast` is the same."""

from __future__ import annotations

import sys


def main() -> int:
    from holdfast.entrypoints.cli import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
