"""The value of a layer is the direction of its arrow, so the arrows are asserted rather than documented."""

from __future__ import annotations

import ast
from pathlib import Path

import house
import pytest

GROUND, PORTS, CLOCK, ADAPTER, SIM, PIPELINES, WIRING, ROOF, WORLD, BENCH, FACES = (
    "ground", "ports", "clock", "adapter", "sim", "pipelines", "wiring", "roof", "world", "bench", "faces",
)  # fmt: skip

# Rooms that are folders, and the single files with a place of their own; every other file beside them is ground.
FOLDERS = {
    "providers": ADAPTER,
    "stores": ADAPTER,
    "signals": ADAPTER,
    "pipelines": PIPELINES,
    "sim": SIM,
    "bench": BENCH,
    "faces": FACES,
}
FILES = {
    "umi": ROOF,
    "umi.ports": PORTS,
    "umi.clock": CLOCK,
    "umi.config": WIRING,
    "umi.copying": WIRING,
    "umi.build": WIRING,
    "umi.engine": WIRING,
    "umi.models": WIRING,
    "umi.reembed": WIRING,
    "umi.loopthread": WIRING,
    "umi.memory": WIRING,
    "umi.routing": WIRING,
    "umi.erasing": WIRING,
    "umi.working": WIRING,
    "umi.learning": WIRING,
    "umi.blocking": WIRING,
    **dict.fromkeys(
        (
            "umi.sim",
            *(f"umi.sim.{name}" for name in ("pytest_plugin", "report", "shrink", "sweep", "testing", "world")),
        ),
        WORLD,  # the part of the simulation that knows the facade
    ),
}
# Which rooms a room may import besides itself. An adapter's "itself" is its own folder: adapters never meet.
ARROWS = {
    GROUND: (),
    PORTS: (GROUND,),
    CLOCK: (GROUND, PORTS),
    ADAPTER: (GROUND, PORTS),
    SIM: (GROUND, PORTS, ADAPTER, PIPELINES),
    WORLD: (GROUND, PORTS, CLOCK, ADAPTER, PIPELINES, SIM, WIRING),
    PIPELINES: (GROUND, PORTS),
    WIRING: (GROUND, PORTS, CLOCK, ADAPTER, PIPELINES),
    ROOF: (GROUND, PORTS, CLOCK, ADAPTER, PIPELINES, WIRING),
    BENCH: (GROUND, PORTS, CLOCK, ADAPTER, PIPELINES, WIRING, ROOF, SIM, WORLD),
    FACES: (GROUND, PORTS, CLOCK, ADAPTER, PIPELINES, WIRING, ROOF, BENCH, SIM, WORLD),
}
# Libraries that only some rooms may know.
LIBRARIES = {
    "apsw": (ADAPTER, SIM, BENCH),
    "sqlite3": (),
    "onnxruntime": (ADAPTER,),
    "tokenizers": (ADAPTER,),
    "openai": (ADAPTER,),
    "anthropic": (ADAPTER,),
    "fastembed": (ADAPTER,),
    "voyager": (ADAPTER,),
    "httpx2": (ADAPTER, SIM),
    "typer": (FACES,),
    "click": (FACES,),
    "rich": (FACES,),
}
# Ground is pure: it neither reads nor writes nor waits.
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
        "urllib",
        "uuid",
    ]
)


def room(name: str) -> str:
    """The room of a module of ours."""
    if name in FILES:
        return FILES[name]
    parts = name.split(".")
    if len(parts) > 1 and parts[1] in FOLDERS:
        return FOLDERS[parts[1]]
    return GROUND


def neighbours(importer: str, imported: str) -> bool:
    """Whether two modules of one room may meet: always, but adapters only within their own folder."""
    return room(importer) != ADAPTER or importer.split(".")[1] == imported.split(".")[1]


def findings(modules: list[house.Module]) -> list[str]:
    """Every import that points the wrong way."""
    known = frozenset(module.name for module in modules)
    found = []
    for module in modules:
        own = room(module.name)
        for node, name in house.imports(module, known):
            if wrong := _verdict(module.name, own, name, known):
                found.append(f"{module.where(node)} {module.name} ({own}) imports {name}: {wrong}")
    return found


def _verdict(importer: str, own: str, name: str, known: frozenset[str]) -> str:
    top = name.split(".", maxsplit=1)[0]
    if name == "?":
        return "an import by a computed name cannot be checked"
    if top == "umi":
        if name not in known:
            return "no such module"
        target = room(name)
        if target == own:
            return "" if neighbours(importer, name) else "adapters never import each other"
        return "" if target in ARROWS[own] else f"{own} must not know {target}"
    if top in LIBRARIES and own not in LIBRARIES[top]:
        return f"only {LIBRARIES[top] or 'nobody'} may know {top}"
    return "ground is pure" if own == GROUND and top in IMPURE else ""


def test_every_arrow_points_one_way() -> None:
    assert findings(house.modules()) == []


def test_every_folder_is_a_room() -> None:
    folders = sorted(path.name for path in house.PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py")))
    assert [name for name in folders if name not in FOLDERS] == [], "give the new folder its place in FOLDERS"


def test_there_is_something_to_check() -> None:
    rooms = sorted({room(module.name) for module in house.modules()})
    assert {GROUND, PORTS, CLOCK, ADAPTER, PIPELINES, FACES} <= set(rooms)


@pytest.mark.parametrize(
    ("name", "source", "wrong"),
    [
        ("umi.text", "import umi.ports", "ground must not know ports"),
        ("umi.text", "def f():\n    from umi import ports", "ground must not know ports"),
        ("umi.text", "import os", "ground is pure"),
        ("umi.text", "import apsw", "may know apsw"),
        ("umi.stores.sqlite", "from umi.providers.local import x", "adapters never import each other"),
        ("umi.stores.sqlite", "from ..providers import local", "adapters never import each other"),
        ("umi.pipelines.recall", "from umi.stores import sqlite", "pipelines must not know adapter"),
        ("umi.pipelines.recall", "import importlib\nimportlib.import_module('umi.stores.sqlite')", "must not know"),
        ("umi.pipelines.recall", "from umi import Memory", "pipelines must not know roof"),
        ("umi.memory", "def f():\n    import umi.faces.cli", "wiring must not know faces"),
        ("umi.memory", "if x:\n    import rich.table", "may know rich"),
        ("umi.bench.speed", "import umi.faces.cli", "bench must not know faces"),
        ("umi.stores.sqlite", "import umi.nowhere", "no such module"),
        ("umi.stores.sqlite", "import sqlite3", "may know sqlite3"),
        ("umi.stores.sqlite", "import umi.sim.disk", "adapter must not know sim"),
        ("umi.pipelines.recall", "from umi.sim.disk import SimDisk", "pipelines must not know sim"),
        ("umi.sim.disk", "from umi import Memory", "sim must not know roof"),
        ("umi.stores.sqlite", "__import__(name)", "computed name"),
    ],
)
def test_a_wrong_arrow_is_seen(name: str, source: str, wrong: str) -> None:
    others = ["umi", "umi.ports", "umi.stores.sqlite", "umi.providers", "umi.providers.local", "umi.faces.cli"]
    others.append("umi.sim.disk")
    tree = [_module(other, "") for other in others if other != name] + [_module(name, source)]
    assert len(findings(tree)) == 1
    assert wrong in findings(tree)[0]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("umi.text", "from umi.limits import X\nimport re, numpy"),
        ("umi.stores.sqlite", "import apsw\nfrom umi.ports import Store\nfrom .index import Index"),
        ("umi.faces.cli.main", "import typer, umi\nfrom umi.stores import sqlite"),
    ],
)
def test_a_right_arrow_is_let_through(name: str, source: str) -> None:
    others = ["umi", "umi.limits", "umi.ports", "umi.stores", "umi.stores.sqlite", "umi.stores.index"]
    assert findings([*(_module(other, "") for other in others if other != name), _module(name, source)]) == []


def _module(name: str, source: str) -> house.Module:
    path = house.SRC / Path(*name.split(".")).with_suffix(".py")
    return house.Module(name, name.rpartition(".")[0], path, ast.parse(source))
