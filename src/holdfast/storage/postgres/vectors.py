"""Vectors that PostgreSQL compares itself, through pgvector. They are rotated by a key of their space, above storage,
which keeps every inner product. Comparison is exact within a space; the owner of a huge one may add an index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import psycopg
from psycopg import sql

from holdfast.domain.errors import InvalidField
from holdfast.storage.postgres.connections import Connections, Db, Halfvec, connecting, translated
from holdfast.storage.postgres.statements import Statement, of_space

PARTITIONS = 16
LARGEST_INDEXED = 4_000
"""The most dimensions of a halfvec that pgvector indexes."""


class VectorReads:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def cosines(self, space: UUID, model: int, key_id: int, query: bytes, limit: int | None) -> str:
        values = {
            "space": space,
            "model": model,
            "key_id": key_id,
            "query": Halfvec.of(query),
            "limit": limit,
        }
        statement = _ALL if limit is None else _nearest(len(query) // 2)
        return str(self._connections.rows(statement, values, _GO_ON)[0][0] or "")

    def build_index(self, space: UUID, model: int, dimensions: int) -> str:
        """Builds an HNSW index over the partition of the space, for its rows alone."""
        if not 0 < dimensions <= LARGEST_INDEXED:
            raise InvalidField(f"Vectors of 1 to {LARGEST_INDEXED} dimensions can be indexed.")
        name = _index_name(space, model)
        with self._alone() as db:
            _drop_unfinished(db, name)
            db.execute(
                _MAKE.format(
                    name=sql.Identifier(name),
                    partition=sql.Identifier(_partition(db, space)),
                    dimensions=sql.Literal(dimensions),
                    space=sql.Literal(str(space)),
                    model=sql.Literal(model),
                )
            )
        return name

    def drop_index(self, space: UUID, model: int) -> None:
        with self._alone() as db:
            _drop(db, _index_name(space, model))

    @contextmanager
    def _alone(self) -> Iterator[Db]:
        """Opens a connection with the rights of the login and no time limit, because an index takes its time."""
        dsn = self._connections.dsn
        try:
            with psycopg.connect(dsn, **connecting(dsn)) as db:
                yield db
        except psycopg.Error as error:
            raise translated(error) from error


_MAKE = sql.SQL(
    """
    CREATE INDEX CONCURRENTLY IF NOT EXISTS {name}
        ON holdfast.{partition}
     USING hnsw ((vector::halfvec({dimensions})) halfvec_ip_ops)
     WHERE space_id = {space} AND model = {model} AND vector IS NOT NULL
    """
)


_GO_ON = {"hnsw.iterative_scan": "strict_order"}
"""An index gives 40 rows at a time; these settings make it go on until there are enough."""


_ALL = of_space(
    "vectors.cosines",
    """
    SELECT string_agg(near.number || ':' || near.cosine, ',')
      FROM (SELECT number, (-(vector <#> %(query)s::halfvec))::real AS cosine
              FROM holdfast.derived
             WHERE space_id = %(space)s
               AND model = %(model)s
               AND key_id = %(key_id)s
               AND vector IS NOT NULL
             ORDER BY cosine DESC, number) AS near
    """,
)

_NEAREST = """
    SELECT string_agg(near.number || ':' || near.cosine, ',' ORDER BY near.cosine DESC, near.number)
      FROM (SELECT number,
                   (-(vector::halfvec({dimensions}) <#> %(query)s::halfvec({dimensions})))::real AS cosine
              FROM holdfast.derived
             WHERE space_id = %(space)s
               AND model = %(model)s
               AND key_id = %(key_id)s
               AND vector IS NOT NULL
             ORDER BY vector::halfvec({dimensions}) <#> %(query)s::halfvec({dimensions}), number
             LIMIT %(limit)s) AS near
    """

_ONE_DIMENSION = of_space("vectors.cosines, nearest", _NEAREST.format(dimensions=384))


def _nearest(dimensions: int) -> Statement:
    """The statement for a number of dimensions, which is part of the type that an index is made for. A type cannot be
    bound."""
    return _ONE_DIMENSION._replace(sql=_NEAREST.format(dimensions=f"{dimensions:d}").encode())


def _drop_unfinished(db: Db, name: str) -> None:
    """Drops an index that was not finished: it is kept up to date but never used."""
    broken = db.execute(
        "SELECT 1 FROM pg_index WHERE indexrelid = to_regclass('holdfast.' || %s) AND NOT indisvalid", (name,)
    ).fetchall()
    if broken:
        _drop(db, name)


def _drop(db: Db, name: str) -> None:
    db.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS holdfast.{name}").format(name=sql.Identifier(name)))


def _partition(db: Db, space: UUID) -> str:
    rows = db.execute(
        """
        SELECT remainder
          FROM generate_series(0, %(partitions)s - 1) AS remainder
         WHERE satisfies_hash_partition('holdfast.derived'::regclass, %(partitions)s, remainder, %(space)s::uuid)
        """,
        {"partitions": PARTITIONS, "space": space},
    ).fetchall()
    return f"derived_{rows[0][0]:02d}"


def _index_name(space: UUID, model: int) -> str:
    return f"derived_near_{space.hex}_{model}"
