"""Adapters to databases: the SQLite store, the store in memory, and the search index that both use."""
