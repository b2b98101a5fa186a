"""What every plugin `reference_FRAMEWORK` shares: the memories that a framework's test has opened, closed after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import umi.blocking

opened: list[umi.blocking.Memory] = []


def open_memory(url: str = ":memory:", **options: Any) -> umi.blocking.Memory:
    """A memory for as long as the test runs."""
    opened.append(umi.blocking.Memory.open(url, **options))
    return opened[-1]


@pytest.fixture(autouse=True)
def _closed_after(record_property: Any) -> Iterator[None]:
    yield
    record_property("on_umi", bool(opened))
    while opened:
        opened.pop().close()
