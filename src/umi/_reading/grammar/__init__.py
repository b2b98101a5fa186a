"""The clause reader: statements from grammar rules and word lists, without a model, clock or I/O."""
