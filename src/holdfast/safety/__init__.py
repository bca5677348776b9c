"""Secrets, advice and prompt-injection checks. Pure."""
