"""From text to terms: analysis, questions, typos, duplicates. Pure."""
