-- Spaces. `name` is the blind of kind, owner and reference; the readable ones are sealed. `seq`, `removed` and `settled`
-- tell a reader whether what it knows of a space still holds: `removed` grows when an entry goes or comes back, `settled`
-- when something derived was added.
CREATE TABLE spaces (
    space      INTEGER PRIMARY KEY AUTOINCREMENT,
    id         BLOB    NOT NULL UNIQUE,
    kind       INTEGER NOT NULL,
    name       BLOB    NOT NULL UNIQUE,
    owner      BLOB,
    listed     INTEGER NOT NULL,
    key_id     INTEGER NOT NULL,
    created_us INTEGER NOT NULL,
    sealed     BLOB    NOT NULL,
    seq        INTEGER NOT NULL DEFAULT 0,
    entries    INTEGER NOT NULL DEFAULT 0,
    indexed    INTEGER NOT NULL DEFAULT 0,
    length     INTEGER NOT NULL DEFAULT 0,
    removed    INTEGER NOT NULL DEFAULT 0,
    settled    INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX spaces_owner ON spaces (owner) WHERE owner IS NOT NULL;

-- Data keys, wrapped by a master key. `uses`: messages sealed under a key, as far as processes have reported.
CREATE TABLE data_keys (
    space      BLOB    NOT NULL,
    key_id     INTEGER NOT NULL,
    master     BLOB    NOT NULL,
    created_us INTEGER NOT NULL,
    wrapped    BLOB    NOT NULL,
    uses       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (space, key_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX data_keys_master ON data_keys (master);

-- Readable principals, sealed, by their blind id.
CREATE TABLE names (
    name   BLOB NOT NULL PRIMARY KEY,
    sealed BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Head revisions. `entry` is the space's number in the upper 31 bits and the entry's in the lower 32, so the rows of
-- a space lie together and cost the same however large the file is.
CREATE TABLE entries (
    entry      INTEGER PRIMARY KEY,
    space      INTEGER NOT NULL,
    partition  INTEGER NOT NULL,
    owner      BLOB    NOT NULL,
    key        BLOB    NOT NULL,
    revision   INTEGER NOT NULL,
    born       INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    expires_us INTEGER,
    trashed_us INTEGER,
    flags      INTEGER NOT NULL,
    length     INTEGER NOT NULL,
    key_id     INTEGER NOT NULL,
    labels     BLOB    NOT NULL,
    sealed     BLOB    NOT NULL
) STRICT;

CREATE UNIQUE INDEX entries_key ON entries (space, key, partition, owner) WHERE trashed_us IS NULL;
CREATE INDEX entries_order ON entries (space, partition, seq) WHERE trashed_us IS NULL;
CREATE INDEX entries_expiry ON entries (expires_us) WHERE expires_us IS NOT NULL;
CREATE INDEX entries_trash ON entries (trashed_us) WHERE trashed_us IS NOT NULL;
CREATE INDEX entries_space_trash ON entries (space, seq) WHERE trashed_us IS NOT NULL;
CREATE INDEX entries_guest ON entries (owner) WHERE flags & 8;

-- Superseded revisions.
CREATE TABLE revisions (
    entry      INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    expires_us INTEGER,
    flags      INTEGER NOT NULL,
    key_id     INTEGER NOT NULL,
    sealed     BLOB    NOT NULL,
    PRIMARY KEY (entry, revision)
) STRICT, WITHOUT ROWID;

-- Blind slash-prefixes, categories and tags of live entries.
CREATE TABLE labels (
    space INTEGER NOT NULL,
    label BLOB    NOT NULL,
    seq   INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    PRIMARY KEY (space, label, seq, entry)
) STRICT, WITHOUT ROWID;

-- Blind words. A term of one space occurs in no other, so a query reads only its own space's postings.
CREATE VIRTUAL TABLE terms USING fts5 (
    hint, tags, key, body,
    content = '', contentless_delete = 1, tokenize = 'ascii'
);

CREATE TABLE grants (
    space      BLOB    NOT NULL,
    grantee    BLOB    NOT NULL,
    granted_by BLOB    NOT NULL,
    level      INTEGER NOT NULL,
    created_us INTEGER NOT NULL,
    expires_us INTEGER,
    mac        BLOB    NOT NULL,
    PRIMARY KEY (space, grantee, granted_by)
) STRICT, WITHOUT ROWID;

CREATE INDEX grants_grantee ON grants (grantee);
CREATE INDEX grants_expiry ON grants (expires_us) WHERE expires_us IS NOT NULL;

-- Participants of chats and access lists of systems.
CREATE TABLE members (
    space  BLOB    NOT NULL,
    member BLOB    NOT NULL,
    level  INTEGER NOT NULL,
    mac    BLOB    NOT NULL,
    PRIMARY KEY (space, member)
) STRICT, WITHOUT ROWID;

CREATE INDEX members_member ON members (member);

CREATE TABLE rules (
    role       TEXT    NOT NULL PRIMARY KEY,
    may_read   INTEGER NOT NULL,
    may_manage INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Answers to idempotency keys, sealed; they go with the entry they are about.
CREATE TABLE receipts (
    principal  BLOB    NOT NULL,
    key        BLOB    NOT NULL,
    space      BLOB    NOT NULL,
    number     INTEGER NOT NULL,
    request    BLOB    NOT NULL,
    answer     BLOB    NOT NULL,
    created_us INTEGER NOT NULL,
    PRIMARY KEY (principal, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX receipts_space ON receipts (space, number);
CREATE INDEX receipts_age ON receipts (created_us);

-- The audit log: keyed ids, no bodies, each line linked to the one before.
CREATE TABLE audit (
    position  INTEGER PRIMARY KEY,
    at_us     INTEGER NOT NULL,
    operation TEXT    NOT NULL,
    actor     BLOB    NOT NULL,
    space     BLOB    NOT NULL,
    object    BLOB    NOT NULL,
    revision  INTEGER NOT NULL,
    key_id    INTEGER NOT NULL,
    link      BLOB    NOT NULL
) STRICT;

-- Where the audit log ends: its last line's position and link, with a keyed code, so that lines cut off show.
CREATE TABLE audit_head (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    position INTEGER NOT NULL,
    link     BLOB    NOT NULL,
    code     BLOB    NOT NULL
) STRICT;

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

-- What waits for a person's yes. `person` may answer, and whoever manages the space; `number` is the entry concerned
-- (0: none). `answer`: 0 waiting, 1 approved, 2 refused; an answered one has lost its seal.
CREATE TABLE proposals (
    id         BLOB    NOT NULL PRIMARY KEY,
    person     BLOB    NOT NULL,
    proposer   BLOB    NOT NULL,
    space      BLOB    NOT NULL,
    number     INTEGER NOT NULL,
    created_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL,
    answer     INTEGER NOT NULL,
    sealed     BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX proposals_person ON proposals (person);
CREATE INDEX proposals_proposer ON proposals (proposer);
CREATE INDEX proposals_space ON proposals (space, number);
CREATE INDEX proposals_age ON proposals (expires_us);

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
