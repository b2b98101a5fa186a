"""Benchmarks of what Umi finds, concludes and learns."""
