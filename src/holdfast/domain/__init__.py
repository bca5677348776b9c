"""The product without I/O: principals, spaces, entries, grants, profiles, access, retention, errors."""
