"""Everything about finding: snapshots of spaces, ranking, the embedder and its background worker."""
