"""Vocabularies shared by all doors: each turns a caller's words into work for the engine."""
