"""The tests of CrewAI for its unified memory, on Umi. Most are about what CrewAI's has and Umi has not: scopes, a store, a model's analysis."""

from __future__ import annotations

from adapter_kit import run_reference


def test_those_of_the_frameworks_own_tests_pass_that_need_no_scopes() -> None:
    files = ("tests/memory/test_unified_memory.py", "tests/memory/test_memory_root_scope.py")
    outcomes = run_reference("crewai", "crewai", "--noconftest", *files)
    passed = sorted(name.rpartition("::")[2] for name, outcome in outcomes.items() if outcome == "passed")
    assert passed == []
