"""Other values for limits, so that each can be met."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from umi import limits


@contextmanager
def bounded(sizes: dict[str, int]) -> Iterator[None]:
    """Give limits of `umi.limits` these values, wherever a loaded module has them by name."""
    before = {name: getattr(limits, name) for name in sizes}
    try:
        _set(sizes)
        yield
    finally:
        _set(before)


def _set(values: dict[str, int]) -> None:
    for name, module in list(sys.modules.items()):
        if name == "umi" or name.startswith("umi."):
            for limit, value in values.items():
                if limit in vars(module):
                    setattr(module, limit, value)
