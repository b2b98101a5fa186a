"""Reading short messages by what they name: a subject, a kind of fact, a value, and a word that says what becomes of it."""
