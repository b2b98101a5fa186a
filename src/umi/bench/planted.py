"""Faults that are put into the product on purpose, to see whether the simulated worlds find them.

Each changes one real function or constant while a `with` block lasts, in this process only: a worker that runs worlds applies
the mutation of a name itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """A planted fault: its name, what goes wrong in a sentence, the function it sits in, and how it is planted."""

    name: str
    summary: str
    where: str
    apply: Callable[[], AbstractContextManager[None]]


@contextmanager
def patched(target: object, attribute: str, replacement: object) -> Iterator[None]:
    """Set an attribute of a module or class; afterwards what was there before is back, a descriptor as such.

    Raises:
        AttributeError: When the target has no such attribute of its own: the product has changed under the mutation.
    """
    if attribute not in vars(target):
        raise AttributeError(f"{target!r} has no attribute {attribute!r} of its own")
    before = vars(target)[attribute]
    setattr(target, attribute, replacement)
    try:
        yield
    finally:
        setattr(target, attribute, before)


MUTATIONS: tuple[Mutation, ...] = ()
