"""The backend for many API nodes: PostgreSQL through psycopg. Holds sealed rows only."""
