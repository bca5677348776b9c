"""Files, through the Python door."""

from __future__ import annotations

from holdfast.entrypoints.waiting import Door, awaiting, blocking, reading_later, reading_there
from holdfast.surfaces.files import FileCalls


class Files(Door):
    update_user_memory = blocking(FileCalls.update_user_memory)
    read_user_memory = reading_there(FileCalls.read_user_memory)
    index = reading_there(FileCalls.index)


class AsyncFiles(Door):
    update_user_memory = awaiting(FileCalls.update_user_memory)
    read_user_memory = reading_later(FileCalls.read_user_memory)
    index = reading_later(FileCalls.index)
