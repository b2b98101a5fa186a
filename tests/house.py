"""What the house tests share: the tree, its modules and their imports, read by `ast` and never imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"
PACKAGE = SRC / "umi"
LAB = ROOT / "lab" / "umi_lab"


@dataclass(frozen=True)
class Module:
    """One source file: `name` is dotted ("umi.faces.cli.main"), `package` is what a relative import counts from."""

    name: str
    package: str
    path: Path
    tree: ast.Module

    def where(self, node: ast.AST) -> str:
        return f"{self.path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def python_files(*folders: str) -> list[Path]:
    """Every Python file below the folders of the checkout, sorted."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def modules(package: Path = PACKAGE) -> list[Module]:
    """Every module of the package, parsed."""
    found = []
    for path in sorted(package.rglob("*.py")):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        found.append(Module(name, name if is_package else name.rpartition(".")[0], path, ast.parse(path.read_text())))
    return found


def imports(module: Module, known: frozenset[str]) -> Iterator[tuple[ast.AST, str]]:
    """Every module that this one imports, wherever in it: at the top, in a function, under TYPE_CHECKING, by string.

    `from umi import x` is `umi.x` when that is a module (`known`), else `umi` itself.
    """
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node)
            for alias in node.names:
                deeper = f"{base}.{alias.name}"
                yield node, deeper if deeper in known else base
        elif isinstance(node, ast.Call) and node.args and _callee(node) in {"import_module", "__import__"}:
            first = node.args[0]
            yield node, first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else "?"


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.package.split(".")
    base = parts[: len(parts) - (node.level - 1)]
    return ".".join([*base, node.module] if node.module else base)


def _callee(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""
