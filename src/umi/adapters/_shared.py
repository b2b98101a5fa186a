"""What the adapters share: the error for a missing framework, names of namespaces, and going on where memory fails."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import quote, unquote

from umi.errors import UmiError

log: Final = logging.getLogger("umi")


def missing(extra: str, error: ImportError) -> ImportError:
    """The error of an adapter whose framework is not installed; it names the extra that installs it."""
    return ImportError(
        f"this adapter needs {error.name or extra}, which is not installed: pip install 'umi-memory[{extra}]'",
        name=error.name,
        path=error.path,
    )


def namespace_of(*parts: str) -> str:
    """The namespace of an identity of several parts. Different parts give different names; "/" in a part is escaped."""
    return "/".join(quote(part, safe=" @:+,=~!$&'()*;") for part in parts)


def parts_of(namespace: str) -> tuple[str, ...]:
    """The parts that `namespace_of` was given."""
    return tuple(unquote(part) for part in namespace.split("/"))


@contextmanager
def going_on(without: str) -> Iterator[None]:
    """Log what Umi raises inside at WARNING, and go on: an agent whose memory fails still answers.

    Args:
        without: What the agent goes on without, such as "what is known".
    """
    try:
        yield
    except UmiError as error:
        log.warning("the agent goes on without %s: %s: %s", without, type(error).__name__, error)
