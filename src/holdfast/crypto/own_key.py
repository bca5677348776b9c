"""A key that only a client has. An engine sees text encrypted with it as meaningless characters."""

from __future__ import annotations

import base64
import binascii
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from holdfast.crypto.keys import KEY_BYTES, NONCE_BYTES
from holdfast.domain.errors import InvalidField, Locked

_FORMAT = "hf1."
_PURPOSE = b"holdfast client value\0"


class OwnKey:
    """A client's own key. Keep it like a password: nothing encrypted with it opens without it, and it is never
    sent."""

    __slots__ = ("_cipher", "_secret")

    def __init__(self, secret: str | bytes) -> None:
        """64 hex characters or 32 bytes."""
        try:
            self._secret = bytes.fromhex(secret) if isinstance(secret, str) else bytes(secret)
        except ValueError:
            self._secret = b""
        if len(self._secret) != KEY_BYTES:
            raise InvalidField("A key of one's own is 64 hex characters or 32 bytes.")
        self._cipher = AESGCM(self._secret)

    @classmethod
    def generate(cls) -> OwnKey:
        return cls(secrets.token_bytes(KEY_BYTES))

    def hex(self) -> str:
        """The key itself, to be kept in a safe place."""
        return self._secret.hex()

    def encrypt(self, text: str, name: str) -> str:
        """Encrypts a text, bound to the name it is stored under: under another name it does not open."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, text.encode(), _PURPOSE + name.encode())
        return _FORMAT + base64.urlsafe_b64encode(sealed).decode()

    def decrypt(self, sealed: str, name: str) -> str:
        """Decrypts a text; Locked when it was encrypted with another key, stored under another name, or changed."""
        try:
            if not sealed.startswith(_FORMAT):
                raise ValueError("not of this format")
            body = base64.b64decode(sealed.removeprefix(_FORMAT), altchars=b"-_", validate=True)
            plain = self._cipher.decrypt(body[:NONCE_BYTES], body[NONCE_BYTES:], _PURPOSE + name.encode())
        except (InvalidTag, ValueError, binascii.Error):
            raise Locked("This was not encrypted with this key under this name.") from None
        return plain.decode()

    def __repr__(self) -> str:
        return "OwnKey(…)"
