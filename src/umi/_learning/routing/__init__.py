"""Routing tasks to tiers of models, and learning from how they went (seed 003)."""

from umi._learning.routing.complexity import TaskComplexityAnalyzer
from umi._learning.routing.model_tiers import RoutedLLM
from umi._learning.routing.router import RouteOptions, TierRouter

__all__ = ["RouteOptions", "RoutedLLM", "TaskComplexityAnalyzer", "TierRouter"]
