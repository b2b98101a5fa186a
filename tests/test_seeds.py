"""Every name of the specification has its symbol here and a test that shows it, or waits for a capability by name.

Covered are evolution (000 and 001), the simulated model (002), intelligence providers (003) and dual retrieval (004). A name stands in exactly one of the
two tables. Where the specification's list of names lies beside the checkout, it is compared with them.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
from pathlib import Path
from typing import Any

import house
import pytest

LISTING = Path(os.environ.get("UMI_SEEDS", house.ROOT.parent / "shared" / "SEEDS.md"))
COVERED_SECTIONS = ("Evolution (000, 001)", "SimLLM (002)", "Dual retrieval (004)", "Intelligence providers (003)")

# The name there: the symbol here ("module:path"), and the test that shows it.
COVERED = {
    # Evolution: types.
    "EvolutionType": ("umi:EvolutionType", "test_change"),
    "EVOLUTION_TYPES": ("umi:EVOLUTION_TYPES", "test_evolution_types_are_the_four"),
    "EvolutionRelation": ("umi:EvolutionRelation", "test_change"),
    "DetectionOptions(min_confidence=0.3, max_comparisons=10)": ("umi:DetectionOptions", "test_seeds_defaults"),
    "DetectionResult(relation, llm_used)": ("umi:DetectionResult", "test_detect_update"),
    "EvolutionError.InvalidOptions": ("umi:EvolutionError.InvalidOptions", "test_options_out_of_bounds"),
    "existing=[]": ("umi:EvolutionTracker.detect", "test_nothing_to_compare_is_none"),
    "none": ("umi:EvolutionTracker.detect", "test_none_is_an_answer_and_not_a_failure"),
    "EVOLUTION_EXISTING_ENTITIES_COUNT_MAX = 10": (
        "umi.limits:EVOLUTION_EXISTING_ENTITIES_COUNT_MAX", "test_seeds_defaults",
    ),
    "EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT = 0.3": (
        "umi.limits:EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT", "test_seeds_defaults",
    ),
    # Evolution: the tracker.
    "EvolutionTracker.detect": ("umi:EvolutionTracker.detect", "test_detect_update"),
    "find_and_detect": ("umi:EvolutionTracker.find_and_detect", "test_find_and_detect_looks_in_the_store"),
    "parse_response(response, new_entity_id)": (
        "umi:EvolutionTracker.parse_response", "test_a_useless_answer_is_none_and_counted",
    ),
    "EVOLUTION_DETECTION_PROMPT": (
        "umi._reading.model.prompts:EVOLUTION_DETECTION_PROMPT",
        "test_the_prompt_offers_the_five_verdicts_and_delimits_what_is_not_ours",
    ),
    "{new_content}": ("umi._reading.model.prompts:EVOLUTION_DETECTION_PROMPT", "test_the_prompts_places_are_the_seeds"),
    "{existing_list}": ("umi._reading.model.prompts:EVOLUTION_DETECTION_PROMPT", "test_the_prompts_places_are_the_seeds"),
    "build_detection_prompt": (
        "umi._reading.model.prompts:build_detection_prompt",
        "test_the_prompt_offers_the_five_verdicts_and_delimits_what_is_not_ours",
    ),
    "test_detect_update": ("umi:EvolutionTracker", "test_detect_update"),
    'Entity(EntityType.PERSON, "Alice", "Works at Acme")': ("umi:Entity", "test_detect_update"),
    # Evolution: remember.
    "Memory.remember(track_evolution=True)": ("umi:Memory.remember", "test_change"),
    'entity.metadata["evolution"]': ("umi:Entity.metadata", "test_metadata_shows_the_strongest_relation"),
    "Entity(entity_type, name, content, *, id=None, ...)": ("umi:Entity", "test_an_entity_without_an_id_is_named_by_its_fields"),
    "EntityType": ("umi:EntityType", "test_entity_types_are_the_nine_and_unknown_is_a_note"),
    "EntityExtractor.extract(text) -> ExtractionResult(entities, relations)": (
        "umi:EntityExtractor.extract", "test_the_extractor_alone",
    ),
    # The simulated model.
    "SimLLM": ("umi.sim:SimLLM", "test_same_seed_same_answers_in_any_order_and_at_once"),
    "SimLLMProvider": ("umi.sim:SimLLMProvider", "test_the_seeds_other_name"),
    "complete(prompt or CompletionRequest) -> Completion(content, usage)": (
        "umi.sim:SimLLM.complete", "test_a_bare_prompt_is_routed_by_the_seeds_words",
    ),
    "complete_json(prompt, Model) -> Model": ("umi.sim:SimLLM.complete_json", "test_complete_json_gives_the_model_its_fields"),
    "complete(prompt)": ("umi.sim:SimLLM.complete", "test_a_bare_prompt_is_routed_by_the_seeds_words"),
    "task=": ("umi:CompletionRequest.task", "test_a_task_is_data_and_the_words_do_not_matter"),
    "Note_<hash>": ("umi.sim:SimLLM", "test_a_text_without_a_known_name_is_one_note"),
    "umi.LLMError": ("umi:LLMError", "test_every_fault_gives_its_error_and_then_passes"),
    "FaultType": ("umi.sim:FaultType", "test_every_fault_of_a_model_is_covered"),
    'FaultInjector.should_inject("llm_complete")': (
        "umi.sim:FaultInjector.should_inject", "test_every_fault_gives_its_error_and_then_passes",
    ),
    "LLM_PROMPT_BYTES_MAX": (
        "umi.limits:LLM_PROMPT_BYTES_MAX", "test_a_prompt_of_the_limit_passes_and_a_byte_more_overflows",
    ),
    "LLM_RESPONSE_BYTES_MAX": (
        "umi.limits:LLM_RESPONSE_BYTES_MAX", "test_the_answer_to_every_window_is_whole_and_within_the_limit",
    ),
    "LLM_LATENCY_MS_MIN/MAX/DEFAULT": ("umi.limits:LLM_LATENCY_MS_DEFAULT", "test_latency_is_virtual_and_within_its_bounds"),
    "SimEnvironment{config: SimConfig, clock: SimClock, rng: DeterministicRng, faults: FaultInjector, storage: SimStorage, "
    "vector, network: SimNetwork, embedder, llm}": ("umi.sim:SimEnvironment", "test_the_seeds_architecture"),
    # Dual retrieval.
    "DualRetriever(llm, embedder, vector, storage)": ("umi:DualRetriever", "test_recall_with_vector_search"),
    "fast_search": ("umi:DualRetriever.fast_search", "test_recall_with_vector_search"),
    "deep_search": ("umi:DualRetriever.deep_search", "test_recall_deep_search_vector"),
    "rrf_merge(lists, limit)": ("umi:DualRetriever.rrf_merge", "test_recall_rrf_with_vector"),
    "EmbeddingProvider.embed(text)": ("umi.ports:EmbeddingProvider.embed", "test_recall_embedding_fails"),
    "embed_many": ("umi.ports:EmbeddingProvider.embed_many", "test_an_embedder_that_answers_the_wrong_shape"),
    "VectorBackend.store(id, embedding)": (
        "umi.ports:VectorBackend.store", "test_vectors_by_id_of_an_entity_or_an_episode",
    ),
    "search(embedding, limit) -> [VectorHit(id, score)]": ("umi:VectorHit", "test_vectors_by_id_of_an_entity_or_an_episode"),
    "StorageBackend.store_entity, get_entity, search(query, limit), delete, list, count": (
        "umi.ports:StorageBackend.store_entity", "test_an_entity_made_by_hand_is_kept_found_and_deleted",
    ),
    "test_recall_with_vector_search": ("umi:DualRetriever", "test_recall_with_vector_search"),
    "..._vector_search_timeout": ("umi:DualRetriever", "test_recall_vector_search_timeout"),
    "..._embedding_fails": ("umi:DualRetriever", "test_recall_embedding_fails"),
    "..._vector_deterministic": ("umi:DualRetriever", "test_recall_vector_deterministic"),
    "..._mixed_vector_text": ("umi:DualRetriever", "test_recall_mixed_vector_text"),
    "..._deep_search_vector": ("umi:DualRetriever", "test_recall_deep_search_vector"),
    "..._rrf_with_vector": ("umi:DualRetriever", "test_recall_rrf_with_vector"),
    "..._vector_storage_partial_failure": ("umi:DualRetriever", "test_recall_vector_storage_partial_failure"),
    # Intelligence providers.
    "QualitySignal(id, task_description, outcome: success | partial_success | failure, quality_score 0..1, "
    "human_verdict: None | approved | rejected, quality_factors: QualityFactors | None, completed_at: ISO 8601 str, "
    "recall_id=None, task_id=None, decision_id=None)": ("umi:QualitySignal", "test_a_signal_has_the_seeds_fields"),
    "QualityFactors": ("umi:QualityFactors", "test_factors_count_only_where_assessed"),
    "IntelligenceProvider": ("umi:IntelligenceProvider", "test_the_loader_gathers_what_providers_give"),
    "name": ("umi:IntelligenceProvider.name", "test_a_name_that_is_none_or_taken_is_refused"),
    "load_signals()": ("umi:IntelligenceProvider.load_signals", "test_a_provider_that_fails_costs_its_own_signals_only"),
    "quality_weights() -> ProviderQualityWeights | None": (
        "umi:IntelligenceProvider.quality_weights", "test_the_loader_gathers_what_providers_give",
    ),
    "ProviderQualityWeights(task_completion=.5, code_quality=.3, process=.2)": (
        "umi:ProviderQualityWeights", "test_a_signal_has_the_seeds_fields",
    ),
    "FileSignalProvider(path=None)": ("umi:FileSignalProvider", "test_without_a_path_the_seeds_folders_are_read"),
    ".claude/intelligence/data/": ("umi.signals.files:DEFAULT_FOLDERS", "test_without_a_path_the_seeds_folders_are_read"),
    ".umi/intelligence/": ("umi.signals.files:DEFAULT_FOLDERS", "test_without_a_path_the_seeds_folders_are_read"),
    "IntelligenceLoader": ("umi:IntelligenceLoader", "test_the_loader_gathers_what_providers_give"),
    "register_provider": ("umi:IntelligenceLoader.register_provider", "test_a_name_that_is_none_or_taken_is_refused"),
    "provider_names": ("umi:IntelligenceLoader.provider_names", "test_the_loader_gathers_what_providers_give"),
    "provider_count": ("umi:IntelligenceLoader.provider_count", "test_the_loader_gathers_what_providers_give"),
    "load_all_signals() -> list": ("umi:IntelligenceLoader.load_all_signals", "test_the_loader_gathers_what_providers_give"),
    ".errors": ("umi:IntelligenceLoader.errors", "test_bad_signals_of_a_provider_are_told_with_their_place"),
    "load_grouped": ("umi:IntelligenceLoader.load_grouped", "test_the_loader_gathers_what_providers_give"),
    "TaskComplexityAnalyzer.calibration_bias()": (
        "umi._learning.routing.complexity:TaskComplexityAnalyzer.calibration_bias",
        "test_the_bias_is_what_was_predicted_less_what_was_actual",
    ),
    "Memory.open(..., intelligence=loader)": ("umi:Memory.open", "test_signals_find_their_recall_by_its_id_or_by_the_task"),
    "models": ("umi._engine.model_names:open_llm", "test_answers_are_valid_by_their_schema"),
    'pytest -m "not models"': ("umi.sim:SimEnvironment", "test_these_tests_need_no_more_than_the_core_install_and_no_network"),
}  # fmt: skip

POSTGRES = "the PostgreSQL store"

# Names that wait, and for what.
WAITING = {
    "PostgreSQL": POSTGRES,
}  # fmt: skip


def resolve(symbol: str) -> Any:
    """The object that "module:path" names; a dataclass field counts as an attribute of its class."""
    module, _, path = symbol.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, "__dataclass_fields__", {}).get(name) or getattr(found, name)
    return found


def every_test() -> set[str]:
    """The names of all test functions of the checkout."""
    trees = [ast.parse(path.read_text("utf-8")) for path in house.python_files("tests")]
    functions = [
        node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return {node.name for node in functions if node.name.startswith("test_")}


@pytest.mark.parametrize("name", COVERED)
def test_a_covered_name_has_its_symbol(name: str) -> None:
    assert resolve(COVERED[name][0]) is not None


def test_a_covered_name_has_a_test_that_exists() -> None:
    known = every_test()
    assert {name: test for name, (_, test) in COVERED.items() if test not in known} == {}


def test_no_name_stands_in_both_tables() -> None:
    assert set(COVERED) & set(WAITING) == set()


@pytest.mark.skipif(not LISTING.is_file(), reason="the specification's list of names is not beside the checkout")
def test_every_name_of_the_covered_sections_is_in_a_table() -> None:
    text = LISTING.read_text("utf-8")
    missing = []
    for title in COVERED_SECTIONS:
        section = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
        assert section, title
        names = re.findall(r"`([^`]+)`", section.replace("\n  ", " "))
        missing += [name for name in names if not _is_listed(name)]
    assert missing == []


def _is_listed(name: str) -> bool:
    known = {*COVERED, *WAITING}
    return name in known or any(name in longer for longer in known) or name in EXAMPLES


# Quoted texts, values and files of the list that name nothing.
EXAMPLES = {"Left Acme, now at StartupX", '"Left Acme, now at StartupX"', "LlmBackend", "Tokenizer"}


def test_seeds_defaults() -> None:
    from umi import DetectionOptions, limits

    assert DetectionOptions() == DetectionOptions(min_confidence=0.3, max_comparisons=10)
    assert limits.EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT == 0.3
    assert limits.EVOLUTION_EXISTING_ENTITIES_COUNT_MAX == 10
    assert limits.RRF_K == 60


def test_a_signal_has_the_seeds_fields() -> None:
    from dataclasses import fields

    from umi import ProviderQualityWeights, QualityFactors, QualitySignal
    from umi.types import Outcome, Verdict

    names = {field.name for field in fields(QualitySignal)}
    assert names == {
        "id", "task_description", "outcome", "quality_score", "human_verdict", "quality_factors", "completed_at",
        "recall_id", "task_id", "decision_id",
    }  # fmt: skip
    assert len(fields(QualityFactors)) == 9
    assert {getattr(QualityFactors(), field.name) for field in fields(QualityFactors)} == {None}
    assert ProviderQualityWeights() == ProviderQualityWeights(task_completion=0.5, code_quality=0.3, process=0.2)
    assert list(Outcome) == ["success", "partial_success", "failure"]
    assert list(Verdict) == ["approved", "rejected"]


def test_evolution_types_are_the_four() -> None:
    from umi import EVOLUTION_TYPES

    assert isinstance(EVOLUTION_TYPES, frozenset)
    assert sorted(EVOLUTION_TYPES) == ["contradict", "derive", "extend", "update"]


def test_the_prompts_places_are_the_seeds() -> None:
    from umi._reading.model.prompts import EVOLUTION_DETECTION_PROMPT

    for part in ("{new_content}", "{existing_list}", '"update"', '"extend"', '"derive"', '"contradict"', '"none"'):
        assert part in EVOLUTION_DETECTION_PROMPT


def test_an_entity_without_an_id_is_named_by_its_fields() -> None:
    from umi import Entity, EntityType

    one, same = (Entity(EntityType.PERSON, "Alice", "Works at Acme") for _ in range(2))
    assert one == same
    assert one.id == same.id != Entity(EntityType.PERSON, "Alice", "Works at Tata").id
    assert Entity(EntityType.PERSON, "Alice", "Works at Acme", id="mine").id == "mine"


def test_entity_types_are_the_nine_and_unknown_is_a_note() -> None:
    from umi import EntityType

    nine = ["person", "organization", "project", "topic", "location", "preference", "task", "event", "note"]
    assert [str(kind) for kind in EntityType] == nine
    assert EntityType.parse("Person") is EntityType.PERSON
    assert EntityType.parse("spaceship") is EntityType.NOTE


async def test_the_extractor_alone() -> None:
    from umi import EntityExtractor, ExtractionResult

    result = await EntityExtractor(None).extract("Alice works at Acme.")
    assert isinstance(result, ExtractionResult)
    assert [(entity.name, entity.slot, entity.value) for entity in result.entities] == [("Alice", "works_at", "Acme")]
    assert [(link.subject, link.predicate, link.object) for link in result.relations]


async def test_metadata_shows_the_strongest_relation(tmp_path: Path) -> None:
    import umi

    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        old = (await memory.remember("Alice works at Acme.")).entities[0]
        new = (await memory.remember("Alice left Acme and joined StartupX.")).entities[0]
        shown = await memory.get(new.id)
    assert isinstance(shown, umi.Entity)
    assert shown.metadata["evolution"]["type"] == "update"
    assert shown.metadata["evolution"]["related_id"] == old.id
    assert shown.metadata["evolution"]["reason"]
