"""Simulated worlds that test Umi itself: plans, an oracle, checks, shrinking of failures, and sweeps over many seeds."""
