-- With `seq` these tell a reader whether what it knows of a space still holds: `removed` grows when an entry goes or
-- comes back, `settled` when something derived was added.
ALTER TABLE spaces ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spaces ADD COLUMN settled INTEGER NOT NULL DEFAULT 0;

-- Embedders whose vectors are kept. `state` is one of contracts/rows.py: serving, following, held, former.
CREATE TABLE models (
    model      INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT    NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL,
    state      TEXT    NOT NULL,
    overlap    REAL,
    created_us INTEGER NOT NULL
) STRICT;

-- What recall knows of an entry beyond its words, sealed: signals, and with a model (0: none) its vector. Made after
-- the commit from one revision; with another one it counts for nothing.
CREATE TABLE derived (
    entry    INTEGER NOT NULL,
    model    INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    key_id   INTEGER NOT NULL,
    sealed   BLOB    NOT NULL,
    PRIMARY KEY (entry, model)
) STRICT, WITHOUT ROWID;

-- How far a model has come in a space: everything up to this sequence number is derived.
CREATE TABLE progress (
    model INTEGER NOT NULL,
    space INTEGER NOT NULL,
    seq   INTEGER NOT NULL,
    PRIMARY KEY (model, space)
) STRICT, WITHOUT ROWID;
