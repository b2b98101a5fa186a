"""Text to statements: by a model, else by the local reader. No store is written here."""
