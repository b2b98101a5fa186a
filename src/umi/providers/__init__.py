"""Adapters to embedders and language models, local and served, behind the ports in `umi.ports`."""
