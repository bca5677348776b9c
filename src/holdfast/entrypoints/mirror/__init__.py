"""The Markdown mirror: every user's file memories as plain files that people can edit, synchronised in both directions.
`docs/files.md` has the rules, `docs/adr/0016-markdown-mirror.md` the reasons."""
