"""The tests of autogen-core for `ListMemory`, on Umi."""

from __future__ import annotations

from adapter_kit import failures, run_reference

DIFFERENT = {
    "test_memory_component_load_config_from_base_model": "made from a configuration, which a connection is not",
    "test_memory_component_dump_config_to_base_model": "made into a configuration",
    "test_list_memory_update_context": "all memories where nobody asked: Umi gives what answers the user",
    "test_list_memory_content_types": "bytes",
}


def test_the_frameworks_own_tests_pass_but_for_what_is_listed() -> None:
    outcomes = run_reference("autogen", "autogen_core", "tests/test_memory.py")
    assert failures(outcomes) == DIFFERENT.keys()
    assert list(outcomes.values()).count("passed") == 4
