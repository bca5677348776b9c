"""A memory as the text of a file: YAML frontmatter with name, description and type, an empty line, the body."""

from __future__ import annotations

import re
from typing import NamedTuple

import yaml

from holdfast.domain.limits import KIB

HEADER_CHARACTERS = 8 * KIB
KEYS = ("name", "description", "type")
_FENCE = re.compile(r"^---[ \t]*\r?$\n?", re.MULTILINE)
_WIDE = 1 << 20
_HOW = "a file begins with a line `---`, then `description:` and `type:`, then `---` and the body"


class Unreadable(Exception):
    """Why a file cannot be taken over: the end of a sentence that begins with its name."""


class FileText(NamedTuple):
    """What a file says. Its name is the file's own, whatever the frontmatter says."""

    type: str
    description: str
    body: str


def rendered(name: str, file: FileText) -> bytes:
    header = yaml.safe_dump(
        {"name": name, "description": file.description, "type": file.type},
        allow_unicode=True,
        sort_keys=False,
        width=_WIDE,
    )
    # Half a foreign line end at the end of a body must not become a whole one.
    end = "\r\n" if file.body.endswith("\r") else "\n"
    return f"---\n{header}---\n\n{file.body}{end}".encode()


def parsed(data: bytes) -> FileText:
    """The other way round; what a person may write differs in quoting, order and empty lines."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("is not UTF-8") from None
    opening = _FENCE.match(text)
    closing = _FENCE.search(text, opening.end(), opening.end() + HEADER_CHARACTERS) if opening else None
    if opening is None or closing is None:
        raise Unreadable(f"has no frontmatter; {_HOW}")
    said = _fields(text[opening.end() : closing.start()])
    return FileText(said.get("type", ""), said.get("description", ""), _body(text[closing.end() :]))


def _fields(header: str) -> dict[str, str]:
    """Composed, never constructed: no type, no object and no alias of YAML is ever followed."""
    try:
        node = yaml.compose(header, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise Unreadable(f"has frontmatter that is not YAML: {_first_line(error)}") from None
    except RecursionError:
        raise Unreadable("has frontmatter that is nested too deep") from None
    if not isinstance(node, yaml.MappingNode):
        raise Unreadable(f"has no frontmatter; {_HOW}")
    said: dict[str, str] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or not isinstance(value, yaml.ScalarNode):
            raise Unreadable("has frontmatter with more than lines of `key: text`")
        if key.value not in KEYS:
            raise Unreadable(
                f"has `{key.value[:64]}` in its frontmatter, which would be lost; there are {', '.join(KEYS)}"
            )
        if key.value in said:
            raise Unreadable(f"says `{key.value}` twice in its frontmatter")
        said[key.value] = value.value
    return said


def _body(rest: str) -> str:
    """Without the empty line after the frontmatter and the line end at the end of the file."""
    rest = rest.removeprefix("\r\n") if rest.startswith("\r\n") else rest.removeprefix("\n")
    return rest.removesuffix("\r\n") if rest.endswith("\r\n") else rest.removesuffix("\n")


def _first_line(error: yaml.YAMLError) -> str:
    return str(error).splitlines()[0][:120]
