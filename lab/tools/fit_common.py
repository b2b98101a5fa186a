"""What the fitting scripts share: sets of questions, their vectors, the product's own index and evidence."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from umi._core.ranking import Evidence, weigh_evidence
from umi._core.style_flags import read_traits
from umi._core.text import analyse, count_words, indexed_line, query_terms
from umi._core.vectors import pack, unpack
from umi._retrieval.question_wording import as_told, named, without_boilerplate
from umi.limits import CANDIDATE_POOL_COUNT
from umi.ports import Matrix
from umi.ports.candidates import in_days
from umi.providers.local import LocalEmbedder
from umi.stores.index.documents import Documents, Names
from umi.stores.index.search_index import NamespaceIndex
from umi_lab.bench.datasets import Collection, load_all

Array = npt.NDArray[np.float64]
LEGS = ("both", "text", "vector")


@dataclass
class Bench:
    """One store's collection, its index, and the vectors of the queries put to it."""

    collection: Collection
    index: NamespaceIndex
    windows: list[Matrix]
    queries: dict[str, Matrix] = field(default_factory=dict)
    small: bool = False

    @property
    def name(self) -> str:
        """The set, with small stores apart."""
        return f"{self.collection.dataset} small" if self.small else self.collection.dataset

    def evidence(self, query: str, legs: str = "both") -> Evidence:
        """What the named legs say about a query."""
        asked, query = self.queries[query][0], without_boilerplate(query)
        terms = query_terms(query)
        if legs == "text":
            return weigh_evidence(query, self.index.text_candidates(terms), None)
        vector = self.index.vector_candidates(asked, pool=CANDIDATE_POOL_COUNT)
        if legs == "vector":
            return weigh_evidence(query, None, vector)
        text = self.index.text_candidates(terms, also=vector.keys)
        return weigh_evidence(query, text, self.index.vector_candidates(asked, also=text.keys, pool=0))

    def gold_units(self, gold: frozenset[str]) -> list[npt.NDArray[np.int64]]:
        """For each thing that answers, the arrivals that stand for it (a session's every message)."""
        names = [message.session if self.collection.by_session else message.id for message in self.collection.messages]
        return [np.array([place for place, name in enumerate(names) if name == each]) for each in sorted(gold)]


def load_benches(data: Path, cache: Path) -> list[Bench]:
    """Every collection below `data` as an index; vectors are kept in `cache` between runs."""
    collections = [each for group in load_all(data).values() for each in group]
    lines = [
        [indexed_line(message.content, message.speaker) for message in collection.messages]
        for collection in collections
    ]
    found = embed([text for group in lines for text in group], cache)
    return [
        build(collection, [found[text] for text in texts]) for collection, texts in zip(collections, lines, strict=True)
    ]


def build(collection: Collection, windows: Sequence[Matrix], *, small: bool = False) -> Bench:
    """Index a collection with the product's own index."""
    index = NamespaceIndex()
    said = collection.messages
    index.add_documents(
        Documents(
            range(len(said)),
            [" ".join(analyse(indexed_line(one.content, one.speaker))) for one in said],
            [count_words(one.content) for one in said],
            Names.column([one.session for one in said]),
            Names.column([one.speaker for one in said]),
            [read_traits(one.content, one.role) for one in said],
            [in_days(one.at) if one.at else 0.0 for one in said],
        )
    )
    for place, vectors in enumerate(windows):
        index.add_vectors(np.array([place]), np.array([len(vectors)]), unpack(pack(vectors), vectors.shape[1]))
    return Bench(collection, index, list(windows), small=small)


def cut(bench: Bench, places: Sequence[int]) -> Bench:
    """A store of some of another's messages."""
    collection = replace(bench.collection, messages=[bench.collection.messages[place] for place in places])
    return build(collection, [bench.windows[place] for place in places], small=True)


def embed(texts: Sequence[str], cache: Path) -> dict[str, Matrix]:
    """The windows of every different text, from the cache where it has them."""
    different = sorted(set(texts))
    name = hashlib.sha256("\0".join(different).encode()).hexdigest()[:24]
    path = cache / f"{name}.npz"
    if not path.is_file():
        print(f"embedding {len(different)} texts ...", flush=True)
        windows = asyncio.run(LocalEmbedder().embed_many(different))
        cache.mkdir(parents=True, exist_ok=True)
        np.savez(path, vectors=np.concatenate(windows), counts=np.array([len(each) for each in windows]))
    kept = np.load(path)
    return dict(zip(different, np.split(kept["vectors"], np.cumsum(kept["counts"])[:-1]), strict=True))


def add_queries(benches: Sequence[Bench], queries: Sequence[Sequence[str]], cache: Path) -> None:
    """Give each bench the vectors of its queries."""
    put = [{text: _put(bench, text) for text in group} for bench, group in zip(benches, queries, strict=True)]
    found = embed([text for group in put for text in group.values()], cache)
    for bench, group in zip(benches, put, strict=True):
        bench.queries.update({text: found[told] for text, told in group.items()})


def _put(bench: Bench, query: str) -> str:
    """A query as it is embedded."""
    about = without_boilerplate(query)
    return as_told(about, bench.index.speakers(named(about)))


def recalls(bench: Bench, gold: frozenset[str], ranked: Sequence[int], cuts: Sequence[int] = (5, 10)) -> list[float]:
    """The share of what answers among the first places, for each cut; sessions count once."""
    messages = bench.collection.messages
    by_session = bench.collection.by_session
    names = list(dict.fromkeys(_names(bench, ranked))) if by_session else [str(messages[key].id) for key in ranked]
    return [len(gold & set(names[:cut])) / len(gold) for cut in cuts]


def _names(bench: Bench, ranked: Sequence[int]) -> Iterator[str]:
    for key in ranked:
        yield str(bench.collection.messages[key].session)
