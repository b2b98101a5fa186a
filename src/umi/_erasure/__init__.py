"""Taking away what was said, and all that was made of it: `forget` one message or statement, `erase` a subject."""
