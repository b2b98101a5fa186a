"""Settings, records, names of parts and errors: what refuses its fields when it is made, or when it is read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

import umi
from umi import errors, limits
from umi._core import validate
from umi._core.text import subject_key
from umi.config import Config
from umi.sim import FaultConfig, FaultInjector, FaultType, SimConfig, SimEmbedder, SimLLM, Temper
from umi.sim import errors as sim_errors
from umi.sim._worlds import Settings
from umi.sim.clock import SimClock
from umi.sim.embedder import SimEmbedder as Embedder
from umi.sim.llm import Hostility
from umi.sim.rng import DeterministicRng
from umi.types import CompletionRequest, DetectionOptions, EntityType, Message, Mode, Origin, fault, quality
from umi.types.filters import labels_of
from umi.types.quality import completed, signal_from, weights_fault, worth_of
from umi_lab.worlds.recorded import refused_values as values
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.trying import asked, each, fields, refusal, tried
