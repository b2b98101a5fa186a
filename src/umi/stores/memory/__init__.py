"""The store without a file, for tests and simulation."""
