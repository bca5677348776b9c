"""What the product is, without I/O: principals, spaces, entries, grants, profiles, access, retention, errors."""
