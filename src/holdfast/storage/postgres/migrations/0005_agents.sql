-- What an agent's memory may be used for, and whose agent it is (empty: nobody's).
CREATE TABLE holdfast.agents (
    agent       bytea   NOT NULL PRIMARY KEY,
    owner       bytea   NOT NULL,
    enabled     boolean NOT NULL,
    own         boolean NOT NULL,
    chat        boolean NOT NULL,
    "user"      boolean NOT NULL,
    default_ttl bigint  NOT NULL,
    mac         bytea   NOT NULL
);

GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast.agents TO holdfast_app, holdfast_store;
