"""Which lines of a copy of the product run, and who runs them: its functions note it in memory that all processes of the copy share.

A function is cut into stretches: rows of statements that run one after the other, unless one of them raises. Each begins with a
mark, which costs some 50 ns. So a suite of tests takes hardly longer, and what a process that is killed had run is known as well.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from umi_lab.mutation.operators import IMPORT as AT_IMPORT
from umi_lab.mutation.operators import Place, Span, places, running
from umi_lab.mutation.ran import IMPORT

_MODULE: Final = "_marks"  # below the package of the copy
_NAME: Final = "_umi_marks"  # in each of its modules
_HEAD_COUNT: Final = 3  # statements of a module that its text and its `__future__` lie in
_BLOCKS: Final = ("body", "orelse", "finalbody")
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_BRANCHING: Final = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith, ast.Match)


class Marks:
    """The marks of a copy.

    Args:
        sources: Text of each module that is marked, by file below the package.
    """

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self._at: defaultdict[tuple[str, int], set[int]] = defaultdict(set)  # marks by file and line
        self._count = 0
        self._texts = {file: self._marked(ast.parse(source), file) for file, source in sorted(sources.items())}

    def texts(self, shared: Path) -> dict[str, str]:
        """The modules with their marks, and the one that they need, by file below the package. Makes the shared file.

        Args:
            shared: Where the marks are kept while programs run.
        """
        shared.write_bytes(bytes(max(self._count, 1)))
        opened = f"with open({str(shared)!r}, 'r+b') as file:\n    marks = mmap.mmap(file.fileno(), 0)\n"
        return {**self._texts, f"{_MODULE}.py": f"import mmap\n\n{opened}"}

    def on(self, spans: Iterable[Span]) -> set[int]:
        """The marks that stand for these lines."""
        lines = ((file, line) for file, first, last in spans for line in range(first, last + 1))
        return {mark for line in lines for mark in self._at.get(line, ())}

    def running(self, place: Place, ran: Mapping[str, Collection[int]]) -> list[str]:
        """Who runs a change, in order: of what a function does at import, everybody.

        Args:
            place: The change.
            ran: Marks by who runs them, and by `IMPORT`.
        """
        everybody = [name for name in ran if name != IMPORT]
        here = places(self._sources[place.file], place.file)[place.number]  # lines move where a module is written anew
        spans = running(here, self._sources)
        if spans is None:
            return everybody
        marks = self.on(spans)
        if place.function != AT_IMPORT and not marks.isdisjoint(ran.get(IMPORT, ())):
            return everybody
        return [name for name in everybody if not marks.isdisjoint(ran[name])]

    def _marked(self, tree: ast.Module, file: str) -> str:
        blocks = [one for inside in ast.walk(tree) if isinstance(inside, _FUNCTIONS) for one in _blocks(inside)]
        cut = [[(stretch, _lines(stretch)) for stretch in _stretches(block)] for block in blocks]
        for block, stretches in zip(blocks, cut, strict=True):
            block.clear()
            for stretch, lines in stretches:
                text = int(_is_text(stretch[0]))  # a docstring stays the first
                block += [*stretch[:text], _statement(f"{_NAME}[{self._count}] = 1"), *stretch[text:]]
                for line in lines:
                    self._at[file, line].add(self._count)
                self._count += 1
        at = sum(_is_text(one) or _is_future(one) for one in tree.body[:_HEAD_COUNT])
        tree.body.insert(at, _statement(f"from umi.{_MODULE} import marks as {_NAME}"))
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of a function, without those of functions and classes inside it."""
    for field in _BLOCKS:
        if block := getattr(node, field, None):
            yield block
            for statement in list(block):
                if not isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
                    yield from _blocks(statement)
    for inside in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
        yield from _blocks(inside)


def _stretches(block: Sequence[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """A block, cut behind each statement that may leave it on its way."""
    stretch: list[ast.stmt] = []
    for statement in block:
        stretch.append(statement)
        if isinstance(statement, _BRANCHING):
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _lines(stretch: Sequence[ast.stmt]) -> set[int]:
    """The lines of statements, without those that have marks of their own."""
    lines: set[int] = set()
    for statement in stretch:
        lines.update(_of(statement))
        for inside in _blocks(statement):
            lines.difference_update(*(_of(one) for one in inside))
    return lines


def _of(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
