"""The interfaces: Python, HTTP, MCP, the command line and the mirror."""
