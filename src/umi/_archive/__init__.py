"""A namespace, or all of a store, as JSON Lines: written from one snapshot, restored a batch at a time."""

from umi._archive.dump import Dump
from umi._archive.restore import Restore

__all__ = ["Dump", "Restore"]
