"""A tool whose answers are cached for five minutes per caller, which saves requests against a rate limit.

python examples/github_list_issues.py python/cpython
"""

from __future__ import annotations

import json
import sys
import urllib.request
from typing import Any

import holdfast

API = "https://api.github.com"


def fetch(url: str) -> Any:
    request = urllib.request.Request(url, headers={"accept": "application/vnd.github+json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def register(memory: holdfast.Memory, fetch: Any = fetch) -> Any:
    """Returns the tool on this memory. Its answer holds only the fields that a model needs."""

    @memory.tool("github.list_issues", version="1", cache=holdfast.Cache(ttl=300))
    def list_issues(owner: str, repo: str, *, state: str = "open", ec: Any) -> list[dict[str, Any]]:
        issues = fetch(f"{API}/repos/{owner}/{repo}/issues?state={state}&per_page=10")
        if not issues:
            ec.do_not_cache()  # a new repository fills up soon
        if ec.memory is not None:  # None when memory is off
            ec.memory.across_sessions().store(f"last/{owner}/{repo}", str(len(issues)), ttl=86_400)
        return [{"number": issue["number"], "title": issue["title"]} for issue in issues]

    return list_issues


def main() -> int:
    owner, _, repo = (sys.argv[1] if sys.argv[1:] else "python/cpython").partition("/")
    with holdfast.open() as memory, memory.calling("alice", session="example"):
        list_issues = register(memory)
        try:
            issues = list_issues(owner, repo)
        except OSError as error:
            print(f"{API} did not answer: {error}", file=sys.stderr)  # noqa: T201
            return 1
        for issue in issues:
            print(f"#{issue['number']} {issue['title']}")  # noqa: T201
        list_issues(owner, repo)  # from the cache, without a request
        print(list_issues.cache_info())  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
