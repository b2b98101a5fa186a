"""Learning from outcomes (seed 003): trajectories, credit, factors, runs."""

from umi._learning.boosts import Lessons
from umi._learning.learner import Learner
from umi._learning.loader import IntelligenceLoader

__all__ = ["IntelligenceLoader", "Learner", "Lessons"]
