"""The corpus, through the Python door."""

from __future__ import annotations

from holdfast.entrypoints.waiting import Door, reading_aside, reading_there
from holdfast.surfaces.corpus import CorpusCalls


class Corpus(Door):
    query = reading_there(CorpusCalls.query)


class AsyncCorpus(Door):
    query = reading_aside(CorpusCalls.query)
