"""Questions to hits: both legs from one snapshot, fused, calibrated, and only what the view may show."""

from umi._retrieval.search import DualRetriever, Found, Query

__all__ = ["DualRetriever", "Found", "Query"]
