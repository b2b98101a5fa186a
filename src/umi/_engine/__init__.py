"""One open memory at work: its parts put together, and the operations that the public classes hand on."""
