-- What an agent's memory may be used for, and whose agent it is (empty: nobody's).
CREATE TABLE agents (
    agent       BLOB    NOT NULL PRIMARY KEY,
    owner       BLOB    NOT NULL,
    enabled     INTEGER NOT NULL,
    own         INTEGER NOT NULL,
    chat        INTEGER NOT NULL,
    user        INTEGER NOT NULL,
    default_ttl INTEGER NOT NULL,
    mac         BLOB    NOT NULL
) STRICT, WITHOUT ROWID;
