"""The MCP interface, over HTTP and stdio: tools, resources, prompts and completion over the calls of REST."""
