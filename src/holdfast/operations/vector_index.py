"""An index over the vectors of one huge space, made or taken away when its owner says so. Only a space whose vectors
the database compares gains by it, and it may miss some of the nearest."""

from __future__ import annotations

from uuid import UUID

from holdfast.contracts.index import VectorReads
from holdfast.contracts.rows import ModelRow
from holdfast.domain.access import Op
from holdfast.domain.errors import InvalidField, NotFound
from holdfast.domain.principal import Caller
from holdfast.operations.authorize import SpaceRef, enter
from holdfast.operations.engine import Engine


def build_vector_index(engine: Engine, caller: Caller, space: SpaceRef) -> str:
    """Over the vectors of the serving model; everything goes on meanwhile. Says its name. Needs manage in the space."""
    vectors, id, model = _wanted(engine, caller, space)
    return vectors.build_index(id, model.model, model.dimensions)


def drop_vector_index(engine: Engine, caller: Caller, space: SpaceRef) -> None:
    """The database compares every vector again. Does nothing when there is no index."""
    vectors, id, model = _wanted(engine, caller, space)
    vectors.drop_index(id, model.model)


def _wanted(engine: Engine, caller: Caller, space: SpaceRef) -> tuple[VectorReads, UUID, ModelRow]:
    entered = enter(engine, caller, space, Op.MANAGE, engine.clock())
    vectors, serving = engine.sealed.store.vectors, engine.index.serving()
    if vectors is None:
        raise InvalidField(
            "Only a store on PostgreSQL takes an index over vectors; here all are compared exactly."
        )
    if serving is None or not entered.space.stored:
        raise NotFound("There are no vectors in this space.")
    return vectors, entered.space.id, serving
