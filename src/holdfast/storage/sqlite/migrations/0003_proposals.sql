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
