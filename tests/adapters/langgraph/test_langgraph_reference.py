"""The tests of langgraph-checkpoint for `InMemoryStore`, on Umi."""

from __future__ import annotations

from adapter_kit import failures, run_reference

DIFFERENT = {
    "test_vector_store_initialization": "the attribute index_config: Umi has an embedder of its own",
    "test_embed_with_path": "scores that are equal to five digits, which are those of one embedder",
}


def test_the_frameworks_own_tests_pass_but_for_what_is_listed() -> None:
    outcomes = run_reference("langgraph", "langgraph_checkpoint", "tests/test_store.py")
    assert failures(outcomes) == DIFFERENT.keys()
    assert list(outcomes.values()).count("passed") == 84
