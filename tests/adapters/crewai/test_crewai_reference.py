"""The tests of CrewAI for its unified memory, on Umi. Most are about what CrewAI's has and Umi has not: scopes, a store, a model's analysis."""

from __future__ import annotations

from adapter_kit import run_reference

SAME = {
    "test_agent_kickoff_memory_recall_and_save",
    "test_crew_memory_instance_preserves_no_root_scope",
    "test_drain_writes_reports_background_save_failure_without_raising",
    "test_flow_recall_remember_with_memory",
    "test_leading_slash_always_present",
    "test_memory_analysis_llm_is_isolated_from_streaming_agent_llm",
    "test_memory_extract_memories_empty_content_returns_empty_list",
    "test_memory_scope_remember_recall",
    "test_memory_scope_slice",
    "test_memory_slice_recall",
    "test_old_memories_at_root_still_accessible",
    "test_recall_drains_pending_writes",
    "test_recall_without_root_scope_works_globally",
}


def test_those_of_the_frameworks_own_tests_pass_that_need_no_scopes() -> None:
    files = ("tests/memory/test_unified_memory.py", "tests/memory/test_memory_root_scope.py")
    outcomes = run_reference("crewai", "crewai", "--noconftest", *files)
    assert {name.rpartition("::")[2] for name, outcome in outcomes.items() if outcome == "passed"} == SAME
