"""Umi's own laboratory: benchmarks, simulated worlds, planted bugs. Not part of the product."""
