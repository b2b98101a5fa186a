"""Programs of mem0's documentation with the import swapped: at least 36 of 40 give the shape that is shown there."""

from __future__ import annotations

import ast
import inspect
import types
from pathlib import Path
from typing import Any

import house
import pytest
from adapters.mem0 import agents
from adapters.mem0.programs import PROGRAMS, Program

_NEEDED_COUNT = 36


async def names_of(program: str) -> dict[str, Any]:
    """Run a program with mem0's import swapped; the names that it leaves. Its memories are closed."""
    assert "from mem0 import " in program
    code = program.replace("from mem0 import ", "from umi.adapters.mem0 import ")
    names: dict[str, Any] = {}
    compiled = compile(code, "program", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    try:
        running = types.FunctionType(compiled, names)()
        if inspect.iscoroutine(running):
            await running
    finally:
        for one in names.values():
            if type(one).__name__ in {"Memory", "MemoryClient"}:
                one.close()
    return names


def wrong(value: Any, shape: Any, where: str = "shown") -> str:
    """How a value differs from a shape; empty when it does not."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return f"{where} is {value!r}"
        missing = [key for key in shape if key not in value]
        if missing:
            return f"{where} has no {missing[0]}"
        return next((found for key in shape if (found := wrong(value[key], shape[key], f"{where}.{key}"))), "")
    if isinstance(shape, list) and len(shape) == 1 and isinstance(shape[0], dict):
        if not isinstance(value, list) or not value:
            return f"{where} is {value!r}"
        return next((found for one in value if (found := wrong(one, shape[0], where))), "")
    if isinstance(shape, type) or (isinstance(shape, tuple) and all(isinstance(one, type) for one in shape)):
        return "" if isinstance(value, shape) else f"{where} is {value!r}"
    if isinstance(shape, tuple):
        pairs = zip(value, shape, strict=True)
        return next((found for one, part in pairs if (found := wrong(one, part, where))), "")
    return "" if value == shape else f"{where} is {value!r}"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.name)
async def test_a_program_gives_the_shape_that_is_shown(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = wrong((await names_of(program.code))["shown"], program.shape)
    if program.differs:
        assert found, "it gives the shape: `differs` can go"
    else:
        assert found == ""


async def test_a_companion_knows_what_changed_and_nobody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answers = (await names_of(agents.COMPANION))["answers"]
    assert answers[0] == "Tell me more."
    assert answers[2] == "I remember: - I left Acme and joined Bolt."
    assert answers[3] == "Tell me more.", "what one user said is not another's"


async def test_a_support_desk_with_tools_knows_what_changed_and_forgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answers = (await names_of(agents.SUPPORT))["answers"]
    assert answers[:2] == ["Saved.", "Saved."]
    assert "Vega 5" in answers[2]
    assert answers[3] == "Saved.", "after delete_all nothing is found"


def test_enough_of_them_do() -> None:
    assert len(PROGRAMS) == len({one.name for one in PROGRAMS}) == 40
    assert sum(not one.differs for one in PROGRAMS) >= _NEEDED_COUNT


def test_what_differs_is_written_down() -> None:
    page = (house.ROOT / "docs" / "mem0.md").read_text("utf-8")
    assert [one.name for one in PROGRAMS if one.differs and one.differs not in page] == []
