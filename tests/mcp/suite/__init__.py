"""The public MCP conformance suite against our real stack: server, tokens, guard, sessions, sealed state. What it needs
to be there (tools that show images, ask for names, fail) is added by fixtures, and only here."""
