"""The tests of the OpenAI Agents SDK for `SQLiteSession`, on Umi."""

from __future__ import annotations

from adapter_kit import failures, run_reference

DIFFERENT = {
    name: reason
    for reason, names in {
        "its connections and locks": (
            "test_sqlite_session_close_closes_worker_thread_connections",
            "test_sqlite_session_reaps_connections_from_exited_worker_threads",
            "test_sqlite_session_closes_retired_connections_before_the_next_allocation",
            "test_sqlite_session_keeps_connections_of_live_worker_threads",
            "test_sqlite_session_file_lock_is_shared_across_instances",
            "test_sqlite_session_rollback_failure_evicts_connection",
            "test_sqlite_session_close_retries_quarantined_connection",
            "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome",
        ),
        "its tables, broken by hand": (
            "test_sqlite_session_pop_item_skips_corrupt_most_recent",
            "test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows",
            "test_sqlite_session_get_items_limit_skips_corrupt_newest_rows",
            "test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows",
            "test_sqlite_session_failed_add_items_releases_write_lock",
            "test_sqlite_session_failed_clear_session_rolls_back",
            "test_sqlite_session_failed_pop_item_releases_write_lock",
        ),
        "a closed session raises; with Umi the conversation goes on": (
            "test_sqlite_session_closed_rejects_empty_add_items",
        ),
    }.items()
    for name in names
}


def test_the_frameworks_own_tests_pass_but_for_what_is_listed() -> None:
    files = ("tests/memory/test_session.py", "tests/memory/test_session_limit.py")
    outcomes = run_reference("openai_agents", "openai_agents", *files)
    assert failures(outcomes) == DIFFERENT.keys()
    assert list(outcomes.values()).count("passed") == 48
