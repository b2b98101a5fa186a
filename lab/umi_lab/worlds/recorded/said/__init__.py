"""Sentences that rules read, by template."""
