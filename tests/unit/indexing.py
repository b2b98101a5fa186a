"""Small indexes, document by document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from umi.ports import Matrix
from umi.stores.index.documents import Documents, Names
from umi.stores.index.search_index import NamespaceIndex


class Document(NamedTuple):
    """One document."""

    key: int
    terms: Sequence[str]
    words: int
    session: str | None = None
    speaker: str | None = None
    traits: int = 0
    at_days: float = 0.0


def add(index: NamespaceIndex, documents: Sequence[Document]) -> None:
    """Add documents to an index."""
    keys, terms, words, sessions, speakers, *others = zip(*documents, strict=True)
    lines = [" ".join(one) for one in terms]
    index.add_documents(Documents(keys, lines, words, Names.column(sessions), Names.column(speakers), *others))


def give(index: NamespaceIndex, key: int, windows: Matrix) -> None:
    """Give one document its vectors."""
    index.add_vectors(np.array([key]), np.array([len(windows)]), windows)
