"""Learning from outcomes (seed 003): what recalls showed, how their tasks ended, and what that changes in later rankings."""

from umi._learning.boosts import Lessons
from umi._learning.learner import Learner
from umi._learning.loader import IntelligenceLoader, ProviderSignals

__all__ = ["IntelligenceLoader", "Learner", "Lessons", "ProviderSignals"]
