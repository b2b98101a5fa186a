"""Small faults of one kind each, such as `<` for `<=`: where they can be made in what Umi does, and a fair sample of them.

`ROOMS` is what simulated worlds run in their own process. Left out are faces, server, adapters and blocking calls, which stand in front
of it; `sim` and `bench`, which measure it; providers, PostgreSQL, and the reading of other products' files, which tests of their own run.

Left out, because no test could notice them: docstrings, annotations, decorators, what is written to the log, and the program's own
`check()`s, whose condition holds in a right program whatever they compare.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from umi.errors import InvalidInput
from umi.sim.rng import DeterministicRng

ROOMS: Final = (
    "stores",
    "_archive",
    "_core",
    "_engine",
    "_erasure",
    "_evolution",
    "_learning",
    "_reading",
    "_remember",
    "_retrieval",
    "ports",
    "types",
    "config.py",
    "errors.py",
    "limits.py",
    "memory.py",
)
_LEFT_OUT: Final = "stores/postgres"
IMPORT: Final = "(module)"  # the function of what runs when the module is imported

_COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ORDERED: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_COUNTED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}
_OTHER: Final = {"break": "continue", "continue": "break"}
_IDLE_FIELDS: Final = frozenset({"annotation", "returns", "decorator_list"})
_IDLE_CALLS: Final = frozenset({"check", "cast"})
_LOGS: Final = frozenset({"log", "logger"})
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)

Undo = Callable[[], None]
Change = Callable[[], Undo]
Names = tuple[str, ...]
Key = tuple[str, str, str, str, int]
Span = tuple[str, int, int]  # a file below the package, a first and a last line


@dataclass(frozen=True, slots=True)
class Place:
    """One change.

    `file` is below the package, `function` the name of what it lies in, `operator` the kind of change, `lines` the lines that run
    it (first, last), `before` and `after` what the code says and would say, `number` the change's place among those of the file,
    `twin` among those of the function that read the same.
    """

    file: str
    function: str
    operator: str
    lines: tuple[int, int]
    before: str
    after: str
    number: int
    twin: int = 0

    @property
    def key(self) -> Key:
        """What stays the same when lines move."""
        return self.file, self.function, self.before, self.after, self.twin


def places(source: str, file: str) -> list[Place]:
    """Every change that can be made in a module, in order."""
    found: list[Place] = []
    for number, (node, function, operator, change) in enumerate(_changes(ast.parse(source))):
        before = ast.unparse(node)
        undo = change()
        after = ast.unparse(node)
        undo()
        told = _short(before), _short(after) if after != before else _OTHER.get(before, "(left out)")
        twins = sum((one.function, one.before, one.after) == (function, *told) for one in found)
        found.append(Place(file, function, operator, _lines(node), *told, number, twins))
    return found


def mutated(source: str, *numbers: int) -> str:
    """The module with these changes made, each on its own lines: comments are lost, as in `plain`.

    Raises:
        InvalidInput: When there are fewer changes to make.
    """
    tree = ast.parse(source)
    changes = [change for *_, change in _changes(tree)]
    if max(numbers) >= len(changes):
        raise InvalidInput(f"there are fewer than {max(numbers) + 1} changes to make here")
    for number in numbers:
        changes[number]()
    return _text(tree)


def plain(source: str) -> str:
    """The module as `mutated` writes it, with nothing changed."""
    return _text(ast.parse(source))


def sample(sources: Mapping[str, str], count: int, seed: int) -> list[Place]:
    """Changes of some files, as many of each as it has lines to its share; the same ones for the same seed.

    Args:
        sources: Text by file name.
        count: How many; fewer when there are not as many.
        seed: Of the choice inside each file.
    """
    every = {file: places(source, file) for file, source in sorted(sources.items())}
    lines = {file: sources[file].count("\n") + 1 for file, found in every.items() if found}
    chosen: list[Place] = []
    for file, share in _shares(lines, count, {file: len(found) for file, found in every.items()}).items():
        DeterministicRng(seed).fork("operators").fork(file.replace("/", ".")).shuffle(every[file])
        chosen += every[file][:share]
    return chosen


def read_rooms(package: Path) -> dict[str, str]:
    """The text of every module that is changed, by its name below the package."""
    files = [file for room in ROOMS for file in _modules(package / room) if package / _LEFT_OUT not in file.parents]
    return {file.relative_to(package).as_posix(): file.read_text("utf-8") for file in files}


def _modules(room: Path) -> list[Path]:
    return [room] if room.suffix else sorted(room.rglob("*.py"))


def running(place: Place, sources: Mapping[str, str]) -> list[Span] | None:
    """The lines whose run depends on a change: its own, or, of a constant made at import, those that read it.

    Args:
        place: The change.
        sources: Text by file name, the same that the change was found in.

    Returns:
        None when that cannot be told from the text, as for a default in a class.
    """
    if place.function != IMPORT:
        return [(place.file, *place.lines)]
    trees = {file: ast.parse(source) for file, source in sources.items()}
    spans: list[Span] = []
    seen: list[str] = []
    todo = [
        (place.file, one) for one in trees[place.file].body if one.lineno <= place.lines[0] <= (one.end_lineno or 0)
    ]
    while todo:
        file, statement = todo.pop()
        if isinstance(statement, _FUNCTIONS):  # a default of it
            spans.append((file, statement.lineno, statement.end_lineno or statement.lineno))
            continue
        names = _bound(statement)
        if not names:
            return None
        for name in [name for name in names if name not in seen]:
            seen.append(name)
            for other, tree in trees.items():
                for line, reader in _reads(tree, name):
                    if reader is None:
                        spans.append((other, line, line))
                    else:
                        todo.append((other, reader))
    return spans


def _bound(statement: ast.stmt) -> list[str]:
    """The names that a statement gives a value, when it does only that."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _reads(tree: ast.Module, name: str) -> Iterator[tuple[int, ast.stmt | None]]:
    """Where a module reads a name: the line, and, when it does at import, the statement."""
    for statement in tree.body:
        for node, _, runs_later in _working(ast.Module([statement], []), (), runs_later=False):
            called = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if called == name and isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                yield node.lineno, None if runs_later else statement


def _shares(weights: Mapping[str, int], count: int, most: Mapping[str, int]) -> dict[str, int]:
    """`count` split by weight in whole numbers, none above its `most`; more to split takes from nobody (D'Hondt's method)."""
    given = dict.fromkeys(weights, 0)
    for _ in range(min(count, sum(most[name] for name in weights))):
        open_ = [name for name in weights if given[name] < most[name]]
        given[min(open_, key=lambda name: ((given[name] + 1) / weights[name], name))] += 1
    return given


def _changes(tree: ast.Module) -> Iterator[tuple[ast.AST, str, str, Change]]:
    """Every node that can be changed: what it lies in, the kind of change, and what makes it and gives back what undoes that."""
    for node, names, runs_later in _working(tree, (), runs_later=False):
        for operator, change in _of_node(tree, node):
            yield node, ".".join(names) if runs_later else IMPORT, operator, change


def _working(node: ast.AST, names: Names, *, runs_later: bool) -> Iterator[tuple[ast.AST, Names, bool]]:
    """The nodes below that do something a test could see: what they lie in, and whether that runs after the import."""
    for field, value in ast.iter_fields(node):
        if field in _IDLE_FIELDS:
            continue
        inside, later = names, runs_later
        if field == "body" and isinstance(node, (*_FUNCTIONS, ast.ClassDef)):  # defaults belong to what is around
            inside, later = (*names, node.name), runs_later or isinstance(node, _FUNCTIONS)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_idle(child):
                yield child, inside, later
                yield from _working(child, inside, runs_later=later)


def _is_idle(node: ast.AST) -> bool:
    """Text that stands alone, types for the checker only, the log, and checks of the program by itself."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _is_idle(node.value)
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    if isinstance(called, ast.Attribute):
        return isinstance(called.value, ast.Name) and called.value.id in _LOGS
    return isinstance(called, ast.Name) and called.id in _IDLE_CALLS


def _of_node(tree: ast.Module, node: ast.AST) -> Iterator[tuple[str, Change]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        kind = "boundary" if isinstance(node.ops[0], _ORDERED) else "comparison"
        yield kind, lambda: _put(node, "ops", [_COMPARED[type(node.ops[0])]()])
    elif isinstance(node, ast.BoolOp):
        yield "and/or", lambda: _put(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not", lambda: _put(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
    elif (
        isinstance(node, ast.BinOp) and type(node.op) in _COUNTED and not (_is_text(node.left) or _is_text(node.right))
    ):
        yield "arithmetic", lambda: _put(node, "op", _COUNTED[type(node.op)]())
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node)
    elif isinstance(node, ast.If | ast.IfExp | ast.While) and not _is_negated_elsewhere(node.test):
        yield "condition", lambda: _put(node, "test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Expr | ast.AugAssign):
        yield "statement", lambda: _swap(tree, node, ast.Pass())
    elif isinstance(node, ast.Continue | ast.Break):
        other = ast.Break() if isinstance(node, ast.Continue) else ast.Continue()
        yield "loop", lambda: _swap(tree, node, other)


def _of_constant(node: ast.Constant) -> Iterator[tuple[str, Change]]:
    value = node.value
    if isinstance(value, bool):
        yield "truth", lambda: _put(node, "value", not value)
    elif isinstance(value, int | float):
        yield "number", lambda: _put(node, "value", value + 1)


def _is_negated_elsewhere(test: ast.expr) -> bool:
    """Whether the change of the comparison, or of the `not`, negates the condition already."""
    if isinstance(test, ast.Compare):
        return len(test.ops) == 1 and not isinstance(test.ops[0], _ORDERED)
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _is_text(node: ast.expr) -> bool:
    """Whether arithmetic on it would end in a TypeError, which shows nothing."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _put(node: ast.AST, field: str, value: object) -> Undo:
    before = getattr(node, field)
    setattr(node, field, value)
    return lambda: setattr(node, field, before)


def _swap(tree: ast.Module, statement: ast.stmt, other: ast.stmt) -> Undo:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and statement in block:
                return _put(node, field, [other if one is statement else one for one in block])
    raise InvalidInput("a statement that lies in no block")


def _text(tree: ast.Module) -> str:
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _lines(node: ast.AST) -> tuple[int, int]:
    """The lines that run the changed part: of a whole `if`, those of its condition."""
    part = node.test if isinstance(node, ast.If | ast.While) else node
    if not isinstance(part, ast.expr | ast.stmt):
        raise TypeError(f"{part} has no line of its own")
    return part.lineno, part.end_lineno or part.lineno


def _short(text: str) -> str:
    return text.strip().splitlines()[0][:100]
