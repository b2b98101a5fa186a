"""The PostgreSQL store: one database that many machines share (ADR 24)."""
