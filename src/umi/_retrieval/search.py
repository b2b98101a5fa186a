"""Search one namespace. Fast path: one query. Deep path: its variations too, merged by reciprocal rank fusion.

Queries are embedded before the snapshot is taken. Both legs (words and vectors), ranking, rows and states are then read
from one snapshot, so no hit mixes two states of the store. A failure makes the answer poorer and is named in
`degraded`: without vectors the words decide, without words the vectors, and without a variation the other queries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeVar

import numpy as np

from umi import limits
from umi._core.guard import GuardedEmbedder
from umi._core.query_features import is_question
from umi._core.ranking import Ranking, falls_off, merge_rankings, rank, reciprocal_rank_fusion
from umi._core.text import query_terms
from umi._core.vectors import normalised
from umi._evolution.states import Look, Shown, StatementState, StateResolver, View
from umi._learning.boosts import Lessons
from umi._reading.short_messages.classifier import EMBEDDER
from umi._retrieval import pair_order, statement_scores
from umi._retrieval.hits import fact_hit, hit_of, within_tokens
from umi._retrieval.newest_value import newest_amount_first
from umi._retrieval.period import asked_period
from umi._retrieval.question_wording import as_told, named, without_boilerplate
from umi._retrieval.rewrite import rewrite
from umi._retrieval.slot_lookup import Answer, answer
from umi._retrieval.variants import FEEDBACK_WEIGHT, MODEL_WEIGHT, Variation, rule_variants, wants_deep
from umi._retrieval.vector_backend import foreign_candidates
from umi.errors import EmbeddingError, UmiError
from umi.ports import EmbeddingProvider, LLMProvider, Snapshot, StorageBackend, Vector, VectorBackend
from umi.ports.candidates import NO_KEYS, TextCandidates, VectorCandidates
from umi.ports.pair_reader import PairReader
from umi.types import Degradation, Hit, HitState, VectorHit

FACT_SCORE: Final = 0.95  # the least score of a looked-up fact; a convention, not a fitted probability (ADR 8)
_FEEDBACK_EPISODES: Final = 3  # first hits that a deep search moves its query towards
_SUPPORTED: Final = 0.97  # from this score on a hit stays, whatever fact the question was taken to ask for


class HasId(Protocol):
    """Anything with an id."""

    @property
    def id(self) -> str:
        """The id of the object."""
        ...


Item = TypeVar("Item", bound=HasId)


@dataclass(frozen=True, slots=True)
class Query:
    """One validated question.

    With `min_score` None the calibrated threshold applies and the search may abstain; 0 accepts every score.
    `max_tokens` bounds the total text of the hits.
    """

    text: str
    limit: int = limits.RECALL_LIMIT_DEFAULT
    deep: bool | None = None
    view: View = field(default_factory=View)
    min_score: float | None = None
    max_tokens: int | None = None
    explain: bool = False
    lessons: Lessons | None = None  # set where learning is on


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search. `abstained` is True when no candidate is relevant enough; `why_abstained` says why."""

    hits: tuple[Hit, ...]
    abstained: bool
    degraded: tuple[Degradation, ...]
    deep_search_used: bool
    query_variations: tuple[str, ...]
    best_score: float | None = None
    why_abstained: str = ""


@dataclass(frozen=True, slots=True)
class _Variant:
    """One text to search for, with what the vector leg needs for it. Made before the snapshot is taken."""

    text: str
    weight: float
    embedding: Vector | None = None
    hits: tuple[VectorHit, ...] | None = None  # from a vector backend that is not the store


class DualRetriever:
    """Searches one namespace by words and by meaning (seed 004).

    Args:
        llm: Rewrites queries on the deep path; without it rules do.
        embedder: Embeds queries; without it only words are searched.
        vector: The vector leg; the storage object itself when one store does both.
        storage: Rows and the text leg.
        behind: Whether the search index may lack many messages: it is then brought up to date in steps beforehand.
    """

    def __init__(
        self,
        llm: LLMProvider | None,
        embedder: EmbeddingProvider | None,
        vector: VectorBackend | None,
        storage: StorageBackend,
        *,
        behind: bool = True,
    ) -> None:
        self._llm = llm
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
        if names:
            # The question is embedded in the speaker's words, so the index must know the speakers first. Otherwise
            # embedding and catching up run at the same time.
            variants = await self._prepare(variations, await self._speakers(names), degraded)
        else:
            variants, _ = await asyncio.gather(self._prepare(variations, frozenset(), degraded), self._catch_up())
        reader = self._reader_for(query)
        # The pair reader compares the first few hits, even where fewer are wanted.
        most = query.limit if reader is None else max(query.limit, limits.PAIR_READER_HITS_COUNT)
        asked = _Search(replace(query, limit=most), variants, self._embedder, deep=deep)
        hits = await self._storage.read(lambda snapshot: asked.run(snapshot, degraded))
        if reader is not None:
            hits = (await self._in_order(reader, query, hits, asked, degraded))[: query.limit]
        return Found(
            hits=tuple(within_tokens(hits, query.max_tokens)),
            abstained=not hits,
            degraded=tuple(degraded),
            deep_search_used=deep,
            query_variations=tuple(variation.text for variation in variations[1:]),
            best_score=asked.best_score,
            why_abstained="" if hits else asked.why_nothing(),
        )

    def _reader_for(self, query: Query) -> PairReader | None:
        """The pair reader that orders the hits by what still holds; None where it must not decide.

        It orders questions only, not where outdated memories are wanted too, and not where learning sets the order.
        """
        wanted = is_question(query.text) and not query.view.include_superseded and query.lessons is None
        return None if self._embedder is None or not wanted else self._embedder.pair_reader

    async def _in_order(
        self, reader: PairReader, query: Query, hits: list[Hit], asked: _Search, degraded: dict[Degradation, None]
    ) -> list[Hit]:
        """Put the newest of hits that answer about equally well and say the same thing first, as the pair reader judges."""
        if asked.facts_count or statement_scores.is_read(hit.entity for hit in hits if hit.entity is not None):
            return hits  # they were looked up, or a model read them and has judged what is outdated
        try:
            ordered = await pair_order.in_order(reader, query.text, hits, asked.taken_back)
        except EmbeddingError:
            degraded[Degradation.EMBEDDING_FAILED] = None
            return hits
        return hits if ordered is hits else asked.newest_first(ordered)

    async def _catch_up(self) -> None:
        """Bring the search index up to date in steps, while the query is being embedded."""
        with suppress(UmiError):  # the search that follows meets the same error and reports it
            while self._behind and not await self._storage.read(lambda snapshot: snapshot.catch_up()):
                pass

    async def _speakers(self, names: Sequence[str]) -> frozenset[str]:
        """Those of the names that a speaker of this namespace has; none when the store cannot be read."""
        await self._catch_up()
        with suppress(UmiError):
            return await self._storage.read(lambda snapshot: snapshot.speakers(names))
        return frozenset()

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
    ) -> list[_Variant]:
        first, *others = await asyncio.gather(*(self._variant(one, speakers, degraded) for one in variations))
        if any(other.embedding is None for other in others) and first.embedding is not None:
            degraded[Degradation.VARIANT_FAILED] = None
        return [first, *others]

    async def _variant(
        self, variation: Variation, speakers: frozenset[str], degraded: dict[Degradation, None]
    ) -> _Variant:
        text, weight = variation.text, variation.weight
        if self._embedder is None or self._vector is None:
            degraded[Degradation.NO_EMBEDDER] = None
            return _Variant(text, weight)
        try:
            embedding = await self._embedder.embed(as_told(text, speakers))
        except EmbeddingError:
            degraded[Degradation.EMBEDDING_FAILED] = None
            return _Variant(text, weight)
        if self._is_one_store():
            return _Variant(text, weight, embedding)
        try:
            hits = await self._vector.search(embedding, limits.CANDIDATE_POOL_COUNT)
        except (UmiError, OSError):  # a time-out is an OSError
            degraded[Degradation.VECTOR_LEG_FAILED] = None
            return _Variant(text, weight)
        return _Variant(text, weight, embedding, tuple(hits))

    def _is_one_store(self) -> bool:
        vector: object = self._vector
        return vector is self._storage


class _Search:
    """One search inside one snapshot."""

    def __init__(
        self, query: Query, variants: Sequence[_Variant], embedder: GuardedEmbedder | None, *, deep: bool
    ) -> None:
        self._query = query
        self._variants = variants
        self._deep = deep
        self._period = asked_period(query.text)
        self._embedder = None if embedder is None else embedder.identity.name
        is_read = embedder is not None and embedder.identity.digest == EMBEDDER
        self._reader = None if embedder is None else embedder.reader
        self._readable = variants[0].embedding if is_read else None
        self._hidden_count = 0
        self._unsure = False
        self.best_score: float | None = None
        self.facts_count = 0  # the first hits, which were looked up and not searched
        self.told_again: list[tuple[str, str]] = []  # episode ids (earlier, later) of flagged updates among the hits
        self.taken_back: frozenset[tuple[str, str]] = frozenset()  # such pairs whose update was undone

    def run(self, snapshot: Snapshot, degraded: dict[Degradation, None]) -> list[Hit]:
        rankings = [self._rank(snapshot, variant, degraded) for variant in self._variants]
        weights = [variant.weight for variant in self._variants]
        if self._deep:
            rankings.extend(self._feedback(snapshot, rankings[0], degraded))
            weights.extend([FEEDBACK_WEIGHT] * (len(rankings) - len(weights)))
        merged = len(rankings) > 1
        ranking = merge_rankings(rankings, weights, self._query.limit) if merged else rankings[0]
        lessons = self._query.lessons
        if lessons is not None:
            ranking = lessons.reordered(snapshot, ranking, self._floor(ranking))
        if len(ranking.scores):
            self.best_score = float(ranking.scores.max())
        terms = query_terms(self._variants[0].text)
        known = answer(snapshot, self._query.text, self._query.view, self._readable, self._reader)
        standings = StateResolver(snapshot, self._query.view)
        hits = self._facts(snapshot, known, float(ranking.scores.max(initial=0.0)))
        given = {hit.episode.id for hit in hits}
        self.facts_count = count = len(hits)
        facts = bool(hits)  # beside a looked-up answer every further hit must reach the threshold for a first hit
        above = 0.0
        for place, score, look in self._looks(snapshot, standings, ranking, terms):
            answers = self._answers(snapshot, standings, look, terms, given)
            found = [one for one in answers if self._admits(known, one, score, terms)]
            if place >= limits.ANSWER_PLACES_COUNT_MAX and known is not None and not found:
                break  # further down nothing bears on the fact, and reading on takes seconds in a large store
            if not found and (look.shown is None or look.shown.episode.id not in given):
                self._hidden_count += 1
                continue
            if len(hits) >= self._query.limit or not self._is_enough(ranking, score, above, first=facts or not hits):
                break
            for shown in found[: self._query.limit - len(hits)]:
                hits.append(hit_of(shown, ranking, place, score, explain=self._query.explain))
                given.add(shown.episode.id)
            above = score
        hits[count:] = self._newest_first(hits[count:], standings)
        if lessons is not None:
            return lessons.noted(snapshot, hits, self._variants[0].embedding, explain=self._query.explain)
        return hits

    def _newest_first(self, hits: list[Hit], standings: StateResolver) -> list[Hit]:
        """Read which hits were flagged as updates of others, and put those above the hits they update."""
        ids = {hit.episode.id for hit in hits}
        self.told_again, self.taken_back = standings.told_again(ids), standings.taken_back(ids)
        return self.newest_first(hits)

    def newest_first(self, hits: Sequence[Hit]) -> list[Hit]:
        """Put flagged updates above what they update, and order amounts by time; for hits that `run` has found."""
        return newest_amount_first(self._query.text, pair_order.newer_first(hits, self.told_again))

    def why_nothing(self) -> str:
        """Why there is no hit, as text for the caller."""
        if self.best_score is None:
            return "nothing that is stored shares a word or a meaning with the question"
        if self._unsure:
            return f"nothing that is stored seems to answer the question (best score {self.best_score:.2f}); min_score=0 shows it all the same"
        if self._hidden_count:
            return "what was found is outdated or gone; include_superseded=True shows what held before"
        return f"no score reaches {self._query.min_score or 0:.2f} (best {self.best_score:.2f})"

    def _floor(self, ranking: Ranking) -> float:
        """The least score at which learning may move a hit."""
        if self._query.min_score is not None:
            return self._query.min_score
        return 0.0 if ranking.calibrator is None else ranking.calibrator.keep_from

    def _answers(
        self, snapshot: Snapshot, standings: StateResolver, look: Look, terms: Sequence[str], given: Collection[str]
    ) -> Iterator[Shown]:
        """What one place of the ranking contributes: its message as far as it holds, and what replaced its outdated parts.

        The replacement comes first; of two statements that contradict each other, the one that was found. Episodes in
        `given` are among the hits already.
        """
        mine = look.shown if look.shown is not None and look.shown.episode.id not in given else None
        disputed = mine is not None and mine.state is HitState.DISPUTED
        if mine is not None and disputed:
            yield mine
        ids = [id_ for id_ in standings.episodes_of(look.successors) if id_ not in given] if look.successors else []
        if ids:
            episodes = snapshot.episodes(ids)
            later = standings.show([episodes[id_] for id_ in ids if id_ in episodes], terms, look.successors)
            yield from (one for one in later if one is not None)
        if mine is not None and not disputed:
            yield mine

    def _admits(self, known: Answer | None, shown: Shown, score: float, terms: Sequence[str]) -> bool:
        """Whether a message may be a hit where the question was taken to ask for a fact of which no statement is known.

        A message stays if a model read its statement, if its score is high, or if it contains every word of the
        question.
        """
        if known is None or self._query.min_score is not None or not is_question(self._query.text):
            return True
        entity = shown.entity
        if score >= _SUPPORTED or (entity is not None and statement_scores.is_read([entity])):
            return True
        said = frozenset(query_terms(f"{shown.episode.speaker or ''} {shown.episode.content}"))
        return said.issuperset(terms) or known.admits(shown.episode)

    def _facts(self, snapshot: Snapshot, known: Answer | None, best_score: float) -> list[Hit]:
        """The looked-up answers that the view shows, one hit per episode; they come before the hits of both legs."""
        first_of_episode: dict[str, StatementState] = {}
        if known is None:
            return []
        for standing in known.standings:
            first_of_episode.setdefault(standing.entity.episode_id, standing)
        episodes = snapshot.episodes(first_of_episode)
        score = max(FACT_SCORE, best_score)
        chosen = [standing.entity.id for standing in first_of_episode.values()]
        shown = StateResolver(snapshot, known.view).show([episodes[id_] for id_ in first_of_episode], (), chosen)
        hits = [
            fact_hit(standing, one, score, explain=self._query.explain)
            for standing, one in zip(first_of_episode.values(), shown, strict=True)
            if one is not None
        ]
        return hits[: self._query.limit]

    def _rank(self, snapshot: Snapshot, variant: _Variant, degraded: dict[Degradation, None]) -> Ranking:
        """Rank one variant by both legs, each also scoring what the other found.

        Raises:
            UmiError: The text leg's error, when the vector leg gave nothing either.
        """
        text: TextCandidates | None = None
        vector = self._vector_leg(snapshot, variant, degraded)
        try:
            text = snapshot.text_candidates(query_terms(variant.text), also=NO_KEYS if vector is None else vector.keys)
        except UmiError:
            degraded[Degradation.TEXT_LEG_FAILED] = None
            if vector is None:
                raise
        if text is not None and vector is not None and variant.embedding is not None and variant.hits is None:
            # The same embedding object: the store reuses the comparison it has just made.
            vector = snapshot.vector_candidates(variant.embedding, also=text.keys, pool=0)
        return rank(variant.text, text, vector, self._embedder, snapshot.surroundings, self._period)

    def _vector_leg(
        self,
        snapshot: Snapshot,
        variant: _Variant,
        degraded: dict[Degradation, None],
    ) -> VectorCandidates | None:
        if variant.embedding is None:
            return None
        pool = max(limits.CANDIDATE_POOL_COUNT, 2 * self._query.limit)
        try:
            if variant.hits is not None:
                return foreign_candidates(snapshot, variant.hits)
            return snapshot.vector_candidates(variant.embedding, pool=pool)
        except UmiError:
            degraded[Degradation.VECTOR_LEG_FAILED] = None
            return None

    def _feedback(self, snapshot: Snapshot, ranking: Ranking, degraded: dict[Degradation, None]) -> Iterator[Ranking]:
        """Search again with the query moved halfway towards its first hits (pseudo-relevance feedback; Rocchio, 1971)."""
        asked = self._variants[0]
        if asked.embedding is None or asked.hits is not None or Degradation.VECTOR_LEG_FAILED in degraded:
            return  # feedback needs vectors that the store itself holds
        episodes = snapshot.episodes_at(int(key) for key in ranking.keys[:_FEEDBACK_EPISODES])
        found = snapshot.vectors(episode.id for _, episode in sorted(episodes.items()))
        if found:
            said = normalised(np.mean([normalised(windows.mean(axis=0)) for windows in found.values()], axis=0))
            moved = replace(asked, embedding=normalised(asked.embedding + said))
            found_again = self._rank(snapshot, moved, degraded)
            yield replace(found_again, calibrator=None)  # scores against the moved query say nothing about the question

    def _looks(
        self, snapshot: Snapshot, standings: StateResolver, ranking: Ranking, terms: Sequence[str]
    ) -> Iterator[tuple[int, float, Look]]:
        """Places of the ranking, best first, each with its score and what the view shows there. Read in growing portions."""
        start, portion = 0, self._query.limit + 2
        while start < len(ranking.keys):
            keys = [int(key) for key in ranking.keys[start : start + portion]]
            episodes = snapshot.episodes_at(keys)
            standings.read([one.id for one in episodes.values()])
            if not start and statement_scores.is_read(standings.read_in(episodes.values())):
                start = limits.STATEMENT_CANDIDATES_COUNT
                yield from self._statements(snapshot, standings, ranking, terms)
                continue
            places = [start + step for step, key in enumerate(keys) if key in episodes]
            looks = standings.look([episodes[int(ranking.keys[place])] for place in places], terms)
            yield from ((place, float(ranking.scores[place]), look) for place, look in zip(places, looks, strict=True))
            start, portion = start + portion, portion * 2

    def _statements(
        self, snapshot: Snapshot, standings: StateResolver, ranking: Ranking, terms: Sequence[str]
    ) -> Iterator[tuple[int, float, Look]]:
        """As `_looks`, for the first places of a ranking whose messages a model read: one entry per statement."""
        question = statement_scores.Question(tuple(dict.fromkeys(terms)), self._variants[0].embedding)
        head = statement_scores.candidates(snapshot, ranking, question)
        standings.read(dict.fromkeys(one.episode.id for one in head))
        for one in head:
            chosen = () if one.entity_id is None else (one.entity_id,)
            yield one.place, one.score, standings.look([one.episode], terms, chosen)[0]

    def _is_enough(self, ranking: Ranking, score: float, above: float, *, first: bool) -> bool:
        """Whether a hit may be shown below one with the score `above` (0 for none).

        `first` applies the test for a first hit, which is whether the store holds an answer at all.
        """
        if self._query.min_score is not None:
            return score >= self._query.min_score
        if ranking.calibrator is None:
            return True
        if first and ranking.answerable < ranking.calibrator.abstain_below:
            self._unsure = True
            return False
        if falls_off(above, score):
            return False
        return score >= ranking.calibrator.keep_from or first


def _guarded(embedder: EmbeddingProvider | None) -> GuardedEmbedder | None:
    if embedder is None or isinstance(embedder, GuardedEmbedder):
        return embedder
    return GuardedEmbedder(embedder)
