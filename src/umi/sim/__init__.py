"""A world in virtual time, from one seed, to test agents and Umi itself in."""

from __future__ import annotations
