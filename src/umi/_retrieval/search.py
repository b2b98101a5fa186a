"""Search one namespace. Fast path: one query. Deep path: its variations too, merged by reciprocal rank fusion.

Queries are embedded before the snapshot is taken. Both legs (words and vectors), ranking, rows and states are then read
from one snapshot, so no hit mixes two states of the store. A failure makes the answer poorer and is named in
`degraded`: without vectors the words decide, without words the vectors, and without a variation the other queries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from umi import limits
from umi._core.guard import GuardedEmbedder
from umi._core.merging import reciprocal_rank_fusion
from umi._core.query_features import is_question
from umi._core.stages import stage
from umi._retrieval import answer_order, statement_scores
from umi._retrieval.hits import within_tokens
from umi._retrieval.query import Found, Query, Variant
from umi._retrieval.question_wording import as_told, named, without_boilerplate
from umi._retrieval.rewrite import rewrite
from umi._retrieval.snapshot_search import SnapshotSearch
from umi._retrieval.variants import MODEL_WEIGHT, Variation, rule_variants, wants_deep
from umi.errors import EmbeddingError, UmiError
from umi.ports import EmbeddingProvider, LLMProvider, Snapshot, StorageBackend, VectorBackend
from umi.ports.answer_reader import AnswerReader
from umi.types import Degradation, Hit


class HasId(Protocol):
    """Anything with an id."""

    @property
    def id(self) -> str:
        """The id of the object."""
        ...


Item = TypeVar("Item", bound=HasId)


class DualRetriever:
    """Searches one namespace by words and by meaning (seed 004).

    Args:
        llm: Rewrites queries on the deep path; without it rules do.
        embedder: Embeds queries; without it only words are searched.
        vector: The vector leg; the storage object itself when one store does both.
        storage: Rows and the text leg.
        behind: Whether the search index may lack many messages: it is then brought up to date in steps beforehand.
        known: Names in questions that earlier searches have found to be of speakers of this namespace. A search takes it for
            true, checks it, and keeps it right.
    """

    def __init__(
        self,
        llm: LLMProvider | None,
        embedder: EmbeddingProvider | None,
        vector: VectorBackend | None,
        storage: StorageBackend,
        *,
        behind: bool = True,
        known: set[str] | None = None,
    ) -> None:
        self._llm = llm
        self._known: set[str] = set() if known is None else known
        self._behind = behind
        self._embedder = _guarded(embedder)
        self._vector = vector
        self._storage = storage

    async def fast_search(self, query: str, limit: int = limits.RECALL_LIMIT_DEFAULT) -> list[Hit]:
        """Search for the query as it stands, without a threshold (seed 004).

        Raises:
            StoreError: When both legs failed, or the rows could not be read.
        """
        return list((await self.search(Query(query, limit, deep=False, min_score=0))).hits)

    async def deep_search(self, query: str, limit: int = limits.RECALL_LIMIT_DEFAULT) -> list[Hit]:
        """Search for the query and its variations and merge the results, without a threshold (seed 004).

        Raises:
            StoreError: When both legs failed, or the rows could not be read.
        """
        return list((await self.search(Query(query, limit, deep=True, min_score=0))).hits)

    def rrf_merge(self, lists: Sequence[Sequence[Item]], limit: int) -> list[Item]:
        """Merge ranked lists by reciprocal rank fusion (seed 004).

        The first item of every list is among the `limit` results. Source: Cormack, Clarke and Buettcher (2009).
        """
        by_id = {item.id: item for ranked in reversed(lists) for item in reversed(ranked)}
        ids = reciprocal_rank_fusion([[item.id for item in ranked] for ranked in lists], limit)
        return [by_id[id_] for id_ in ids]

    async def search(self, query: Query) -> Found:
        """Find what answers a query.

        Raises:
            StoreError: When both legs failed, or the rows could not be read.
        """
        degraded: dict[Degradation, None] = {}
        deep = wants_deep(query.text) if query.deep is None else query.deep
        about = without_boilerplate(query.text)
        variations = [Variation(about, 1.0), *(await self._variations(about, degraded) if deep else [])]
        names = named(" ".join(one.text for one in variations))
        # The question is embedded in the speaker's words, before it is read who speaks here: once more where that was another.
        speakers = frozenset(self._known.intersection(names))
        reader = self._reader_for(query)
        # The answer reader compares the first few hits, even where fewer are wanted.
        most = query.limit if reader is None else max(query.limit, limits.ANSWER_READER_HITS_COUNT)
        found: tuple[SnapshotSearch, list[Hit]] | None = None
        while found is None:
            variants, _ = await asyncio.gather(self._prepare(variations, speakers, degraded), self._catch_up())
            asked = SnapshotSearch(replace(query, limit=most), variants, self._embedder, deep=deep)
            found, speakers = await self._storage.read(partial(self._run, asked, names, speakers, degraded))
        asked, hits = found
        if reader is not None and asked.is_comparable:
            hits = await self._read(reader, query, hits, asked, degraded)
        hits = hits[: query.limit]
        return Found(
            hits=tuple(within_tokens(hits, query.max_tokens)),
            abstained=not hits,
            degraded=tuple(degraded),
            deep_search_used=deep,
            query_variations=tuple(variation.text for variation in variations[1:]),
            best_score=asked.best_score,
            why_abstained="" if hits else asked.why_nothing(),
        )

    def _run(
        self,
        asked: SnapshotSearch,
        names: Sequence[str],
        speakers: frozenset[str],
        degraded: dict[Degradation, None],
        snapshot: Snapshot,
    ) -> tuple[tuple[SnapshotSearch, list[Hit]] | None, frozenset[str]]:
        """Search in a snapshot; nothing where others of the names are speakers in it than was thought, which is said beside it."""
        here = speakers
        if names:
            with suppress(UmiError):  # the search meets the same error and reports it
                here = snapshot.speakers(names)
            self._note(names, here)
        return (None if here != speakers else (asked, asked.run(snapshot, degraded))), here

    def _note(self, names: Sequence[str], speakers: frozenset[str]) -> None:
        """Those of the names that are of speakers."""
        if len(self._known) > limits.KNOWN_SPEAKERS_COUNT_MAX:
            self._known.clear()
        self._known.difference_update(names)
        self._known.update(speakers)

    def _reader_for(self, query: Query) -> AnswerReader | None:
        """The reader of the first hits; None where it must not decide.

        It reads the hits of questions only, and not where outdated memories are wanted too.
        """
        wanted = is_question(query.text) and not query.view.include_superseded
        return None if self._embedder is None or not wanted else self._embedder.answer_reader

    async def _read(
        self,
        reader: AnswerReader,
        query: Query,
        hits: list[Hit],
        asked: SnapshotSearch,
        degraded: dict[Degradation, None],
    ) -> list[Hit]:
        """The hits in the order that the answer reader gives them, without what it finds outdated; none where none of them answers."""
        if asked.facts_count or statement_scores.is_read(hit.entity for hit in hits if hit.entity is not None):
            return hits  # they were looked up, or a model read them and has judged what is outdated
        try:
            found = await answer_order.in_order(reader, query.text, hits, asked.taken_back, query.view.trust)
        except EmbeddingError:
            degraded[Degradation.EMBEDDING_FAILED] = None
            return hits
        if query.min_score is None and asked.is_unanswered(found.none):
            return []
        # Flagged updates name hits that are left out, too, so those go last.
        ordered = hits if found.hits is hits else asked.newest_first(found.hits)
        if ordered and query.lessons is not None and query.lessons.prefers(hits[0], ordered[0]):
            scores = {hit.id: hit.score for hit in ordered}
            ordered = [replace(hit, score=scores[hit.id]) for hit in hits]  # learning moves the order and nothing else
        return [hit for hit in ordered if hit.id not in found.left_out]

    @stage("index")
    async def _catch_up(self) -> None:
        """Bring the search index up to date in steps, while the query is being embedded."""
        with suppress(UmiError):  # the search that follows meets the same error and reports it
            while self._behind and not await self._storage.read(lambda snapshot: snapshot.catch_up()):
                pass

    async def _variations(self, query: str, degraded: dict[Degradation, None]) -> list[Variation]:
        if self._llm is None:
            return rule_variants(query)
        try:
            return [Variation(text, MODEL_WEIGHT) for text in await rewrite(self._llm, query)]
        except UmiError:
            degraded[Degradation.REWRITE_FAILED] = None
            return []

    async def _prepare(
        self, variations: Sequence[Variation], speakers: frozenset[str], degraded: dict[Degradation, None]
    ) -> list[Variant]:
        first, *others = await asyncio.gather(*(self._variant(one, speakers, degraded) for one in variations))
        if any(other.embedding is None for other in others) and first.embedding is not None:
            degraded[Degradation.VARIANT_FAILED] = None
        return [first, *others]

    async def _variant(
        self, variation: Variation, speakers: frozenset[str], degraded: dict[Degradation, None]
    ) -> Variant:
        text, weight = variation.text, variation.weight
        if self._embedder is None or self._vector is None:
            degraded[Degradation.NO_EMBEDDER] = None
            return Variant(text, weight)
        try:
            embedding = await self._embedder.embed(as_told(text, speakers))
        except EmbeddingError:
            degraded[Degradation.EMBEDDING_FAILED] = None
            return Variant(text, weight)
        if self._is_one_store():
            return Variant(text, weight, embedding)
        try:
            hits = await self._vector.search(embedding, limits.CANDIDATE_POOL_COUNT)
        except (UmiError, OSError):  # a time-out is an OSError
            degraded[Degradation.VECTOR_LEG_FAILED] = None
            return Variant(text, weight)
        return Variant(text, weight, embedding, tuple(hits))

    def _is_one_store(self) -> bool:
        vector: object = self._vector
        return vector is self._storage


def _guarded(embedder: EmbeddingProvider | None) -> GuardedEmbedder | None:
    if embedder is None or isinstance(embedder, GuardedEmbedder):
        return embedder
    return GuardedEmbedder(embedder)
