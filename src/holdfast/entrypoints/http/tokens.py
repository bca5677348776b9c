"""Local tokens, and the secret that signs them: configured, or created once in the data directory; never shown."""

from __future__ import annotations

import logging
import os
import secrets
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt
from jwt import InvalidKeyError
from jwt.algorithms import HMACAlgorithm

from holdfast.disk import write_atomically
from holdfast.domain.errors import InvalidField
from holdfast.domain.times import SECOND
from holdfast.entrypoints.http.claims import (
    TokenError,
    caller_of,
)
from holdfast.settings import Settings

log = logging.getLogger("holdfast")

SECRET_FILE = "token.secret"
SECRET_BYTES = 32
MAKE_ONE = "make one with: openssl rand -hex 32"


@dataclass(frozen=True, slots=True)
class Secret:
    """Holds the text of the secret as bytes, as other programs use the same HOLDFAST_JWT_SECRET."""

    key: bytes = field(repr=False)


def local_secret(settings: Settings) -> Secret:
    """Returns HOLDFAST_JWT_SECRET, else the secret of the file, which the first call creates."""
    if settings.jwt_secret is not None:
        return Secret(_checked(settings.jwt_secret, "HOLDFAST_JWT_SECRET", MAKE_ONE, settings))
    path = settings.data_dir / SECRET_FILE
    remedy = f"restore {path}, or remove it to have a new one made (tokens signed with the old one end)"
    return Secret(_checked(_from_file(path, remedy), "The token secret", remedy, settings))


def _checked(text: str, what: str, remedy: str, settings: Settings) -> bytes:
    key = text.encode()
    if len(key) < SECRET_BYTES:
        raise InvalidField(f"{what} has fewer than {SECRET_BYTES} bytes; {remedy}.")
    if _is_master_key(text, settings):
        raise InvalidField(f"{what} is the memory key; a token secret must be its own: {remedy}.")
    try:
        HMACAlgorithm(HMACAlgorithm.SHA256).prepare_key(key)
    except InvalidKeyError:
        raise InvalidField(f"{what} is a public key, a certificate or a JWK, no secret; {remedy}.") from None
    return key


def _is_master_key(text: str, settings: Settings) -> bool:
    """Compares the text, and also its bytes in hexadecimal, with the memory keys."""
    masters = [key.strip().lower() for key in (settings.memory_key, *settings.memory_old_keys) if key]
    return text.strip().lower() in masters or text.encode().hex() in masters


def _from_file(path: Path, remedy: str) -> str:
    try:
        if not path.exists():
            write_atomically(path, f"{secrets.token_hex(SECRET_BYTES)}\n".encode(), replace=False)
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            log.warning("others on this machine may read or change %s; run: chmod 600 %s", path.name, path)
        return path.read_text(encoding="ascii").strip()
    except UnicodeDecodeError:
        raise InvalidField(f"The token secret is damaged; {remedy}.") from None
    except OSError as error:
        raise InvalidField(
            f"The token secret {path} cannot be read or made: {error.strerror}; make it readable for this user, "
            "or set HOLDFAST_JWT_SECRET."
        ) from error


log = logging.getLogger("holdfast")

LOCAL = "HS256"
MAX_TOKEN_BYTES = 8 * 1024
LONGEST_TTL_SECONDS = 10 * 365 * 86_400


def mint(
    secret: Secret,
    *,
    subject: str,
    ttl_seconds: int,
    now: int,
    kind: str = "user",
    owner: str | None = None,
    roles: Iterable[str] = ("member",),
    teams: Iterable[str] = (),
    chats: Iterable[str] = (),
    systems: Mapping[str, str] | None = None,
    session_user: str | None = None,
    unattended: bool = False,
    run: str | None = None,
    issuer: str | None = None,
    audience: str | None = None,
) -> str:
    """Returns a local token from `now` (microseconds). Raises InvalidField when the verifier would not accept it.

    `issuer` and `audience` are those of the settings: where they are set, local tokens must have them too.
    """
    if not 1 <= ttl_seconds <= LONGEST_TTL_SECONDS:
        raise InvalidField("A token lives from a second to ten years.")
    issued = now // SECOND
    claims: dict[str, Any] = {
        "sub": subject,
        "kind": kind,
        "roles": list(roles),
        "iat": issued,
        "exp": issued + ttl_seconds,
        "jti": secrets.token_urlsafe(12),
    }
    optional = {
        "owner": owner,
        "teams": list(teams),
        "chats": list(chats),
        "systems": dict(systems or {}),
        "session_user": session_user,
        "unattended": unattended,
        "run": run,
        "iss": issuer,
        "aud": audience,
    }
    claims |= {name: value for name, value in optional.items() if value not in (None, False, [], {})}
    try:
        caller_of(claims, issuer=None, digest="")
    except TokenError as error:
        raise InvalidField(f"No such token can be made: {error.detail}.") from None
    token = jwt.encode(claims, secret.key, algorithm=LOCAL)
    if len(token) > MAX_TOKEN_BYTES:
        raise InvalidField(f"The token would be longer than {MAX_TOKEN_BYTES} bytes; give it fewer claims.")
    return token
