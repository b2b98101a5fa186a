"""Reading: from the text of a message to statements, by a language model or by local rules. Writes to no store."""
