"""The room of adapters without any framework: `import umi` brings none, and what is missing is named with its extra."""

from __future__ import annotations

import subprocess
import sys

import pytest

from umi.adapters._shared import namespace_of, parts_of

EXTRAS = {  # adapter: the extra, and a module of the framework
    "langgraph": ("langgraph", "langgraph.store.base"),
    "openai_agents": ("openai-agents", "agents"),
    "pydantic_ai": ("pydantic-ai", "pydantic_ai.capabilities"),
    "google_adk": ("google-adk", "google.adk"),
    "llama_index": ("llama-index", "llama_index.core"),
    "claude": ("claude", "anthropic.lib.tools"),
}


def test_importing_umi_and_the_room_brings_no_framework() -> None:
    code = "import sys, umi, umi.adapters; print(sorted(name for name in sys.modules if name.startswith('umi.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['umi.adapters']"


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
