"""Anthropic's memory tool on Umi: every answer as the library's own tool for local files gives it, and what Umi adds."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from adapter_kit import ANSWERS, run_example
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import umi
import umi.blocking
from umi.adapters.claude import AsyncUmiMemoryTool, UmiMemoryTool

SEQUENCES = int(os.environ.get("UMI_ADAPTER_SEQUENCES", "100"))
NOTES = "/memories/notes.txt"


@pytest.fixture
def memory() -> Iterator[umi.blocking.Memory]:
    with umi.blocking.Memory.open(":memory:", embedder=None) as opened:
        yield opened


@pytest.fixture
def tool(memory: umi.blocking.Memory) -> UmiMemoryTool:
    return UmiMemoryTool(memory)


def answer(tool: Any, **command: Any) -> str:
    """What a model is told; a refusal begins with "refused: "."""
    try:
        return str(tool.call(command))
    except ToolError as error:
        return f"refused: {error.content}"


def test_told_changed_and_known_right_by_the_runner(tmp_path: Path) -> None:
    assert run_example("claude", tmp_path) == ANSWERS


def test_the_answers_of_all_commands(tool: UmiMemoryTool) -> None:
    assert (
        answer(tool, command="create", path=NOTES, file_text="one\ntwo\ntwo\n")
        == f"File created successfully at: {NOTES}"
    )
    assert answer(tool, command="view", path=NOTES) == (
        f"Here's the content of {NOTES} with line numbers:\n     1\tone\n     2\ttwo\n     3\ttwo\n     4\t"
    )
    assert answer(tool, command="view", path=NOTES, view_range=[2, 3]).splitlines()[1:] == [
        "     2\ttwo",
        "     3\ttwo",
    ]
    assert answer(tool, command="view", path=NOTES, view_range=[3, -1]).splitlines()[1] == "     3\ttwo"
    assert answer(tool, command="str_replace", path=NOTES, old_str="one", new_str="1") == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     1\t1\n     2\ttwo\n     3\ttwo"
    )
    assert (
        answer(tool, command="insert", path=NOTES, insert_line=0, insert_text="zero\n")
        == f"The file {NOTES} has been edited."
    )
    assert answer(tool, command="rename", old_path=NOTES, new_path="/memories/a/n.txt") == (
        f"Successfully renamed {NOTES} to /memories/a/n.txt"
    )
    assert answer(tool, command="view", path="/memories") == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n"
        "15B\t/memories\n15B\t/memories/a/\n15B\t/memories/a/n.txt"
    )
    assert answer(tool, command="delete", path="/memories/a") == "Successfully deleted /memories/a"
    assert tool.clear_all_memory() == "All memory cleared"


REFUSED = [
    ({"command": "view", "path": "/memories/x"}, "The path /memories/x does not exist. Please provide a valid path."),
    ({"command": "view", "path": "/etc/passwd"}, "Path must start with /memories, got: /etc/passwd"),
    ({"command": "view", "path": "/memories/../x"}, "Path /memories/../x would escape /memories directory"),
    ({"command": "create", "path": NOTES, "file_text": "x"}, f"File {NOTES} already exists"),
    (
        {"command": "str_replace", "path": "/memories/x", "old_str": "a", "new_str": "b"},
        "The path /memories/x does not exist. Please provide a valid path.",
    ),
    (
        {"command": "str_replace", "path": "/memories/d", "old_str": "a", "new_str": "b"},
        "The path /memories/d is not a file.",
    ),
    (
        {"command": "str_replace", "path": NOTES, "old_str": "seven", "new_str": "b"},
        f"No replacement was performed, old_str `seven` did not appear verbatim in {NOTES}.",
    ),
    (
        {"command": "str_replace", "path": NOTES, "old_str": "two", "new_str": "b"},
        "No replacement was performed. Multiple occurrences of old_str `two` in lines: 2, 3. Please ensure it is unique",
    ),
    (
        {"command": "insert", "path": "/memories/x", "insert_line": 0, "insert_text": "a"},
        "The path /memories/x does not exist. Please provide a valid path.",
    ),
    (
        {"command": "insert", "path": "/memories/d", "insert_line": 0, "insert_text": "a"},
        "The path /memories/d is not a file.",
    ),
    (
        {"command": "insert", "path": NOTES, "insert_line": 4, "insert_text": "a"},
        "Invalid `insert_line` parameter: 4. It should be within the range [0, 3].",
    ),
    (
        {"command": "insert", "path": NOTES, "insert_line": -1, "insert_text": "a"},
        "Invalid `insert_line` parameter: -1. It should be within the range [0, 3].",
    ),
    ({"command": "delete", "path": "/memories/x"}, "The path /memories/x does not exist"),
    ({"command": "delete", "path": "/memories"}, "Cannot delete the /memories directory itself"),
    (
        {"command": "rename", "old_path": "/memories/x", "new_path": "/memories/y"},
        "The path /memories/x does not exist",
    ),
    (
        {"command": "rename", "old_path": "/memories", "new_path": "/memories/y"},
        "Cannot rename the /memories directory itself",
    ),
    (
        {"command": "rename", "old_path": NOTES, "new_path": "/memories/d/e.txt"},
        "The destination /memories/d/e.txt already exists",
    ),
]


@pytest.mark.parametrize(("command", "told"), REFUSED)
def test_what_is_refused_is_told_in_the_words_of_anthropics_tool(
    tool: UmiMemoryTool, tmp_path: Path, command: dict[str, Any], told: str
) -> None:
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for one in (tool, theirs):
        answer(one, command="create", path=NOTES, file_text="one\ntwo\ntwo\n")
        answer(one, command="create", path="/memories/d/e.txt", file_text="x")
        assert answer(one, **command) == f"refused: {told}"


def test_a_file_with_too_many_lines_is_not_shown(tool: UmiMemoryTool) -> None:
    answer(tool, command="create", path=NOTES, file_text="x" + "\n" * 999_999)
    assert (
        answer(tool, command="view", path=NOTES)
        == f"refused: File {NOTES} exceeds maximum line limit of 999,999 lines."
    )


PATHS = st.sampled_from(
    ["/memories/a", "/memories/b.txt", "/memories/d/c.txt", "/memories/d/e/f.txt", "/memories/.h/x", "/memories/d"]
)
TEXTS = st.sampled_from(["", "one\n", "one\ntwo", "two\none\none\n", "\n", " ", "Zoë\r\ntwo"])
PARTS = st.sampled_from(["one", "two", "one\n", "x", "\n"])
COMMANDS = st.one_of(
    st.fixed_dictionaries({"command": st.just("view"), "path": PATHS | st.just("/memories")}),
    st.fixed_dictionaries(
        {"command": st.just("view"), "path": PATHS, "view_range": st.sampled_from([[1, 2], [2, -1], [0, 9], [3, 1]])}
    ),
    st.fixed_dictionaries({"command": st.just("create"), "path": PATHS, "file_text": TEXTS}),
    st.fixed_dictionaries({"command": st.just("create"), "path": PATHS, "file_text": TEXTS}),
    st.fixed_dictionaries({"command": st.just("str_replace"), "path": PATHS, "old_str": PARTS, "new_str": PARTS}),
    st.fixed_dictionaries(
        {"command": st.just("insert"), "path": PATHS, "insert_line": st.integers(-1, 4), "insert_text": TEXTS}
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": PATHS}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": PATHS, "new_path": PATHS}),
)


def without_sizes_of_directories(told: str) -> str:
    """A directory takes up what its file system says; here it is as large as its files."""
    return re.sub(r"^\S+\t(/memories\S*/|/memories|/memories/\S+)$", lambda found: found[1], told, flags=re.MULTILINE)


class AmbiguousError(Exception):
    """A sequence whose outcome depends on what only a file system has: empty directories, or a file used as a directory."""


def checked(theirs: BetaLocalFilesystemMemoryTool, command: dict[str, Any]) -> str:
    try:
        told = answer(theirs, **command)
    except OSError as error:  # the library does not catch these
        raise AmbiguousError from error
    root = theirs.memory_root
    # An empty directory stays in a file system; `os.walk` finds them.
    for folder, folders, files in os.walk(root, topdown=False):
        if Path(folder) != root and not folders and not files:
            raise AmbiguousError
    return told


@settings(max_examples=SEQUENCES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=SEQUENCES <= 100)
@given(st.lists(COMMANDS, min_size=1, max_size=10))
@pytest.mark.timeout(0)
def test_a_sequence_of_commands_is_answered_as_by_the_librarys_own_tool(
    tmp_path_factory: pytest.TempPathFactory, commands: list[dict[str, Any]]
) -> None:
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path_factory.mktemp("files")))
    with umi.blocking.Memory.open(":memory:", embedder=None) as memory:
        ours = UmiMemoryTool(memory)
        for command in commands:
            try:
                expected = checked(theirs, command)
            except AmbiguousError:
                return
            told = answer(ours, **command)
            assert without_sizes_of_directories(told) == without_sizes_of_directories(expected)


def test_an_edited_file_keeps_its_history_and_recall_answers_from_the_newest(memory: umi.blocking.Memory) -> None:
    tool = UmiMemoryTool(memory, namespace="alice")
    answer(tool, command="create", path=NOTES, file_text="I work at Acme.\n")
    answer(
        tool, command="str_replace", path=NOTES, old_str="I work at Acme.", new_str="I left Acme and joined StartupX."
    )
    answer(tool, command="rename", old_path=NOTES, new_path="/memories/work.txt")
    alice = memory.switch("alice")
    steps = alice.list().items
    assert [str(step.state) for step in steps] == ["superseded", "superseded", "current"]
    assert [hit.content for hit in alice.recall("Where do I work?").hits] == ["I left Acme and joined StartupX.\n"]
    answer(tool, command="delete", path="/memories/work.txt")
    assert alice.episodes().items == ()  # a deleted file is gone with its history


def test_two_users_do_not_see_each_other(memory: umi.blocking.Memory) -> None:
    alice, bob = UmiMemoryTool(memory, namespace="alice"), UmiMemoryTool(memory, namespace="bob")
    answer(alice, command="create", path=NOTES, file_text="a secret")
    assert "notes" not in answer(bob, command="view", path="/memories")
    assert answer(bob, command="view", path=NOTES).startswith("refused: The path")
    bob.clear_all_memory()
    assert "a secret" in answer(alice, command="view", path=NOTES)


def test_files_outlive_the_process(tmp_path: Path) -> None:
    for _ in range(2):
        with umi.blocking.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
            answer(UmiMemoryTool(memory), command="create", path=NOTES, file_text="kept")
            assert "kept" in answer(UmiMemoryTool(memory), command="view", path=NOTES)


def test_limits_are_told_to_the_model(tool: UmiMemoryTool) -> None:
    told = answer(tool, command="create", path=NOTES, file_text="x" * 1_000_001)
    assert told == "refused: content has 1,000,001 bytes, the limit is 1,000,000; split it"
    assert "refused" in answer(tool, command="view", path=NOTES)
    assert "256" in answer(tool, command="create", path="/memories/" + "x" * 300, file_text="x")


def test_a_memory_that_fails_is_told_to_the_model_and_logged(
    memory: umi.blocking.Memory, tool: UmiMemoryTool, caplog: pytest.LogCaptureFixture
) -> None:
    memory.close()
    with caplog.at_level(logging.WARNING, logger="umi"):
        assert answer(tool, command="view", path="/memories") == (
            "refused: The memory is not available now. Go on without it."
        )
    assert "the memory tool" in caplog.text


async def test_the_tool_for_the_asynchronous_client() -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        tool = AsyncUmiMemoryTool(memory, cache_control={"type": "ephemeral"})
        assert tool.to_dict() == {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
        await tool.call({"command": "create", "path": NOTES, "file_text": "x"})
        with pytest.raises(ToolError, match="already exists"):
            await tool.call({"command": "create", "path": NOTES, "file_text": "x"})
        # And the twin that blocks, in another thread.
        assert "notes.txt" in await asyncio.to_thread(
            UmiMemoryTool(memory).call, {"command": "view", "path": "/memories"}
        )
        assert await tool.clear_all_memory() == "All memory cleared"
