"""Tests of an adapter run in the environment of its framework, which `make adapters` makes. Elsewhere they are left out."""

from __future__ import annotations

import sys
from pathlib import Path

ADAPTERS = Path(__file__).parent / "adapters"
HERE = Path(sys.prefix).name  # build/adapters/NAME

collect_ignore = [str(one.parent) for one in ADAPTERS.glob("*/requirements.txt") if one.parent.name != HERE]
