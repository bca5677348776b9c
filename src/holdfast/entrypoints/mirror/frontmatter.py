"""The text of a memory's file: YAML frontmatter with name, description and type, an empty line, the body."""

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
    """The reason why a file cannot become a memory, as the end of a sentence that begins with its name."""


class FileText(NamedTuple):
    """The fields of a file. Its name comes from the file name, not from the frontmatter."""

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
    # A carriage return at the end of a body must not become a CRLF.
    end = "\r\n" if file.body.endswith("\r") else "\n"
    return f"---\n{header}---\n\n{file.body}{end}".encode()


def parsed(data: bytes) -> FileText:
    """Parses a file; people may write other quoting, order and empty lines than `rendered`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("is not UTF-8") from None
    opening = _FENCE.match(text)
    closing = _FENCE.search(text, opening.end(), opening.end() + HEADER_CHARACTERS) if opening else None
    if opening is None or closing is None:
        raise Unreadable(f"has no frontmatter; {_HOW}")
    fields = _fields(text[opening.end() : closing.start()])
    return FileText(fields.get("type", ""), fields.get("description", ""), _body(text[closing.end() :]))


def _fields(header: str) -> dict[str, str]:
    """Composes the YAML without constructing it: no type, object or alias is ever followed."""
    try:
        node = yaml.compose(header, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise Unreadable(f"has frontmatter that is not YAML: {str(error).splitlines()[0][:120]}") from None
    except RecursionError:
        raise Unreadable("has frontmatter that is nested too deep") from None
    if not isinstance(node, yaml.MappingNode):
        raise Unreadable(f"has no frontmatter; {_HOW}")
    fields: dict[str, str] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or not isinstance(value, yaml.ScalarNode):
            raise Unreadable("has frontmatter with more than lines of `key: text`")
        if key.value not in KEYS:
            raise Unreadable(
                f"has `{key.value[:64]}` in its frontmatter, which would be lost; there are {', '.join(KEYS)}"
            )
        if key.value in fields:
            raise Unreadable(f"has `{key.value}` twice in its frontmatter")
        fields[key.value] = value.value
    return fields


def _body(rest: str) -> str:
    """Removes the empty line after the frontmatter and the line end at the end of the file."""
    rest = rest.removeprefix("\r\n") if rest.startswith("\r\n") else rest.removeprefix("\n")
    return rest.removesuffix("\r\n") if rest.endswith("\r\n") else rest.removesuffix("\n")
