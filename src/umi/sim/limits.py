"""Limits of the simulation (seed 002), units in their names."""

from __future__ import annotations

from typing import Final

from umi.invariants import check

LLM_LATENCY_MS_MIN: Final = 50
LLM_LATENCY_MS_MAX: Final = 2_000
LLM_LATENCY_MS_DEFAULT: Final = 100

check(LLM_LATENCY_MS_MIN <= LLM_LATENCY_MS_DEFAULT <= LLM_LATENCY_MS_MAX, "the default latency is a possible one")
