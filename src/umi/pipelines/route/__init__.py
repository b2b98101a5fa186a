"""Routing tasks to tiers of models, and learning from how they went (seed 003)."""

from umi.pipelines.route.complexity import TaskComplexityAnalyzer
from umi.pipelines.route.own import RoutedLLM
from umi.pipelines.route.router import RouteOptions, TierRouter

__all__ = ["RouteOptions", "RoutedLLM", "TaskComplexityAnalyzer", "TierRouter"]
