"""A line to a server: requests go out and answers come in, blocking or awaited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import httpx2

from holdfast.entrypoints.http.asking import Line, Request, unreachable


class Remote:
    def __init__(self, line: Line, http: httpx2.Client) -> None:
        self._line = line
        self._http = http

    def _send(self, call: Callable[..., Any], request: Request) -> Any:
        """Sent again while nobody answers, or somebody asks for patience: every write has its idempotency key."""
        for tried in range(self._line.retries + 1):
            last = tried == self._line.retries
            try:
                response = self._http.request(**self._line.written(request))
            except httpx2.TransportError as error:
                if last:
                    raise unreachable(error) from error
                response = None
            if response is not None and (last or not self._line.may_send_again(response)):
                return self._line.read(request, call, response)
            time.sleep(self._line.pause(tried, response))
        raise AssertionError("the last try returns or raises")


class AsyncRemote:
    def __init__(self, line: Line, http: httpx2.AsyncClient) -> None:
        self._line = line
        self._http = http

    async def _send(self, call: Callable[..., Any], request: Request) -> Any:
        for tried in range(self._line.retries + 1):
            last = tried == self._line.retries
            try:
                response = await self._http.request(**self._line.written(request))
            except httpx2.TransportError as error:
                if last:
                    raise unreachable(error) from error
                response = None
            if response is not None and (last or not self._line.may_send_again(response)):
                return self._line.read(request, call, response)
            await asyncio.sleep(self._line.pause(tried, response))
        raise AssertionError("the last try returns or raises")
