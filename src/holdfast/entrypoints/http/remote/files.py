"""Files, over HTTP."""

from __future__ import annotations

from holdfast.entrypoints.http.asking import sending, sending_later, sending_work, sending_work_later
from holdfast.entrypoints.http.remote.line import AsyncRemote, Remote
from holdfast.surfaces.files import FileCalls


class RemoteFiles(Remote):
    update_user_memory = sending_work(FileCalls.update_user_memory)
    read_user_memory = sending(FileCalls.read_user_memory)
    index = sending(FileCalls.index)


class AsyncRemoteFiles(AsyncRemote):
    update_user_memory = sending_work_later(FileCalls.update_user_memory)
    read_user_memory = sending_later(FileCalls.read_user_memory)
    index = sending_later(FileCalls.index)
