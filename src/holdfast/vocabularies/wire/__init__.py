"""How calls and answers look as JSON."""
