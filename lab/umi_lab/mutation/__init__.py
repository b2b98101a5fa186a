"""Bugs put into Umi on purpose, by hand and by operators, and whether tests and worlds find them."""
