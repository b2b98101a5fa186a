"""Puts a small fault into a program that has the product loaded, instead of starting it anew: functions get other code, in place.

That works for what a function does. What an import does, such as the value of a constant or of a default, has happened already; such a
fault wants a program of its own.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final

_OPTIMIZED: Final = 1  # inspect.CO_OPTIMIZED: the code of a function, not of a module or the body of a class


class Functions:
    """The functions of the product that are loaded now.

    Args:
        package: The folder of the product that is loaded.
    """

    def __init__(self, package: Path) -> None:
        self._package = package
        self._loaded: defaultdict[str, list[FunctionType]] = defaultdict(list)
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(str(package)):
                self._loaded[one.__code__.co_filename].append(one)

    def change(self, file: str, before: str, after: str) -> bool:
        """Give functions the code of another text of their module.

        Args:
            file: Below the package.
            before: The text that is loaded.
            after: The other text.

        Returns:
            Whether nothing else differs. Where it does, nothing is changed.
        """
        path = str(self._package / file)
        old, new = (compile(text, path, "exec", dont_inherit=True) for text in (before, after))
        if _shape(old) != _shape(new):
            return False
        pairs = list(zip(_functions(old), _functions(new), strict=True))
        wanted = {_key(one): (one, other) for one, other in pairs if _bare(one) != _bare(other)}
        given = {key: [fn for fn in self._loaded[path] if _key(fn.__code__) == key] for key in wanted}
        if not all(given.values()) or any(
            len(one.co_freevars) != len(other.co_freevars) for one, other in wanted.values()
        ):
            return False
        for key, functions in given.items():
            for function in functions:
                function.__code__ = wanted[key][1]
        return True


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _functions(code: CodeType) -> Iterator[CodeType]:
    """The functions of a module and its classes, without those inside functions."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            if one.co_flags & _OPTIMIZED:
                yield one
            else:
                yield from _functions(one)


def _shape(code: CodeType) -> CodeType:
    """A module or class without what its functions do and without lines."""
    consts = tuple(_inside(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return _without_lines(code, consts)


def _inside(code: CodeType) -> object:
    return f"function {code.co_name}" if code.co_flags & _OPTIMIZED else _shape(code)


def _bare(code: CodeType) -> CodeType:
    """A function without lines."""
    return _without_lines(code, tuple(_bare(one) if isinstance(one, CodeType) else one for one in code.co_consts))


def _without_lines(code: CodeType, consts: tuple[object, ...]) -> CodeType:
    return code.replace(co_firstlineno=1, co_linetable=b"", co_consts=consts)
