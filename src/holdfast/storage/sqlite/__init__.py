"""The embedded backend: one SQLite file through apsw. Holds sealed rows only."""
