"""What `import umi` promises: its names, and that it is light."""

from __future__ import annotations

import ast
import enum
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import umi

# Adding a name is a decision, and so is taking one away: both are made here.
EXPORTED: list[str] = [
    "Activity",
    "ActivityDay",
    "BulkReceipt",
    "Change",
    "ChangeKind",
    "Clock",
    "Closed",
    "Completion",
    "CompletionRequest",
    "Config",
    "Context",
    "ContextItem",
    "ContextSection",
    "Degradation",
    "Derived",
    "DetectionOptions",
    "DetectionResult",
    "Detector",
    "Diagnosis",
    "DualRetriever",
    "EVOLUTION_TYPES",
    "EmbedderIdentity",
    "EmbedderMismatch",
    "EmbedderUnavailable",
    "EmbeddingError",
    "EmbeddingProvider",
    "Entity",
    "EntityExtractor",
    "EntityType",
    "EntityTypeLike",
    "Entropy",
    "Episode",
    "EpisodePage",
    "ErasureCheck",
    "ErasurePreview",
    "ErasureReceipt",
    "EvolutionError",
    "EvolutionRelation",
    "EvolutionTracker",
    "EvolutionType",
    "EvolutionTypeLike",
    "Explanation",
    "ExportDamaged",
    "ExportReceipt",
    "ExtractionResult",
    "Fact",
    "FeedbackReceipt",
    "FileLike",
    "FileSignalProvider",
    "Finding",
    "ForgetPreview",
    "HistoryCounts",
    "HistoryStep",
    "Hit",
    "HitState",
    "IdempotencyConflict",
    "IntelligenceLoader",
    "IntelligenceProvider",
    "InvalidInput",
    "InvalidOptions",
    "Keep",
    "LLMChoice",
    "LLMError",
    "LLMProvider",
    "LearnStatus",
    "Learning",
    "LeftOut",
    "LeftOutReason",
    "Lesson",
    "MaintainReceipt",
    "Memory",
    "Message",
    "MessageLike",
    "Mode",
    "Moment",
    "NamespaceInfo",
    "Nature",
    "NotFound",
    "Order",
    "Origin",
    "OriginLike",
    "OutboxItem",
    "Outcome",
    "OutcomeLike",
    "Page",
    "PeriodCounts",
    "PreviewOutdated",
    "Profile",
    "ProfileKind",
    "ProviderQualityWeights",
    "ProviderSignals",
    "QualityFactors",
    "QualitySignal",
    "Read",
    "ReaderNotes",
    "RecallReceipt",
    "Relation",
    "RelationCycle",
    "RememberReceipt",
    "RereadReceipt",
    "RestoreConflict",
    "RestoreReceipt",
    "Route",
    "RouteOptions",
    "Router",
    "RouterStatus",
    "RunReceipt",
    "SessionInfo",
    "SessionPage",
    "SignalError",
    "SignalFault",
    "StageHook",
    "StandingChange",
    "Stats",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "StoreVersion",
    "SystemClock",
    "SystemEntropy",
    "TaskComplexityAnalyzer",
    "UmiError",
    "Undecided",
    "UndecidedPage",
    "UndoPreview",
    "Usage",
    "VectorHit",
    "Verdict",
    "VerdictLike",
    "Where",
    "check_message",
    "diagnose",
    "observe_stages",
    "open_embedder",
    "open_llm",
    "reembed",
]
HEAVY = ("voyager", "onnxruntime", "tokenizers", "typer", "rich", "fastapi", "pydantic", "uvicorn", "mcp")


def test_the_public_names_are_frozen() -> None:
    assert sorted(umi.__all__) == EXPORTED


def test_every_public_name_is_there() -> None:
    assert [name for name in umi.__all__ if not hasattr(umi, name)] == []


def test_a_star_import_brings_only_public_names() -> None:
    brought: dict[str, object] = {}
    exec("from umi import *", brought)  # a star import is only legal at module level
    assert sorted(name for name in brought if name != "__builtins__") == sorted(umi.__all__)


def test_a_name_comes_from_where_type_checkers_see_it() -> None:
    tree = ast.parse(Path(umi.__file__).read_text("utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == umi._HOME_OF
    assert sorted(seen) == sorted(umi.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Memroy'"):
        umi.Memroy  # noqa: B018
    assert {"Memory", "errors"} <= set(dir(umi))


def test_import_umi_loads_nothing_that_is_not_used() -> None:
    loaded = _loaded_by("import umi")
    assert [name for name in loaded if name.split(".")[0] == "umi"] == ["umi"]
    assert "numpy" not in loaded
    used = _loaded_by("import umi; umi.Message('hi')")
    assert [name for name in used if name.startswith(("umi._", "umi.stores", "umi.providers"))] == []


# What computes on what it was given, or waits for nothing, and so raises nothing that a caller should expect.
RAISES_NOTHING = {
    "Clock.monotonic_s",
    "Clock.now",
    "Clock.sleep",
    "DualRetriever.rrf_merge",
    "Entropy.new_id",
    "Entropy.uniform",
    "EvolutionTracker.parse_response",  # an answer that is none is counted
    "IntelligenceLoader.load_all_signals",  # a provider that fails is in `errors`
    "IntelligenceLoader.load_grouped",
    "IntelligenceProvider.load_signals",  # a Protocol, and its users expect anything
    "IntelligenceProvider.quality_weights",
    "FileSignalProvider.quality_weights",
    "ReaderNotes.as_json",
    "ReaderNotes.words",
    "RecallReceipt.as_context",
    "Router.calibration_bias",
    "SystemClock.monotonic_s",
    "SystemClock.now",
    "SystemClock.sleep",
    "SystemEntropy.new_id",
    "SystemEntropy.new_secret",
    "SystemEntropy.uniform",
    "TaskComplexityAnalyzer.applied_bias",
    "TaskComplexityAnalyzer.calibrated",
    "TaskComplexityAnalyzer.calibration_bias",
    "observe_stages",
}


def public_functions() -> Iterator[tuple[str, Any]]:
    """Every function and method that `import umi` offers, by its name."""
    for name in umi.__all__:
        one = getattr(umi, name)
        if inspect.isfunction(one):
            yield name, one
        elif isinstance(one, type) and not issubclass(one, (enum.Enum, BaseException)):
            seen: set[str] = set()
            for base in one.__mro__:
                if not base.__module__.startswith("umi"):
                    continue
                for method, member in vars(base).items():
                    inner = getattr(member, "__func__", member)
                    if inspect.isfunction(inner) and not method.startswith("_") and method not in seen:
                        seen.add(method)
                        yield f"{name}.{method}", inner


def test_every_public_name_is_documented() -> None:
    kinds = [name for name in umi.__all__ if isinstance(getattr(umi, name), type)]
    assert [name for name in kinds if not (vars(getattr(umi, name)).get("__doc__") or "").strip()] == []
    assert [name for name, function in public_functions() if not inspect.getdoc(function)] == []


def test_every_public_function_says_what_it_raises() -> None:
    silent = {name for name, function in public_functions() if "Raises:" not in (inspect.getdoc(function) or "")}
    assert sorted(silent) == sorted(RAISES_NOTHING)


@pytest.mark.parametrize("library", HEAVY)
def test_import_umi_leaves_heavy_libraries_alone(library: str) -> None:
    assert library not in _loaded_by("import umi; umi.Memory")


def test_the_probe_sees_a_heavy_library() -> None:
    assert "rich" in _loaded_by("import umi, rich")


def _loaded_by(statement: str) -> list[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded: list[str] = json.loads(done.stdout)
    return loaded
