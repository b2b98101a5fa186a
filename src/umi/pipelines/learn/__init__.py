"""Learning from outcomes (seed 003): trajectories, credit, factors, runs."""

from umi.pipelines.learn.learner import Learner
from umi.pipelines.learn.loader import IntelligenceLoader
from umi.pipelines.learn.weighing import Lessons

__all__ = ["IntelligenceLoader", "Learner", "Lessons"]
