"""Names of users' folders. Ids are any text, so all but a few characters are escaped. No file system confuses the
folders of two ids."""

from __future__ import annotations

import re
from hashlib import sha256

from holdfast.domain.principal import is_subject

LONGEST = 180
"""Bytes of a folder's name; a longer one is cut and gets a hash."""
_HASH_DIGITS = 32
_PLAIN = re.compile(r"[a-z0-9_@-]")
_ESCAPED = re.compile(r"(?:[a-z0-9_@.-]|%[0-9a-f]{2})+")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)")
"""Names that Windows keeps for devices."""


def folder_of(user: str) -> str:
    letters = [
        each if _PLAIN.fullmatch(each) or (each == "." and 0 < at < len(user) - 1) else _escaped(each)
        for at, each in enumerate(user)
    ]
    if _DEVICES.match("".join(letters)):
        letters[0] = _escaped(user[0])
    name = "".join(letters)
    if len(name) <= LONGEST:
        return name
    return f"{name[: LONGEST - _HASH_DIGITS - 1]}~{sha256(user.encode()).hexdigest()[:_HASH_DIGITS]}"


def user_of(folder: str) -> str | None:
    """Returns the user of a folder, or None for a name that no user has, or that was cut."""
    if not _ESCAPED.fullmatch(folder):
        return None
    try:
        user = re.sub(
            rb"%([0-9a-f]{2})", lambda code: bytes.fromhex(code[1].decode()), folder.encode()
        ).decode()
    except UnicodeDecodeError:
        return None
    return user if user and is_subject(user) and folder_of(user) == folder else None


def _escaped(letter: str) -> str:
    return "".join(f"%{byte:02x}" for byte in letter.encode())
