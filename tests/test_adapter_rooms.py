"""The room of adapters without any framework: `import umi` brings none, and what is missing is named with its extra."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import tomllib

import house
import pytest

from umi.adapters._shared import namespace_of, parts_of

PAGE = house.ROOT / "docs" / "adapters.md"
ROW = re.compile(r"^\| \[[^|]+\| `([a-z-]+)` \| ([a-z-]+) ([0-9.]+) \|", re.MULTILINE)
PACKAGE = re.compile(r"[\w-]+")
EXTRAS = {  # adapter: the extra, and a module of the framework
    "langgraph": ("langgraph", "langgraph.store.base"),
    "openai_agents": ("openai-agents", "agents"),
    "pydantic_ai": ("pydantic-ai", "pydantic_ai.capabilities"),
    "google_adk": ("google-adk", "google.adk"),
    "llama_index": ("llama-index", "llama_index.core"),
    "claude": ("claude", "anthropic.lib.tools"),
    "agent_framework": ("agent-framework", "agent_framework"),
    "autogen": ("autogen", "autogen_core"),
    "crewai": ("crewai", "crewai.memory.types"),
    "agno": ("agno", "agno.tools.toolkit"),
}


def test_importing_umi_and_the_room_brings_no_framework() -> None:
    code = "import sys, umi, umi.adapters; print(sorted(name for name in sys.modules if name.startswith('umi.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['umi.adapters']"


def test_a_framework_is_an_extra_and_no_part_of_the_core_install() -> None:
    project = tomllib.loads((house.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    frameworks = {PACKAGE.match(one)[0] for extra, _ in EXTRAS.values() for one in extras[extra]}  # type: ignore[index]
    assert len(frameworks) > len(EXTRAS)
    assert frameworks.isdisjoint(PACKAGE.match(one)[0] for one in project["dependencies"])  # type: ignore[index]


@pytest.mark.parametrize("adapter", sorted(EXTRAS))
def test_a_missing_framework_is_named_with_its_extra(adapter: str) -> None:
    extra, module = EXTRAS[adapter]
    # A module that is None in sys.modules cannot be imported, installed or not.
    code = f"import sys; sys.modules[{module!r}] = None; import umi.adapters.{adapter}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"pip install 'umi-memory[{extra}]'" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "parts", [("alice",), ("a/b", "c"), ("a", "b/c"), ("50%2F", "50/"), ("Zoë", "日本"), ("a b", "x@y.org")]
)
def test_an_identity_has_a_namespace_of_its_own(parts: tuple[str, ...]) -> None:
    assert parts_of(namespace_of(*parts)) == parts
    assert namespace_of(*parts).count("/") == len(parts) - 1


def test_the_page_names_each_adapter_with_the_version_that_is_tested() -> None:
    rows = ROW.findall(PAGE.read_text("utf-8"))
    assert sorted(extra for extra, *_ in rows) == sorted(extra for extra, _ in EXTRAS.values())
    for extra, package, version in rows:
        tested = house.ROOT / "tests" / "adapters" / extra.replace("-", "_") / "requirements.txt"
        assert f"{package}=={version}" in tested.read_text("utf-8").splitlines()


def test_what_the_page_shows_is_part_of_an_example_that_runs() -> None:
    shown = re.findall(r"```py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    examples = [(house.ROOT / "examples" / f"{name}_agent.py").read_text("utf-8") for name in EXTRAS]
    assert len(shown) == len(examples)
    for block in shown:
        as_written = [textwrap.indent(block, " " * depth) for depth in (0, 4, 8)]
        assert any(text in example for text in as_written for example in examples), block
