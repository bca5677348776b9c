-- With `seq` these tell a reader whether what it knows of a space still holds: `removed` grows when an entry goes or
-- comes back, `settled` when something derived was added.
ALTER TABLE holdfast.spaces ADD COLUMN removed bigint NOT NULL DEFAULT 0;
ALTER TABLE holdfast.spaces ADD COLUMN settled bigint NOT NULL DEFAULT 0;

CREATE EXTENSION IF NOT EXISTS vector;

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

DO $$
DECLARE
    whole text;
    part  text;
BEGIN
    FOREACH whole IN ARRAY ARRAY['derived', 'progress'] LOOP
        EXECUTE format('ALTER TABLE holdfast.%I ENABLE ROW LEVEL SECURITY', whole);
        EXECUTE format('ALTER TABLE holdfast.%I FORCE ROW LEVEL SECURITY', whole);
        EXECUTE format('CREATE POLICY of_space ON holdfast.%I TO holdfast_app USING (space_id = holdfast.entered())',
                       whole);
        EXECUTE format('CREATE POLICY of_store ON holdfast.%I TO holdfast_store USING (true)', whole);
    END LOOP;
    FOREACH whole IN ARRAY ARRAY['derived', 'progress', 'models'] LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast.%I TO holdfast_app, holdfast_store', whole);
    END LOOP;
    FOR remainder IN 0..15 LOOP
        part := 'derived_' || to_char(remainder, 'FM00');
        EXECUTE format('CREATE TABLE holdfast.%I PARTITION OF holdfast.derived FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
                       part, remainder);
        -- A vector stays in its row while a page holds it: out of line every comparison would fetch it.
        EXECUTE format('ALTER TABLE holdfast.%I SET (toast_tuple_target = 8160)', part);
        EXECUTE format('ALTER TABLE holdfast.%I ENABLE ROW LEVEL SECURITY', part);
        EXECUTE format('ALTER TABLE holdfast.%I FORCE ROW LEVEL SECURITY', part);
    END LOOP;
END
$$;

-- A store that is moved here brings the numbers of its models along.
GRANT SELECT, UPDATE ON SEQUENCE holdfast.models_model_seq TO holdfast_app, holdfast_store;
