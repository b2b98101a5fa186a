"""The value of a layer is the direction of its arrow, so the arrows are asserted rather than documented."""

from __future__ import annotations

import ast
from pathlib import Path

import house
import pytest

# From the ground up: a room is a folder of `umi`, or one of its public files, and may import what stands below it.
FLOORS = (
    "addresses", "errors", "limits", "types", "ports", "config", "_core",
    "providers", "signals", "stores",
    "_reading", "_evolution", "_learning", "_remember", "_retrieval", "_erasure", "_archive",
    "_engine", "memory", "blocking", "umi", "_compat", "adapters", "sim", "testing", "pytest_plugin", "bench", "server", "faces", "__main__",
)  # fmt: skip
PUBLIC = frozenset({"umi", "addresses", "memory", "blocking", "config", "errors", "limits", "types", "ports"})
GROUND = frozenset({"addresses", "errors", "limits", "types", "ports", "config", "_core"})
ADAPTERS = frozenset({"providers", "signals", "stores"})
# What Umi does knows the ports, and no adapter behind them.
FLOWS = frozenset({"_reading", "_evolution", "_learning", "_remember", "_retrieval", "_erasure", "_archive"})
# A face shows what others can do: it stands on the public names, on sources of signals, and on what measures an install.
FACE_GROUND = PUBLIC | {"_compat", "signals", "bench", "server"}
# Libraries that only some rooms may know.
LIBRARIES = {
    "apsw": {"stores", "sim", "bench", "server", "faces"},
    "psycopg": {"stores", "bench", "faces"},
    "sqlite3": set[str](),
    "onnxruntime": {"providers"},
    "tokenizers": {"providers"},
    "openai": {"providers", "adapters"},
    "anthropic": {"providers", "adapters"},
    "fastembed": {"providers"},
    "voyager": {"providers"},
    "httpx2": {"providers", "sim", "server"},
    "jwt": {"server"},
    "typer": {"faces"},
    "click": {"faces"},
    "fastapi": {"server"},
    "starlette": {"server"},
    "pydantic": {"server", "adapters"},
    "uvicorn": {"server"},
    "mcp": {"server"},
    "mcp_types": {"server"},
    "opentelemetry": {"server"},
    "rich": {"faces"},
    "langgraph": {"adapters"},
    "langchain_core": {"adapters"},
    "agents": {"adapters"},
    "pydantic_ai": {"adapters"},
    "google": {"adapters"},
    "llama_index": {"adapters"},
    "agent_framework": {"adapters"},
    "autogen_core": {"adapters"},
    "crewai": {"adapters"},
    "agno": {"adapters"},
}
# What an adapter knows beside Umi and the standard library: its own framework.
FRAMEWORKS = {
    "langgraph": {"langgraph", "langchain_core"},
    "openai_agents": {"agents", "openai"},
    "pydantic_ai": {"pydantic_ai"},
    "claude": {"anthropic"},
    "google_adk": {"google"},
    "llama_index": {"llama_index"},
    "agent_framework": {"agent_framework"},
    "autogen": {"autogen_core"},
    "crewai": {"crewai", "pydantic"},
    "agno": {"agno"},
}
# Records, limits and what computes with them neither read nor write nor wait.
PURE = GROUND - {"_core"}
IMPURE = frozenset(
    [
        "asyncio",
        "ctypes",
        "fcntl",
        "http",
        "io",
        "logging",
        "mmap",
        "multiprocessing",
        "os",
        "pathlib",
        "queue",
        "random",
        "secrets",
        "select",
        "shutil",
        "signal",
        "socket",
        "sqlite3",
        "ssl",
        "subprocess",
        "sys",
        "tempfile",
        "time",
        "urllib.request",
        "uuid",
    ]
)


def room(name: str) -> str:
    """The room of a module of ours."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def findings(modules: list[house.Module]) -> list[str]:
    """Every import that points the wrong way."""
    known = frozenset(module.name for module in modules)
    found = []
    for module in modules:
        for node, name in house.imports(module, known):
            if wrong := _verdict(module.name, name, known):
                found.append(f"{module.where(node)} {module.name} imports {name}: {wrong}")
    return found


def _verdict(importer: str, name: str, known: frozenset[str]) -> str:
    own, top = room(importer), name.split(".", maxsplit=1)[0]
    if name == "?":
        # `umi` itself names the homes of its names twice, once for type checkers: tests/test_exports.py compares the two.
        return "" if own == "umi" else "an import by a computed name cannot be checked"
    if top == "umi_lab":
        return "the product does not know its laboratory"
    if top == "umi":
        return _arrow(own, room(name)) if name in known else "no such module"
    if top in LIBRARIES and own not in LIBRARIES[top]:
        return f"only {sorted(LIBRARIES[top]) or 'nobody'} may know {top}"
    if own == "adapters" and top in LIBRARIES and top not in FRAMEWORKS.get((*importer.split("."), "")[2], ()):
        return f"{importer} knows another framework than its own"
    return f"{own} is pure" if own in PURE and (top in IMPURE or name in IMPURE) else ""


def _arrow(own: str, target: str) -> str:
    if own == target:
        return ""
    if FLOORS.index(target) > FLOORS.index(own):
        return f"{target} stands above {own}"
    if own in ADAPTERS and target not in GROUND:
        return "adapters know the ports and each other not"
    if own in FLOWS and target in ADAPTERS:
        return "what Umi does knows no adapter"
    if own == "_compat" and target not in PUBLIC | {"_core"}:
        return "what the server and the adapters share knows public names only"
    if own in {"server", "adapters"} and target not in PUBLIC | {"_compat"}:
        return f"{own} knows public names only"
    return "a face knows public names only" if own == "faces" and target not in FACE_GROUND else ""


def circles(modules: list[house.Module]) -> list[list[str]]:
    """Files that import each other in a loop, each loop sorted (Tarjan's strongly connected components)."""
    known = frozenset(module.name for module in modules)
    arrows = {
        module.name: sorted({name for _, name in house.imports(module, known) if name in known and name != module.name})
        for module in modules
    }
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in arrows[name]:
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            loop = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            found.extend([sorted(loop)] if len(loop) > 1 else [])

    for name in arrows:
        if name not in number:
            visit(name)
    return found


def test_every_arrow_points_one_way() -> None:
    assert findings(house.modules()) == []


def test_no_two_files_import_each_other() -> None:
    assert circles(house.modules()) == []
    assert circles(house.modules(house.LAB)) == []


def test_every_room_has_its_floor() -> None:
    rooms = {room(module.name) for module in house.modules()}
    assert sorted(rooms) == sorted(FLOORS), "a new folder or file gets its place in FLOORS; an empty one goes"


def test_what_is_not_public_says_so_by_its_name() -> None:
    open_rooms = (
        PUBLIC | ADAPTERS | {"adapters", "sim", "testing", "pytest_plugin", "bench", "server", "faces", "__main__"}
    )
    assert [name for name in FLOORS if name not in open_rooms and not name.startswith("_")] == []


def test_documents_and_examples_use_public_names() -> None:
    known = frozenset(module.name for module in house.modules())
    found = []
    for path in sorted((house.ROOT / "tests" / "docs_src").rglob("*.py")):
        module = house.Module(path.stem, "", path, ast.parse(path.read_text()))
        private = [name for _, name in house.imports(module, known) if name.startswith("umi._")]
        found += [f"{path.name} imports {name}" for name in private]
    pages = [house.ROOT / "README.md", *sorted((house.ROOT / "docs").glob("*.md"))]
    found += [
        f"{page.name}: {line.strip()}"
        for page in pages
        for line in page.read_text("utf-8").splitlines()
        if line.lstrip().startswith(("from umi._", "import umi._"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("name", "source", "wrong"),
    [
        ("umi.types.records", "import umi.ports", "ports stands above types"),
        ("umi.types.records", "def f():\n    from umi import ports", "ports stands above types"),
        ("umi.types.records", "import os", "types is pure"),
        ("umi._core.text", "import apsw", "may know apsw"),
        ("umi.stores.sqlite.store", "from umi.providers.local import x", "adapters know the ports"),
        ("umi.stores.sqlite.store", "from ...providers import local", "adapters know the ports"),
        ("umi._retrieval.recall", "from umi.stores.sqlite import store", "knows no adapter"),
        (
            "umi._retrieval.recall",
            "import importlib\nimportlib.import_module('umi.stores.sqlite.store')",
            "knows no adapter",
        ),
        ("umi._retrieval.recall", "from umi import Memory", "umi stands above _retrieval"),
        ("umi._evolution.states", "from umi._retrieval import search", "_retrieval stands above _evolution"),
        ("umi.memory", "def f():\n    import umi.faces.cli", "faces stands above memory"),
        ("umi.memory", "if x:\n    import rich.table", "may know rich"),
        ("umi.memory", "from umi_lab.bench import state", "does not know its laboratory"),
        ("umi.bench.speed", "import umi.faces.cli", "faces stands above bench"),
        ("umi.faces.cli.main", "from umi._retrieval import search", "public names only"),
        ("umi.faces.cli.main", "from umi.stores.sqlite import store", "public names only"),
        ("umi.server.app", "from umi._retrieval import search", "public names only"),
        ("umi.adapters.claude", "from umi._retrieval import search", "public names only"),
        ("umi.adapters.claude", "import langgraph.store", "another framework"),
        ("umi.memory", "import fastapi", "may know fastapi"),
        ("umi.stores.sqlite.store", "import umi.nowhere", "no such module"),
        ("umi.stores.sqlite.store", "import sqlite3", "may know sqlite3"),
        ("umi.stores.sqlite.store", "import umi.sim.disk", "sim stands above stores"),
        ("umi.stores.sqlite.store", "__import__(name)", "computed name"),
    ],
)
def test_a_wrong_arrow_is_seen(name: str, source: str, wrong: str) -> None:
    others = ["umi", "umi.ports", "umi.stores.sqlite.store", "umi.providers", "umi.providers.local", "umi.faces.cli"]
    others += ["umi.sim.disk", "umi._retrieval.search"]
    tree = [_module(other, "") for other in others if other != name] + [_module(name, source)]
    assert len(findings(tree)) == 1
    assert wrong in findings(tree)[0]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("umi._core.text", "from umi.limits import X\nimport re, numpy"),
        ("umi.stores.sqlite.store", "import apsw\nfrom umi.ports import Store\nfrom ..index import search_index"),
        ("umi.faces.cli.main", "import typer, umi\nfrom umi.types import Entity"),
    ],
)
def test_a_right_arrow_is_let_through(name: str, source: str) -> None:
    others = [
        "umi",
        "umi.limits",
        "umi.types",
        "umi.ports",
        "umi.stores",
        "umi.stores.sqlite.store",
        "umi.stores.index.search_index",
    ]
    assert findings([*(_module(other, "") for other in others if other != name), _module(name, source)]) == []


def test_a_circle_is_seen() -> None:
    tree = [
        _module("umi._core.a", "from umi._core import b"),
        _module("umi._core.b", "def f():\n    import umi._core.c"),
        _module("umi._core.c", "from umi._core.a import x"),
        _module("umi._core.d", "from umi._core import a"),
    ]
    assert circles(tree) == [["umi._core.a", "umi._core.b", "umi._core.c"]]


def _module(name: str, source: str) -> house.Module:
    path = house.SRC / Path(*name.split(".")).with_suffix(".py")
    return house.Module(name, name.rpartition(".")[0], path, ast.parse(source))
