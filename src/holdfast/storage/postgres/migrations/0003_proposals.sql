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

GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast.proposals TO holdfast_app, holdfast_store;
