"""AES-256-GCM as NIST publishes it: what our seals are made of gives the published bytes and refuses forgeries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag

from holdfast.crypto import keys, sealing
from holdfast.crypto.keys import DataKey
from holdfast.domain.ids import new_space_id

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parent / "data" / "nist_aes_256_gcm.json").read_text(encoding="utf-8")
)
Vector = dict[str, str]


def published(key: str, monkeypatch: pytest.MonkeyPatch) -> DataKey:
    """A data key whose sub-keys are the published key."""
    monkeypatch.setattr(keys, "_derive", lambda _secret, _purpose: bytes.fromhex(key))
    return DataKey(new_space_id(), 1, bytes(32))


@pytest.mark.parametrize("vector", VECTORS["open"])
def test_a_seal_is_the_published_ciphertext(vector: Vector, monkeypatch: pytest.MonkeyPatch) -> None:
    key = published(vector["key"], monkeypatch)
    nonce, bound, plain, sealed = (
        bytes.fromhex(vector[part]) for part in ("nonce", "bound", "plain", "sealed")
    )
    monkeypatch.setattr(sealing, "fresh_bytes", lambda _count: nonce)
    assert sealing.seal(key, bound, plain) == nonce + sealed
    assert sealing.unseal(key, bound, nonce + sealed) == plain
    assert key.vectors.decrypt(nonce, sealed, bound) == plain


@pytest.mark.parametrize("vector", VECTORS["refused"])
def test_a_published_forgery_does_not_open(vector: Vector, monkeypatch: pytest.MonkeyPatch) -> None:
    key = published(vector["key"], monkeypatch)
    nonce, bound, sealed = (bytes.fromhex(vector[part]) for part in ("nonce", "bound", "sealed"))
    assert sealing.unseal(key, bound, nonce + sealed) is None
    with pytest.raises(InvalidTag):
        key.vectors.decrypt(nonce, sealed, bound)


def test_there_are_some_dozens_of_them() -> None:
    assert (len(VECTORS["open"]) >= 20, len(VECTORS["refused"]) >= 20) == (True, True)
