"""The corpus, over HTTP."""

from __future__ import annotations

from holdfast.entrypoints.http.asking import sending, sending_later
from holdfast.entrypoints.http.remote.line import AsyncRemote, Remote
from holdfast.surfaces.corpus import CorpusCalls


class RemoteCorpus(Remote):
    query = sending(CorpusCalls.query)


class AsyncRemoteCorpus(AsyncRemote):
    query = sending_later(CorpusCalls.query)
