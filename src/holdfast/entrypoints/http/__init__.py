"""The HTTP interface: server, API, and clients."""
