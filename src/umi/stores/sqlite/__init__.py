"""The SQLite store: one file that several processes may share (ADR 4)."""
