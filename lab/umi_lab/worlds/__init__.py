"""Simulated worlds of Umi itself: a plan, an oracle, checks, and the sweep over many seeds."""
