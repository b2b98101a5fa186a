"""The tests of Anthropic's library for its memory tools on local files, on Umi."""

from __future__ import annotations

from adapter_kit import failures, run_reference

DIFFERENT = {
    "test_mkdir_parents_not_world_writable_under_permissive_umask": "permissions of a folder: Umi has none",
    "test_validate_path_returns_resolved_path_not_symlink_target": "links, which only a disk has",
    "test_read_rejects_symlink_created_after_validation": "links",
    "test_read_rejects_file_replaced_with_symlink_before_open": "links",
    "test_view_rejects_directory_symlink_created_after_validation": "links",
    "test_symlink_validation_reject_symlink_pointing_outside_memories": "links",
    "test_view_lists_symlinks_only_when_they_stay_inside_memories": "links",
    "test_symlink_validation_reject_creating_files_through_symlink_pointing_outside": "links",
    "test_symlink_validation_reject_parent_directory_that_is_symlink_pointing_outside": "links",
    "test_view_error_for_files_with_too_many_lines": "a file of 5,000,000 bytes; Umi's have 1,000,000",
}


def test_the_frameworks_own_tests_pass_but_for_what_is_listed() -> None:
    file = "tests/lib/tools/memory_tools/test_filesystem.py"
    outcomes = run_reference("claude", "anthropic", "--noconftest", file)
    assert failures(outcomes) == DIFFERENT.keys()
    assert list(outcomes.values()).count("passed") == 72
