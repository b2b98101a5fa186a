"""Writes src/umi/blocking.py from the asynchronous facade: `python lab/tools/make_blocking.py`. A test holds the file to it."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

from umi import memory
from umi._engine import learning

TARGET = Path(__file__).resolve().parents[2] / "src" / "umi" / "blocking.py"
# What each class here is the twin of, in the order in which they are written.
TWINS: dict[str, tuple[ModuleType, type]] = {
    "Learning": (learning, learning.Learning),
    "Memory": (memory, memory.Memory),
}
SAID_OTHERWISE = {
    "`async with umi.Memory.open(": "`with umi.blocking.Memory.open(",
    "A memory to enter with `async with`, or to `await` and close by hand.": "An open memory, to leave with `with` or by `close`.",
    "Safe for concurrent tasks": "Safe for any number of threads",
}
HEAD = '''"""Umi without `await`: the same memory for scripts, notebooks and threads, also where an event loop is running already.

Each memory works in a thread of its own. Written by lab/tools/make_blocking.py from `umi.Memory`; change that, not this.
"""

from __future__ import annotations

{imports}

__all__ = ["Learning", "Memory"]
'''
LEARNING = """
    def __init__(self, twin: {module}.Learning, thread: LoopThread) -> None:
        self._twin = twin
        self._thread = thread
"""
MEMORY = """
    def __init__(self, twin: {module}.Memory, thread: LoopThread, *, is_view: bool = False) -> None:
        self._twin = twin
        self._thread = thread
        self._is_view = is_view

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
"""
ALWAYS = (
    "from collections.abc import Iterator",
    "from types import TracebackType",
    "from typing import Self",
    "from umi._core.loop_thread import LoopThread",
)


def spoken(doc: str) -> str:
    """A docstring as it is true here."""
    for before, after in SAID_OTHERWISE.items():
        doc = doc.replace(before, after)
    return doc


def methods(twin: type) -> list[tuple[str, Any]]:
    """The public methods and properties of a class, its own first, then those of its bases, as they stand."""
    found: dict[str, Any] = {}
    for base in twin.__mro__:
        if base.__module__.startswith("umi"):
            found |= {name: one for name, one in vars(base).items() if name not in found and not name.startswith("_")}
    return [(name, one) for name, one in found.items() if callable(one) or isinstance(one, classmethod | property)]


def function_of(one: Any) -> Any:
    return one.__func__ if isinstance(one, classmethod) else one.fget if isinstance(one, property) else one


def parsed(function: Any) -> ast.FunctionDef | ast.AsyncFunctionDef:
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise TypeError(f"{function} is no function")
    return node


def passed_on(arguments: ast.arguments) -> str:
    """The arguments of the call that hands everything on."""
    plain = [one.arg for one in arguments.args[1:]]
    named = [f"{one.arg}={one.arg}" for one in arguments.kwonlyargs]
    return ", ".join([*plain, *named])


def body(name: str, one: Any, node: ast.FunctionDef | ast.AsyncFunctionDef, module: str) -> str:
    call = f"self._twin.{name}({passed_on(node.args)})"
    if isinstance(one, classmethod):
        return (
            f"thread, twin = LoopThread.starting({module}.Memory.{name}({passed_on(node.args)}))\n"
            "return cls(twin, thread)"
        )
    if isinstance(one, property):
        return f"return {ast.unparse(node.returns)}(self._twin.{name}, self._thread)"  # type: ignore[arg-type]
    if name == "close":
        return f"if not self._is_view:\n    self._thread.end(self._twin.{name})"
    if inspect.isasyncgenfunction(one):
        return f"return self._thread.each({call})"
    if isinstance(node, ast.AsyncFunctionDef):
        return f"return self._thread.run({call})"
    return f"return type(self)({call}, self._thread, is_view=True)"


def method(name: str, one: Any, module: str) -> str:
    function = function_of(one)
    node = parsed(function)
    mark = "@classmethod\n" if isinstance(one, classmethod) else "@property\n" if isinstance(one, property) else ""
    returns = ast.unparse(node.returns)  # type: ignore[arg-type]
    returns = returns.removeprefix("Async") if inspect.isasyncgenfunction(function) else returns
    head = f"{mark}def {name}({ast.unparse(node.args)}) -> {returns}:"
    inside = textwrap.indent(body(name, one, node, module), "    ")
    return textwrap.indent(f"{head}\n{textwrap.indent(docstring(function), '    ')}{inside}\n", "    ")


def docstring(what: Any) -> str:
    said = spoken(inspect.getdoc(what) or "")
    return f'"""{said}\n"""\n' if "\n" in said else f'"""{said}"""\n'


def names_in(text: str) -> list[str]:
    """The names that a piece of source uses, in its annotations too."""
    return sorted({node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)})


def imports(classes: str, sources: list[ModuleType]) -> str:
    """The imports of the modules that the methods come from, as far as they are used here."""
    used, found = names_in(classes), dict.fromkeys(ALWAYS)
    for source in sources:
        for node in ast.parse(inspect.getsource(source)).body:
            if isinstance(node, ast.ImportFrom) and node.module != "__future__":
                for alias in node.names:
                    if alias.name in used and alias.name not in TWINS:
                        found[f"from {node.module} import {alias.name}"] = None
        defined = [name for name in used if name in vars(source) and name == "MessageLike"]
        found.update({f"from {source.__name__} import {name}": None for name in defined if source is memory})
    found.update(
        {"from {} import {}".format(*module.__name__.rpartition(".")[::2]): None for module, _ in TWINS.values()}
    )
    return "\n".join(found)


def tidy(source: str) -> str:
    """As the formatter and the import sorter leave it."""
    for arguments in (["check", "--quiet", "--select", "I,F401,F811,RUF022", "--fix"], ["format"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(TARGET), "-"]
        source = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    return source


def made() -> str:
    """The module's source."""
    classes, sources = "", []
    for name, (module, twin) in TWINS.items():
        short = module.__name__.rpartition(".")[2]
        classes += f"\n\nclass {name}:\n" + textwrap.indent(docstring(twin), "    ")
        classes += (MEMORY if name == "Memory" else LEARNING).format(module=short)
        for each, one in methods(twin):
            if name == "Learning" and each == "feedback":  # `Memory.feedback` is the way
                continue
            classes += "\n" + method(each, one, short)
        sources += [sys.modules[base.__module__] for base in twin.__mro__ if base.__module__.startswith("umi")]
    return tidy(HEAD.format(imports=imports(classes, sources)) + classes)


if __name__ == "__main__":
    TARGET.write_text(made(), "utf-8")
