"""Further databases on the test server, and what their catalogues say."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.conformance.postgres_backend import database

_numbers = itertools.count(1)


@contextmanager
def empty_database(login: str | None = None) -> Iterator[str]:
    """The DSN of a new database, owned by a login if one is named; gone afterwards."""
    name = f"holdfast_test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(database(), autocommit=True) as db:
        db.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
        owner = sql.SQL(" OWNER {}").format(sql.Identifier(login)) if login else sql.SQL("")
        db.execute(sql.SQL("CREATE DATABASE {}{}").format(sql.Identifier(name), owner))
    if login:  # an administrator's part
        with psycopg.connect(make_conninfo(database(), dbname=name)) as db:
            db.execute("CREATE EXTENSION vector")
    try:
        yield make_conninfo(database(), dbname=name, **({"user": login} if login else {}))
    finally:
        with psycopg.connect(database(), autocommit=True) as db:
            db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


CATALOGUE = {
    "tables": """
        SELECT relname, relkind, relrowsecurity, relforcerowsecurity, reloptions, relacl::text,
               pg_get_expr(relpartbound, oid), relowner::regrole::text
          FROM pg_class
         WHERE relnamespace = 'holdfast'::regnamespace AND relkind IN ('r', 'p', 'S')
    """,
    "columns": """
        SELECT attrelid::regclass::text, attnum, attname, format_type(atttypid, atttypmod), attnotnull, attidentity,
               attstorage, pg_get_expr(adbin, adrelid)
          FROM pg_attribute
          JOIN pg_class ON pg_class.oid = attrelid
          LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
         WHERE relnamespace = 'holdfast'::regnamespace AND attnum > 0 AND relkind IN ('r', 'p')
    """,
    "indexes": """
        SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'holdfast'
    """,
    "constraints": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)
          FROM pg_constraint
         WHERE connamespace = 'holdfast'::regnamespace
    """,
    "policies": """
        SELECT tablename, policyname, permissive, roles::text, cmd, qual, with_check
          FROM pg_policies
         WHERE schemaname = 'holdfast'
    """,
    "functions": """
        SELECT proname, pg_get_functiondef(oid), proowner::regrole::text, proacl::text
          FROM pg_proc
         WHERE pronamespace = 'holdfast'::regnamespace
    """,
    "versions": "SELECT number, name FROM holdfast.versions",
    "heads": "SELECT position FROM holdfast.audit_head",
    "rights": "SELECT nspacl::text FROM pg_namespace WHERE nspname = 'holdfast'",
}


def catalogue(dsn: str) -> dict[str, list[tuple[object, ...]]]:
    with psycopg.connect(dsn) as db:
        return {
            name: sorted(db.execute(query.encode()).fetchall(), key=repr) for name, query in CATALOGUE.items()
        }


def url_of(dsn: str) -> str:
    """The same database as a URL, as a person would name it."""
    said = conninfo_to_dict(dsn)
    name = said.pop("dbname")
    return f"postgresql:///{name}?{urlencode({key: str(value) for key, value in said.items()})}"
