"""Deletion: `forget` takes out one message or statement, `erase` everything about a subject, with all that was made of it."""
