"""Routing: choose a tier of models for each task, and learn from the outcomes (ADR 14; seed 003)."""

from umi._learning.routing.complexity import TaskComplexityAnalyzer
from umi._learning.routing.model_tiers import RoutedLLM
from umi._learning.routing.router import RouteOptions, TierRouter

__all__ = ["RouteOptions", "RoutedLLM", "TaskComplexityAnalyzer", "TierRouter"]
