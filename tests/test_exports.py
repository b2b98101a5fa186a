"""What `import umi` promises: its names, and that it is light."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import umi

# Adding a name is a decision, and so is taking one away: both are made here.
EXPORTED: list[str] = [
    "BulkReceipt",
    "Clock",
    "Closed",
    "Completion",
    "CompletionRequest",
    "Config",
    "Degradation",
    "DetectionOptions",
    "DetectionResult",
    "Detector",
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
    "Entropy",
    "Episode",
    "ErasureCheck",
    "ErasurePreview",
    "ErasureReceipt",
    "EvolutionError",
    "EvolutionRelation",
    "EvolutionTracker",
    "EvolutionType",
    "Explanation",
    "ExportDamaged",
    "ExportReceipt",
    "ExtractionResult",
    "FeedbackReceipt",
    "FileSignalProvider",
    "HistoryStep",
    "Hit",
    "HitState",
    "IdempotencyConflict",
    "IntelligenceLoader",
    "IntelligenceProvider",
    "InvalidInput",
    "InvalidOptions",
    "LLMError",
    "LLMProvider",
    "LearnStatus",
    "Learning",
    "Lesson",
    "MaintainReceipt",
    "Memory",
    "Message",
    "Mode",
    "NamespaceInfo",
    "Nature",
    "NotFound",
    "OutboxItem",
    "Page",
    "ProviderQualityWeights",
    "QualityFactors",
    "QualitySignal",
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
    "SignalError",
    "SignalFault",
    "Stats",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "StoreVersion",
    "TaskComplexityAnalyzer",
    "UmiError",
    "Usage",
    "VectorHit",
    "check_message",
    "open_embedder",
    "open_llm",
    "reembed",
]
HEAVY = ("voyager", "onnxruntime", "tokenizers", "typer", "rich")


def test_the_public_names_are_frozen() -> None:
    assert sorted(umi.__all__) == EXPORTED


def test_every_public_name_is_there() -> None:
    assert [name for name in umi.__all__ if not hasattr(umi, name)] == []


def test_a_star_import_brings_only_public_names() -> None:
    brought: dict[str, object] = {}
    exec("from umi import *", brought)  # a star import is only legal at module level
    assert sorted(name for name in brought if name != "__builtins__") == sorted(umi.__all__)


@pytest.mark.parametrize("library", HEAVY)
def test_import_umi_leaves_heavy_libraries_alone(library: str) -> None:
    assert library not in _loaded_by("import umi")


def test_the_probe_sees_a_heavy_library() -> None:
    assert "rich" in _loaded_by("import umi, rich")


def _loaded_by(statement: str) -> list[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded: list[str] = json.loads(done.stdout)
    return loaded
