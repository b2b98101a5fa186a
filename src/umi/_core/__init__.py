"""Shared code that other packages build on: tokenisation, vectors, ranking, validation, time, guarded port calls."""
