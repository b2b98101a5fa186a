"""Answer a question: search by words and by meaning in one snapshot, fuse, calibrate, and keep what the view may show."""

from umi._retrieval.query import Found, Query
from umi._retrieval.search import DualRetriever, KnownSpeakers

__all__ = ["DualRetriever", "Found", "KnownSpeakers", "Query"]
