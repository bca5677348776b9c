"""Keys, sealing and blinding. Nothing here knows where bytes are stored."""
