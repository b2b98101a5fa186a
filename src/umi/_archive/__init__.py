"""Export a namespace, or a whole store, as JSON Lines from one snapshot per namespace; and restore it in batches."""

from umi._archive.dump import Dump
from umi._archive.restore import Restore

__all__ = ["Dump", "Restore"]
