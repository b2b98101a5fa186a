"""The rules of style that no linter has: each takes a module and yields what is wrong with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import house

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
GENERATED = house.PACKAGE / "blocking.py"  # written by lab/tools/make_blocking.py, and read in umi.Memory
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
UNFINISHED = ("TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK")

CLOCK_FILE = "umi._core.clock"
CLOCK_MODULES = frozenset({"time", "random", "uuid", "secrets"})
CLOCK_CALLS = frozenset({"as_completed", "utcnow", "urandom", "default_rng"})

# Where a broad `except` may swallow: once per face, once where a user's own port is called, and in the simulated executor,
# which like every executor hands what a job raises to who waits for it; and around a simulated world, which is run to find what throws.
BROAD = frozenset({"Exception", "BaseException"})
BROAD_ALLOWED_COUNT = {
    "umi.faces.cli.main": 1,
    "umi.server.gate": 1,
    "umi._core.guard": 1,
    "umi.sim.loop": 1,
    "umi_lab.worlds.world": 1,
    "umi_lab.worlds.ledger.world": 1,
    "umi_lab.worlds.sweep": 1,
    "umi_lab.worlds.recorded.refused.trying": 2,  # whatever a call raises is taken down
}

# Calls whose answer does not depend on the order of what they are given.
ORDERLESS = frozenset({"sorted", "len", "min", "max", "any", "all", "set", "frozenset", "sum", "bool", "Counter"})
SET_CALLS = frozenset({"set", "frozenset"})
SET_NAMES = frozenset({"set", "frozenset", "Set", "AbstractSet", "MutableSet", "FrozenSet"})
SET_METHODS = frozenset({"union", "intersection", "difference", "symmetric_difference", "copy"})
ORDERED_READERS = frozenset({"list", "tuple", "enumerate", "iter", "next", "zip", "map", "filter", "join", "fromiter"})


def too_long(module: house.Module, text: str) -> Iterator[str]:
    """A file or function that does not fit in the head."""
    lines = text.count("\n")
    if lines > FILE_LINES_MAX and module.path != GENERATED:
        yield f"{module.where(module.tree)} has {lines} lines, {FILE_LINES_MAX} allowed"
    for node in ast.walk(module.tree):
        if isinstance(node, FUNCTIONS):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                yield f"{module.where(node)} {node.name} has {length} lines, {FUNCTION_LINES_MAX} allowed"


def unfinished(module: house.Module, text: str) -> Iterator[str]:
    """A note to oneself that was left behind."""
    for number, line in enumerate(text.splitlines(), 1):
        yield from (f"{module.path.relative_to(house.ROOT)}:{number} {word}" for word in UNFINISHED if word in line)


def prints(module: house.Module) -> Iterator[str]:
    """Only a face talks to a terminal."""
    if module.name.startswith("umi.faces"):
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield f"{module.where(node)} print"


def asserts(module: house.Module) -> Iterator[str]:
    """`assert` goes with `python -O`; `check()` stays."""
    yield from (f"{module.where(node)} assert" for node in ast.walk(module.tree) if isinstance(node, ast.Assert))


def clocks(module: house.Module) -> Iterator[str]:
    """Time, randomness and ids come from one file, so that a simulation can replace them."""
    if module.name == CLOCK_FILE:
        return
    for node, name in house.imports(module, frozenset()):
        if name.split(".")[0] in CLOCK_MODULES:
            yield f"{module.where(node)} imports {name}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and _is_clock(node):
            yield f"{module.where(node)} uses {ast.unparse(node)}"
        if isinstance(node, ast.ImportFrom):
            yield from (f"{module.where(node)} imports {a.name}" for a in node.names if a.name in CLOCK_CALLS)


def _is_clock(node: ast.Attribute) -> bool:
    owner = ast.unparse(node.value)
    if node.attr in {"now", "today"}:
        return owner.split(".")[-1] in {"datetime", "date"}
    return node.attr in CLOCK_CALLS or (owner in {"np", "numpy"} and node.attr == "random")


def broad_excepts(module: house.Module) -> Iterator[str]:
    """A handler that catches everything and does not raise it again hides bugs."""
    found = [node for node in ast.walk(module.tree) if isinstance(node, ast.ExceptHandler) and _swallows_all(node)]
    if len(found) > BROAD_ALLOWED_COUNT.get(module.name, 0):
        yield from (f"{module.where(node)} catches everything" for node in found)


def _swallows_all(node: ast.ExceptHandler) -> bool:
    last = node.body[-1]
    if isinstance(last, ast.Raise) and last.exc is None:
        return False
    if node.type is None:
        return True
    caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return any(ast.unparse(one).split(".")[-1] in BROAD for one in caught)


def unsorted_sets(module: house.Module) -> Iterator[str]:
    """A set's order differs from run to run (strings hash with a salt), so nothing may be read off it in order."""
    for scope in [module.tree, *(node for node in ast.walk(module.tree) if isinstance(node, FUNCTIONS))]:
        names = _set_names(scope)
        for node in _inside(scope):
            yield from (f"{module.where(bad)} reads a set in its own order" for bad in _ordered_reads(node, names))


def _inside(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, without those of the functions in it."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, FUNCTIONS):
            yield child
            yield from _inside(child)


def _set_names(scope: ast.AST) -> frozenset[str]:
    """Names that are a set wherever this scope binds them."""
    is_set: dict[str, bool] = {}
    if isinstance(scope, FUNCTIONS):
        arguments = scope.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            is_set[argument.arg] = _annotates_set(argument.annotation)
    for node in _inside(scope):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            is_set[node.target.id] = _annotates_set(node.annotation)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    is_set[target.id] = is_set.get(target.id, True) and _is_set(node.value, frozenset())
    return frozenset(name for name, yes in is_set.items() if yes)


def _annotates_set(annotation: ast.expr | None) -> bool:
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    return annotation is not None and ast.unparse(annotation).split(".")[-1] in SET_NAMES


def _is_set(node: ast.expr, names: frozenset[str]) -> bool:
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor):
        return _is_set(node.left, names) or (not isinstance(node.op, ast.Sub) and _is_set(node.right, names))
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            return node.func.id in SET_CALLS
        if isinstance(node.func, ast.Attribute):
            return node.func.attr in SET_METHODS and _is_set(node.func.value, names)
    return False


def _ordered_reads(node: ast.AST, names: frozenset[str]) -> Iterator[ast.AST]:
    if isinstance(node, ast.For | ast.AsyncFor) and _is_set(node.iter, names):
        yield node
    if isinstance(node, ast.ListComp | ast.DictComp) and not getattr(node, "orderless", False):
        yield from (node for generator in node.generators if _is_set(generator.iter, names))
    if isinstance(node, ast.Starred) and _is_set(node.value, names):
        yield node
    if isinstance(node, ast.Call):
        yield from _ordered_call(node, names)


def _ordered_call(node: ast.Call, names: frozenset[str]) -> Iterator[ast.AST]:
    callee = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    for argument in node.args:
        if callee in ORDERLESS:
            argument.orderless = True  # type: ignore[attr-defined] - ast nodes take marks
        elif isinstance(argument, ast.GeneratorExp):
            yield from (argument for generator in argument.generators if _is_set(generator.iter, names))
        elif callee in ORDERED_READERS and _is_set(argument, names):
            yield argument
