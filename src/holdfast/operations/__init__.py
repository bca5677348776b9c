"""The verbs, one file each. An operation reads as its story: check, decide, write, return."""
