-- Where the audit log ends: its last line's position and link, with a keyed code, so that lines cut off show.
CREATE TABLE audit_head (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    position INTEGER NOT NULL,
    link     BLOB    NOT NULL,
    code     BLOB    NOT NULL
) STRICT;

INSERT INTO audit_head (one, position, link, code)
SELECT 1, position, link, x''
  FROM audit
 ORDER BY position DESC
 LIMIT 1;

-- How many messages were sealed under a data key, as far as processes have told.
ALTER TABLE data_keys ADD COLUMN uses INTEGER NOT NULL DEFAULT 0;
