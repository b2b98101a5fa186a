"""Whatever a public signature names can be imported from a public module, so that a caller can write its type down."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import importlib
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import umi
import umi.testing

# Where public names are: README and docs/reference.md name these modules.
PUBLIC = (
    "umi",
    "umi.blocking",
    "umi.config",
    "umi.errors",
    "umi.ports",
    "umi.signals",
    "umi.sim",
    "umi.testing",
    "umi.types",
)
# Made by `open` or by a memory, not by a caller.
NOT_CONSTRUCTED = {"Learning.__init__", "Memory.__init__", "Router.__init__", "World.__init__"}
# What the engine calls; `fast_search` and `deep_search` are the caller's.
NOT_CALLED = {"DualRetriever.search"}


@cache
def public_names() -> frozenset[str]:
    """Every name of the public modules."""
    modules = [importlib.import_module(name) for name in PUBLIC]
    return frozenset(name for module in modules for name in getattr(module, "__all__", vars(module)))


@cache
def own_names(module: str) -> frozenset[str]:
    """Names of a module that are Umi's: defined there, or imported from a module of Umi's."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(inspect.getsource(sys.modules[module]))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "umi":
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            # A type variable is no name that a caller writes.
            is_variable = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "TypeVar"
            found.update(ast.unparse(target) for target in node.targets if not is_variable)
    return frozenset(found)


def functions(one: Any) -> Iterator[tuple[str, Any]]:
    """The functions and the public methods, properties and constructor of a name."""
    if inspect.isfunction(one):
        yield one.__name__, one
    if not isinstance(one, type):
        return
    for base in one.__mro__:
        if base.__module__.split(".")[0] == "umi":
            for name, member in vars(base).items():
                inner = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
                if inspect.isfunction(inner) and (name == "__init__" or not name.startswith("_")):
                    yield f"{one.__name__}.{name}", inner


def annotations(one: Any) -> Iterator[tuple[str, str, str]]:
    """Where, in which module, and as which text something is annotated."""
    for where, function in functions(one):
        for text in function.__annotations__.values():
            yield where, function.__module__, str(text)
    if isinstance(one, type) and dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            if not field.name.startswith("_"):
                yield f"{one.__name__}.{field.name}", one.__module__, str(field.type)


def private_names(one: Any) -> list[str]:
    """Names in annotations that no public module has."""
    found = []
    for where, module, text in annotations(one):
        if where in NOT_CONSTRUCTED | NOT_CALLED or module.split(".")[0] != "umi":
            continue
        for node in ast.walk(ast.parse(text.strip("'\""))):
            name = node.id if isinstance(node, ast.Name) else ""
            if name in own_names(module) and name not in public_names() and not hasattr(builtins, name):
                found.append(f"{where}: {name}")
    return found


@pytest.mark.parametrize("name", sorted(umi.__all__))
def test_what_a_signature_names_is_public(name: str) -> None:
    assert private_names(getattr(umi, name)) == []


@pytest.mark.parametrize("name", ["umi.errors", "umi.signals", "umi.types"])
def test_the_other_public_modules_too(name: str) -> None:
    module = importlib.import_module(name)
    names = getattr(module, "__all__", None) or [one for one in vars(module) if not one.startswith("_")]
    assert [lost for one in names for lost in private_names(getattr(module, one))] == []


def test_the_names_for_testing_agents_too() -> None:
    assert private_names(umi.testing.World) == private_names(umi.testing.simulate) == []


def test_a_private_name_is_seen() -> None:
    from umi._engine.engine import Engine

    assert "Engine.__init__: Components" in private_names(Engine)
