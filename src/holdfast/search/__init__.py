"""From text to terms, from two rankings to one answer."""
