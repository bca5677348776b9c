"""The Markdown mirror: every user's file memories as plain files that a person may edit, kept equal to the engine in
both directions. `docs/files.md` has the rules, `docs/adr/0016-markdown-mirror.md` the reasons."""
