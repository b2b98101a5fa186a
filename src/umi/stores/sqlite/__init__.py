"""The embedded store: one SQLite file that many processes may share."""
