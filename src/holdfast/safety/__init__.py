"""Secrets, advice and prompt-injection checks, all pure functions of a text."""
