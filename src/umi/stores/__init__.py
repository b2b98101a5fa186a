"""Adapters to databases."""
