"""Writes docs/reference.md from the docstrings of what `import umi` offers: `python lab/tools/make_reference.py`. A test holds it to them."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import umi
import umi.blocking
import umi.errors
from umi import memory
from umi._core import stages
from umi._engine import files, model_names
from umi.types import choices, moment

TARGET = Path(__file__).resolve().parents[2] / "docs" / "reference.md"
HEAD = """# Reference

Everything that `import umi` offers, from the docstrings. Written by lab/tools/make_reference.py; change those, not this.

`umi.blocking.Memory` has the same methods without `await`. What a signature names and is not here is in `umi.ports` or `umi.types`. [Limits](limits.md) has every bound by its name, [the command line](cli.md)
every command.
"""
SECTION = re.compile(r"^(Args|Returns|Raises):$")
ENTRY = re.compile(r"^ {4}(\w[\w. ]*(?:\([^)]*\))?): (.*)$")
ALIASED_IN = (choices, files, memory, model_names, moment, stages)
FIRST = ("Memory", "Message", "Config")


def names() -> list[str]:
    """What is documented, the facade first, errors last."""
    rest = sorted(set(umi.__all__) - set(FIRST), key=lambda name: (is_error(name), name.lower()))
    return [*FIRST, *rest]


def is_error(name: str) -> bool:
    one = getattr(umi, name)
    return isinstance(one, type) and issubclass(one, Exception)


def signature(name: str, function: Any) -> str:
    """A call as one would write it, without types, which the text says in words."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return name
    kept = [one for one in found.parameters.values() if one.name not in {"self", "cls"}]
    said = []
    for one in kept:
        if one.kind is one.KEYWORD_ONLY and "*" not in said and not any(s.startswith("*") for s in said):
            said.append("*")
        mark = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        shown = re.sub(r" at 0x[0-9a-f]+", "", repr(one.default))
        said.append(f"{mark}{one.name}" if one.default is one.empty else f"{one.name}={_short(one.default, shown)}")
    return f"{name}({', '.join(said)})"


def _short(value: Any, shown: str) -> str:
    return f"{type(value).__name__}.{value.name}" if isinstance(value, enum.Enum) else "..." if "<" in shown else shown


def spelled(alias: Any) -> str:
    """A type alias as one writes it, without the modules of its parts."""
    plain = re.sub(r"\b(?:\w+\.)+(?=\w)", "", str(alias))
    # `Union[A, Literal[...]]`, which is how the standard library shows one with a literal in it.
    return re.sub(r"^Union\[(\w+), (.*)\]$", r"\1 | \2", plain)


def aliases() -> dict[str, str]:
    """The type aliases, each with the string below it."""
    found = {}
    for module in ALIASED_IN:
        body = ast.parse(inspect.getsource(module)).body
        for alias, said in pairwise(body):
            if isinstance(alias, ast.Assign) and isinstance(said, ast.Expr) and isinstance(said.value, ast.Constant):
                found[ast.unparse(alias.targets[0])] = str(said.value.value)
    return found


def prose(doc: str) -> Iterator[str]:
    """A docstring as Markdown: its sections become lists."""
    inside = False
    for line in doc.splitlines():
        if found := SECTION.match(line):
            inside = True
            yield f"*{found[1]}*"
            yield ""
        elif inside and (entry := ENTRY.match(line)):
            yield f"- `{entry[1]}`: {entry[2]}"
        elif inside and line.startswith("    "):
            yield f"  {line.strip()}" if line.startswith("        ") else line.strip()
        else:
            inside = inside and not line.strip()
            yield line


def methods(one: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties, in the order in which they are defined, then those of the bases."""
    seen: set[str] = set()
    for base in one.__mro__:
        if not base.__module__.startswith("umi"):
            continue
        for name, member in vars(base).items():
            is_function = inspect.isfunction(member) or isinstance(member, classmethod | property)
            if is_function and not name.startswith("_") and name not in seen and inspect.getdoc(member):
                seen.add(name)
                yield name, member


def entry(name: str) -> Iterator[str]:
    """All about one name."""
    one = getattr(umi, name)
    yield ""
    if inspect.isfunction(one):
        yield f"## `{'await ' if inspect.iscoroutinefunction(one) else ''}{signature(name, one)}`"
        yield ""
        yield from prose(inspect.getdoc(one) or "")
        return
    if not isinstance(one, type):
        yield f"## `{name}`"
        yield ""
        if isinstance(one, frozenset):
            yield f"`{', '.join(sorted(map(str, one)))}`"
            return
        yield ALIASES[name]
        yield ""
        yield f"`{spelled(one)}`"
        return
    doc = inspect.getdoc(one) or ""
    yield (
        f"## `{name}`"
        if is_error(name) or one is umi.Memory or issubclass(one, enum.Enum)
        else f"## `{signature(name, one)}`"
    )
    yield ""
    yield from prose(doc)
    if issubclass(one, enum.Enum):
        yield ""
        yield "Values: " + ", ".join(f"`{member.value}`" for member in one) + "."
        return
    if dataclasses.is_dataclass(one) and "Args:" not in doc:
        yield ""
        yield "Fields: " + ", ".join(f"`{field.name}`" for field in dataclasses.fields(one)) + "."
    for method, member in methods(one):
        function = member.__func__ if isinstance(member, classmethod) else member
        waits = "await " if inspect.iscoroutinefunction(function) else ""
        shown = method if isinstance(member, property) else signature(method, function)
        yield ""
        yield f"### `{waits}{name}.{shown}`"
        yield ""
        yield from prose(inspect.getdoc(member) or "")


def codes() -> list[str]:
    """The code of every error, in the order in which they are defined."""
    kinds = [one for one in vars(umi.errors).values() if isinstance(one, type) and issubclass(one, umi.errors.UmiError)]
    rows = [f"| `{one.code}` | `{one.__name__}` | {(inspect.getdoc(one) or '').splitlines()[0]} |" for one in kinds]
    head = [
        "",
        "## Codes",
        "",
        "`UmiError.code`, which `--json` prints too. A code does not change from version to version.",
        "",
    ]
    return [*head, "| code | error | |", "|---|---|---|", *rows]


ALIASES = aliases()


def made() -> str:
    """The page."""
    tree = inspect.getdoc(umi.errors) or ""
    plain = [name for name in names() if not is_error(name)]
    errors = [name for name in names() if is_error(name)]
    whole = [HEAD, ", ".join(f"`{name}`" for name in plain) + "."]
    whole += [line for name in plain for line in entry(name)]
    whole += ["", "# Errors", "", "```text", *tree.splitlines(), "```", *codes()]
    whole += [line for name in errors for line in entry(name)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in whole)).strip() + "\n"


if __name__ == "__main__":
    TARGET.write_text(made(), "utf-8")
