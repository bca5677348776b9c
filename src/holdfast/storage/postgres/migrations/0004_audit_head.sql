-- A keyed code over the log's last position and link, so that lines cut off show.
ALTER TABLE holdfast.audit_head ADD COLUMN code bytea NOT NULL DEFAULT '';

-- How many messages were sealed under a data key, as far as processes have told.
ALTER TABLE holdfast.data_keys ADD COLUMN uses bigint NOT NULL DEFAULT 0;
