-- The whole schema. An administrator may run this file (and every later one, in order) where the login of Holdfast may not;
-- then GRANT holdfast_app, holdfast_store TO that login WITH INHERIT FALSE, SET TRUE.
CREATE SCHEMA holdfast;

-- The migrations that made this schema. Each ends by adding its own line.
CREATE TABLE holdfast.versions (
    number integer NOT NULL PRIMARY KEY,
    name   text    NOT NULL
);

-- Two roles without login, shared by all databases of a server. A transaction takes one of them, never the login's own
-- rights: holdfast_app sees the rows of the one space that `holdfast.space` names, holdfast_store those of all spaces,
-- for the few statements that name none (statements.py lists them).
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['holdfast_app', 'holdfast_store'] LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = wanted) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN NOINHERIT NOBYPASSRLS', wanted);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL; -- another database of this server was quicker
            END;
        END IF;
        -- To be taken on, never inherited: the login's own rights reach no row.
        IF NOT pg_has_role(current_user, wanted, 'SET') THEN
            EXECUTE format('GRANT %I TO %I WITH INHERIT FALSE, SET TRUE', wanted, current_user);
        END IF;
    END LOOP;
END
$$;

CREATE EXTENSION IF NOT EXISTS vector;

GRANT USAGE ON SCHEMA holdfast TO holdfast_app, holdfast_store;

-- The space a transaction has entered; no row has NULL.
CREATE FUNCTION holdfast.entered() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('holdfast.space', true), '')::uuid;

-- Spaces. The readable name is sealed; by its blind a space is found in space_names. `seq`, `removed` and `settled` tell a
-- reader whether what it knows of a space still holds.
CREATE TABLE holdfast.spaces (
    space_id   uuid     NOT NULL PRIMARY KEY,
    kind       smallint NOT NULL,
    name       bytea    NOT NULL,
    owner      bytea,
    listed     boolean  NOT NULL,
    key_id     integer  NOT NULL,
    created_us bigint   NOT NULL,
    sealed     bytea    NOT NULL,
    seq        bigint   NOT NULL DEFAULT 0,
    entries    bigint   NOT NULL DEFAULT 0,
    indexed    bigint   NOT NULL DEFAULT 0,
    length     bigint   NOT NULL DEFAULT 0,
    stored     bigint   NOT NULL GENERATED ALWAYS AS IDENTITY,
    removed    bigint   NOT NULL DEFAULT 0,
    settled    bigint   NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

CREATE INDEX spaces_owner ON holdfast.spaces (owner) WHERE owner IS NOT NULL;

-- Blind names of spaces, apart from them: a name is taken once in the whole store, whichever node holds the space.
CREATE TABLE holdfast.space_names (
    name     bytea NOT NULL PRIMARY KEY,
    space_id uuid  NOT NULL
);

-- Data keys, wrapped by a master key. The store's own lies under id zero.
CREATE TABLE holdfast.data_keys (
    space_id   uuid    NOT NULL,
    key_id     integer NOT NULL,
    master     bytea   NOT NULL,
    created_us bigint  NOT NULL,
    wrapped    bytea   NOT NULL,
    uses       bigint  NOT NULL DEFAULT 0,
    PRIMARY KEY (space_id, key_id)
);

CREATE INDEX data_keys_master ON holdfast.data_keys (master);

-- Readable principals, sealed, by their blind id.
CREATE TABLE holdfast.names (
    name   bytea NOT NULL PRIMARY KEY,
    sealed bytea NOT NULL
);

-- Head revisions.
CREATE TABLE holdfast.entries (
    space_id   uuid     NOT NULL,
    number     bigint   NOT NULL,
    partition  smallint NOT NULL,
    owner      bytea    NOT NULL,
    key        bytea    NOT NULL,
    revision   bigint   NOT NULL,
    born       bigint   NOT NULL,
    seq        bigint   NOT NULL,
    created_us bigint   NOT NULL,
    updated_us bigint   NOT NULL,
    expires_us bigint,
    trashed_us bigint,
    flags      integer  NOT NULL,
    length     integer  NOT NULL,
    key_id     integer  NOT NULL,
    labels     bytea    NOT NULL,
    sealed     bytea    NOT NULL,
    PRIMARY KEY (space_id, number)
) PARTITION BY HASH (space_id);

CREATE UNIQUE INDEX entries_key ON holdfast.entries (space_id, key, partition, owner) WHERE trashed_us IS NULL;
CREATE INDEX entries_order ON holdfast.entries (space_id, partition, seq) WHERE trashed_us IS NULL;
CREATE INDEX entries_space_expiry ON holdfast.entries (space_id, expires_us) WHERE expires_us IS NOT NULL;
CREATE INDEX entries_space_trash ON holdfast.entries (space_id, seq) WHERE trashed_us IS NOT NULL;
CREATE INDEX entries_expiry ON holdfast.entries (expires_us) WHERE expires_us IS NOT NULL;
CREATE INDEX entries_trash ON holdfast.entries (trashed_us) WHERE trashed_us IS NOT NULL;
CREATE INDEX entries_guest ON holdfast.entries (owner) WHERE flags & 8 <> 0;

-- Superseded revisions.
CREATE TABLE holdfast.revisions (
    space_id   uuid    NOT NULL,
    number     bigint  NOT NULL,
    revision   bigint  NOT NULL,
    seq        bigint  NOT NULL,
    updated_us bigint  NOT NULL,
    expires_us bigint,
    flags      integer NOT NULL,
    key_id     integer NOT NULL,
    sealed     bytea   NOT NULL,
    PRIMARY KEY (space_id, number, revision)
) PARTITION BY HASH (space_id);

-- Blind slash-prefixes, categories and tags of live entries.
CREATE TABLE holdfast.labels (
    space_id uuid   NOT NULL,
    label    bytea  NOT NULL,
    seq      bigint NOT NULL,
    number   bigint NOT NULL,
    PRIMARY KEY (space_id, label, seq, number)
) PARTITION BY HASH (space_id);

-- Blind words, the four fields one after another; *_from says how many terms come before a field. A term of one space
-- occurs in no other, so the index leads to the rows of one space.
CREATE TABLE holdfast.terms (
    space_id  uuid     NOT NULL,
    number    bigint   NOT NULL,
    tags_from integer  NOT NULL,
    key_from  integer  NOT NULL,
    body_from integer  NOT NULL,
    terms     bigint[] NOT NULL,
    PRIMARY KEY (space_id, number)
) PARTITION BY HASH (space_id);

CREATE INDEX terms_terms ON holdfast.terms USING gin (terms) WITH (fastupdate = off);

CREATE TABLE holdfast.grants (
    space_id   uuid     NOT NULL,
    grantee    bytea    NOT NULL,
    granted_by bytea    NOT NULL,
    level      smallint NOT NULL,
    created_us bigint   NOT NULL,
    expires_us bigint,
    mac        bytea    NOT NULL,
    PRIMARY KEY (space_id, grantee, granted_by)
);

CREATE INDEX grants_grantee ON holdfast.grants (grantee);
CREATE INDEX grants_expiry ON holdfast.grants (expires_us) WHERE expires_us IS NOT NULL;

-- Participants of chats and access lists of systems.
CREATE TABLE holdfast.members (
    space_id uuid     NOT NULL,
    member   bytea    NOT NULL,
    level    smallint NOT NULL,
    mac      bytea    NOT NULL,
    PRIMARY KEY (space_id, member)
);

CREATE INDEX members_member ON holdfast.members (member);

CREATE TABLE holdfast.rules (
    role       text    NOT NULL PRIMARY KEY,
    may_read   boolean NOT NULL,
    may_manage boolean NOT NULL
);

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

-- Answers to idempotency keys, sealed; they go with the entry they are about, but belong to a principal.
CREATE TABLE holdfast.receipts (
    principal  bytea  NOT NULL,
    key        bytea  NOT NULL,
    space_id   uuid   NOT NULL,
    number     bigint NOT NULL,
    request    bytea  NOT NULL,
    answer     bytea  NOT NULL,
    created_us bigint NOT NULL,
    PRIMARY KEY (principal, key)
);

CREATE INDEX receipts_space ON holdfast.receipts (space_id, number);
CREATE INDEX receipts_age ON holdfast.receipts (created_us);

-- What waits for a person's yes. `person` may answer, and whoever manages the space; `number` is the entry concerned
-- (0: none). `answer`: 0 waiting, 1 approved, 2 refused; an answered one has lost its seal.
CREATE TABLE holdfast.proposals (
    id         uuid     NOT NULL PRIMARY KEY,
    person     bytea    NOT NULL,
    proposer   bytea    NOT NULL,
    space_id   uuid     NOT NULL,
    number     bigint   NOT NULL,
    created_us bigint   NOT NULL,
    expires_us bigint   NOT NULL,
    answer     smallint NOT NULL,
    sealed     bytea    NOT NULL
);

CREATE INDEX proposals_person ON holdfast.proposals (person);
CREATE INDEX proposals_proposer ON holdfast.proposals (proposer);
CREATE INDEX proposals_space ON holdfast.proposals (space_id, number);
CREATE INDEX proposals_age ON holdfast.proposals (expires_us);

-- The audit log: keyed ids, no bodies, each line linked to the one before.
CREATE TABLE holdfast.audit (
    position  bigint  NOT NULL PRIMARY KEY,
    at_us     bigint  NOT NULL,
    operation text    NOT NULL,
    actor     bytea   NOT NULL,
    space     bytea   NOT NULL,
    object    bytea   NOT NULL,
    revision  bigint  NOT NULL,
    key_id    integer NOT NULL,
    link      bytea   NOT NULL
);

-- Its last line once more, in the one row that whoever adds a line locks first: the chain never forks.
CREATE TABLE holdfast.audit_head (
    position  bigint  NOT NULL,
    at_us     bigint  NOT NULL,
    operation text    NOT NULL,
    actor     bytea   NOT NULL,
    space     bytea   NOT NULL,
    object    bytea   NOT NULL,
    revision  bigint  NOT NULL,
    key_id    integer NOT NULL,
    link      bytea   NOT NULL,
    code      bytea   NOT NULL DEFAULT ''
) WITH (fillfactor = 10);

INSERT INTO holdfast.audit_head VALUES (0, 0, '', '', '', '', 0, 0, '');

-- Which space some work is being done in, by whom and until when, so that several workers share it.
CREATE TABLE holdfast.leases (
    space_id uuid   NOT NULL,
    work     text   NOT NULL,
    holder   text   NOT NULL,
    until_us bigint NOT NULL,
    PRIMARY KEY (space_id, work)
);

-- Embedders whose vectors are kept. `state` is one of contracts/rows.py: serving, following, held, former.
CREATE TABLE holdfast.models (
    model      integer NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text    NOT NULL UNIQUE,
    dimensions integer NOT NULL,
    state      text    NOT NULL,
    overlap    double precision,
    created_us bigint  NOT NULL
);

-- What recall knows of an entry beyond its words: signals and with a model (0: none) its vector, sealed together; the
-- vector once more, rotated by a key of the space, for spaces too large to be opened. Made after the commit from one
-- revision; with another one it counts for nothing.
CREATE TABLE holdfast.derived (
    space_id uuid    NOT NULL,
    number   bigint  NOT NULL,
    model    integer NOT NULL,
    revision bigint  NOT NULL,
    key_id   integer NOT NULL,
    sealed   bytea   NOT NULL,
    vector   halfvec,
    PRIMARY KEY (space_id, number, model)
) PARTITION BY HASH (space_id);

-- How far a model has come in a space: everything up to this sequence number is derived.
CREATE TABLE holdfast.progress (
    space_id uuid    NOT NULL,
    model    integer NOT NULL,
    seq      bigint  NOT NULL,
    PRIMARY KEY (space_id, model)
);

-- A place in the word index, packed as contracts/rows.py says: the number, the first letter of the field, the terms of that
-- field that come before.
CREATE FUNCTION holdfast.place(number bigint, nth integer, tags_from integer, key_from integer, body_from integer)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((number << 27)
            | CASE
                  WHEN nth > body_from THEN (ascii('b') << 20) | (nth - 1 - body_from)
                  WHEN nth > key_from THEN (ascii('k') << 20) | (nth - 1 - key_from)
                  WHEN nth > tags_from THEN (ascii('t') << 20) | (nth - 1 - tags_from)
                  ELSE (ascii('h') << 20) | (nth - 1)
              END)::text;

-- Where each blind term stands in the entered space. Beneath a policy PostgreSQL uses no index for @> (the operator might
-- tell in an error what it compared), so this reads with the rights of holdfast_store; it takes no space from its
-- caller, only the entered one. The index is asked term by term: as a join, a table without statistics would be read
-- whole for every question. Most entries hold a term once: only the others need a query of their own.
CREATE FUNCTION holdfast.places(asked bigint[]) RETURNS TABLE (term bigint, places text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET plan_cache_mode = force_custom_plan
    AS $$
        SELECT found.term,
               string_agg(
                   CASE
                       WHEN cardinality(found.at) = 1
                       THEN holdfast.place(found.number, found.at[1], found.tags_from, found.key_from, found.body_from)
                       ELSE (SELECT string_agg(
                                        holdfast.place(
                                            found.number, nth, found.tags_from, found.key_from, found.body_from
                                        ),
                                        ','
                                    )
                               FROM unnest(found.at) AS nth)
                   END,
                   ','
               )
          FROM (SELECT wanted.term, terms.number, terms.tags_from, terms.key_from, terms.body_from,
                       array_positions(terms.terms, wanted.term) AS at
                  FROM unnest(asked) AS wanted (term)
                 CROSS JOIN LATERAL (SELECT *
                                       FROM holdfast.terms
                                      WHERE terms.space_id = holdfast.entered()
                                        AND terms.terms @> ARRAY[wanted.term]
                                     OFFSET 0) AS terms
                OFFSET 0) AS found
         GROUP BY found.term
    $$;

REVOKE EXECUTE ON FUNCTION holdfast.places(bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast.places(bigint[]) TO holdfast_app, holdfast_store;

-- Rights, the wall, and the partitions. Rights are given on the whole tables only, never on a partition, whose rows a
-- policy of the whole table would not guard.
DO $$
DECLARE
    whole text;
    part  text;
BEGIN
    FOREACH whole IN ARRAY ARRAY['spaces', 'data_keys', 'entries', 'revisions', 'labels', 'terms', 'grants', 'members',
                                 'leases', 'derived', 'progress'] LOOP
        EXECUTE format('ALTER TABLE holdfast.%I ENABLE ROW LEVEL SECURITY', whole);
        EXECUTE format('ALTER TABLE holdfast.%I FORCE ROW LEVEL SECURITY', whole);
        EXECUTE format('CREATE POLICY of_space ON holdfast.%I TO holdfast_app USING (space_id = holdfast.entered())',
                       whole);
        EXECUTE format('CREATE POLICY of_store ON holdfast.%I TO holdfast_store USING (true)', whole);
    END LOOP;
    FOREACH whole IN ARRAY ARRAY['spaces', 'data_keys', 'entries', 'revisions', 'labels', 'terms', 'grants', 'members',
                                 'leases', 'space_names', 'names', 'rules', 'receipts', 'audit', 'audit_head',
                                 'derived', 'progress', 'models', 'proposals', 'agents'] LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast.%I TO holdfast_app, holdfast_store', whole);
    END LOOP;
    FOREACH whole IN ARRAY ARRAY['entries', 'revisions', 'labels', 'terms', 'derived'] LOOP
        FOR remainder IN 0..15 LOOP
            part := whole || '_' || to_char(remainder, 'FM00');
            EXECUTE format('CREATE TABLE holdfast.%I PARTITION OF holdfast.%I FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
                           part, whole, remainder);
            EXECUTE format('ALTER TABLE holdfast.%I ENABLE ROW LEVEL SECURITY', part);
            EXECUTE format('ALTER TABLE holdfast.%I FORCE ROW LEVEL SECURITY', part);
            IF whole = 'derived' THEN
                -- A vector stays in its row while a page holds it: out of line every comparison would fetch it.
                EXECUTE format('ALTER TABLE holdfast.%I SET (toast_tuple_target = 8160)', part);
            END IF;
        END LOOP;
    END LOOP;
END
$$;

-- A store that is moved here brings the numbers of its models along.
GRANT SELECT, UPDATE ON SEQUENCE holdfast.models_model_seq TO holdfast_app, holdfast_store;

GRANT CREATE ON SCHEMA holdfast TO holdfast_store;
ALTER FUNCTION holdfast.places(bigint[]) OWNER TO holdfast_store;
REVOKE CREATE ON SCHEMA holdfast FROM holdfast_store;

INSERT INTO holdfast.versions VALUES (1, 'schema');
