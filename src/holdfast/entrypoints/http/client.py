"""`holdfast.Client` and `holdfast.AsyncClient`: the calls of the Python interface over HTTP, with the same results and
errors."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from holdfast.crypto.own_key import OwnKey
from holdfast.entrypoints.facade import Administration, AsyncAdministration, AsyncOwn, Own
from holdfast.entrypoints.http.client_transport import RETRIES, TIMEOUT, AsyncHttpTransport, HttpTransport
from holdfast.entrypoints.python.encrypted import AsyncEncrypted, Encrypted


class Client(Own):
    """Everything the token's principal can do on a server: `holdfast.Client(url, token=…)`."""

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = TIMEOUT, retries: int = RETRIES
    ) -> None:
        super().__init__(HttpTransport(url, token, timeout, retries))
        self.administration = Administration(self._transport)

    def encrypted(self, key: OwnKey) -> Encrypted:
        """Entries that are encrypted here, with a key that is never sent."""
        return Encrypted(self, key)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(AsyncOwn):
    """`Client`, awaited."""

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = TIMEOUT, retries: int = RETRIES
    ) -> None:
        super().__init__(AsyncHttpTransport(url, token, timeout, retries))
        self.administration = AsyncAdministration(self._transport)

    def encrypted(self, key: OwnKey) -> AsyncEncrypted:
        """Entries that are encrypted here, with a key that is never sent."""
        return AsyncEncrypted(self, key)

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
