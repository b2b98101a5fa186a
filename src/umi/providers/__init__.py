"""Adapters to embedders and models."""
