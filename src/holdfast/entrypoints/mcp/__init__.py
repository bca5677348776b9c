"""The MCP door: a table of tools over the same calls as REST, resources, prompts, completion; over HTTP and stdio."""
