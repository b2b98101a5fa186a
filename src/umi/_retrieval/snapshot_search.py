"""One search inside one snapshot: both legs, ranking, looked-up facts, and what the view shows of each place."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from umi import limits
from umi._core.guard import GuardedEmbedder
from umi._core.merging import merge_rankings
from umi._core.ranking import Ranking, falls_off, rank
from umi._core.stages import stage
from umi._core.text import query_terms
from umi._core.vectors import normalised
from umi._evolution.states import Look, Shown, StatementState, StateResolver
from umi._evolution.untrusted_claims import untrusted_claims
from umi._learning.boosts import Lessons
from umi._reading.short_messages.classifier import EMBEDDER
from umi._retrieval import answer_order, statement_scores
from umi._retrieval.hits import fact_hit, hit_of
from umi._retrieval.newest_value import newest_amount_first
from umi._retrieval.period import asked_period
from umi._retrieval.query import Query, Variant
from umi._retrieval.slot_lookup import Answer, answer
from umi._retrieval.variants import FEEDBACK_WEIGHT
from umi._retrieval.vector_backend import foreign_candidates
from umi.errors import UmiError
from umi.ports import Snapshot
from umi.ports.candidates import NO_KEYS, TextCandidates, VectorCandidates
from umi.types import Degradation, Hit, HitState

FACT_SCORE: Final = 0.95  # the least score of a looked-up fact; a convention, not a fitted probability (ADR 8)
_FIRST_READ_COUNT: Final = limits.RECALL_LIMIT_DEFAULT + 2  # places of a ranking that are read at first
# Probability that none of the hits that were read answers, above which a recall abstains. Chosen on the same four authors as the order.
_NONE_FROM: Final = 0.9
_FEEDBACK_EPISODES: Final = 3  # first hits that a deep search moves its query towards


class SnapshotSearch:
    """One search inside one snapshot."""

    def __init__(
        self, query: Query, variants: Sequence[Variant], embedder: GuardedEmbedder | None, *, deep: bool
    ) -> None:
        self._query = query
        self._variants = variants
        self._deep = deep
        self._where = query.view.where
        self._period = asked_period(query.text)
        self._identity = None if embedder is None else embedder.identity
        self._embedder = None if embedder is None else embedder.identity.name
        is_read = embedder is not None and embedder.identity.digest == EMBEDDER
        self._readable = variants[0].embedding if is_read else None
        self._hidden_count = 0
        self._none: float | None = None  # the probability that no hit answers, where they are left out for it
        self._unsure = False
        self.is_comparable = True  # with what the store keeps, as far as the embedder goes
        self.best_score: float | None = None
        self.facts_count = 0  # the first hits, which were looked up and not searched
        self.told_again: list[tuple[str, str]] = []  # episode ids (earlier, later) of flagged updates among the hits
        self.taken_back: frozenset[tuple[str, str]] = frozenset()  # such pairs whose update was undone

    @stage("search")
    def run(self, snapshot: Snapshot, degraded: dict[Degradation, None]) -> list[Hit]:
        """The hits, best first: looked-up facts, then what was found. Where there is none, `why_nothing` says why."""
        self._compare_embedders(snapshot, degraded)
        by_relevance = self._ranked(snapshot, degraded)
        ranking, lessons = by_relevance, self._query.lessons
        if lessons is not None:
            ranking = lessons.reordered(snapshot, ranking, self._floor(ranking))
        if len(ranking.scores):
            self.best_score = float(ranking.scores.max())
        terms = query_terms(self._variants[0].text)
        standings = StateResolver(snapshot, self._query.view)
        known = answer(snapshot, self._query.text, self._query.view, self._readable)
        hits = self._facts(snapshot, known, float(ranking.scores.max(initial=0.0)))
        given = {hit.episode.id for hit in hits}
        self.facts_count = count = len(hits)
        facts = bool(hits)  # beside a looked-up answer every further hit must reach the threshold for a first hit
        above = 0.0
        for place, score, look in self._looks(snapshot, standings, ranking, terms, lessons):
            answers = self._answers(snapshot, standings, look, terms, given)
            found = list(answers)
            if place >= limits.ANSWER_PLACES_COUNT_MAX and known is not None and not found:
                break  # further down nothing bears on the fact, and reading on takes seconds in a large store
            if not found and (look.shown is None or look.shown.episode.id not in given):
                self._hidden_count += 1
                continue
            if len(hits) >= self._query.limit or not self._is_enough(ranking, score, above, first=facts or not hits):
                break
            for shown in found[: self._query.limit - len(hits)]:
                hits.append(hit_of(shown, ranking, place, score, snapshot.namespace, explain=self._query.explain))
                given.add(shown.episode.id)
            above = score
        hits[count:] = self._with_scores(snapshot, standings, by_relevance, terms, hits)
        hits[count:] = self._newest_first(hits[count:], standings)
        self._note_best(hits)
        if lessons is not None:
            return lessons.noted(snapshot, hits, self._variants[0].embedding, explain=self._query.explain)
        return hits

    def _with_scores(
        self,
        snapshot: Snapshot,
        standings: StateResolver,
        ranking: Ranking,
        terms: Sequence[str],
        hits: Sequence[Hit],
    ) -> list[Hit]:
        """The hits beside looked-up facts with the scores that they have in order of relevance; learning moves the order alone.

        A message that replaced others is shown at the first place of any of them, and learning may put a lower one of these first.
        """
        facts, others = hits[: self.facts_count], list(hits[self.facts_count :])
        if self._query.lessons is None or not self._query.lessons.reorders:
            return others
        scores: dict[str, float] = {}
        wanted, given = {hit.episode.id for hit in others}, {hit.episode.id for hit in facts}
        for place, score, look in self._looks(snapshot, standings, ranking, terms, None):
            answers = self._answers(snapshot, standings, look, terms, {*given, *scores})
            scores |= {shown.episode.id: score for shown in answers}
            if wanted <= scores.keys() or place >= limits.LEARN_RERANKED_COUNT_MAX:
                break  # further down learning moves nothing
        return [replace(hit, score=scores.get(hit.episode.id, hit.score)) for hit in others]

    def _compare_embedders(self, snapshot: Snapshot, degraded: dict[Degradation, None]) -> None:
        """Leave the decision to words where another process has given the store another embedder since it was opened here."""
        if self._identity is None or snapshot.embedder in {None, self._identity}:
            return
        self.is_comparable = False
        self._embedder = self._readable = None
        self._variants = [replace(variant, embedding=None, hits=None) for variant in self._variants]
        degraded[Degradation.NO_EMBEDDER] = None

    def _newest_first(self, hits: list[Hit], standings: StateResolver) -> list[Hit]:
        """Read which hits were flagged as updates of others, and put those above the hits they update."""
        ids = {hit.episode.id for hit in hits}
        self.told_again, self.taken_back = standings.told_again(ids), standings.taken_back(ids)
        return self.newest_first(hits)

    def newest_first(self, hits: Sequence[Hit]) -> list[Hit]:
        """Put flagged updates above what they update, and order amounts by time; for hits that `run` has found."""
        ordered = answer_order.newer_first(hits, self.told_again, self._query.view.trust)
        return newest_amount_first(self._query.text, ordered)

    def _note_best(self, hits: Sequence[Hit]) -> None:
        """No hit has a score above the best: that of a looked-up fact comes from no ranking."""
        if hits:
            self.best_score = max(self.best_score or 0.0, *(hit.score for hit in hits))

    def is_unanswered(self, none: float) -> bool:
        """Whether the hits are to be left out, by the probability that none of those that were read answers; `why_nothing` says so."""
        self._none = none if none > _NONE_FROM else None
        return self._none is not None

    def why_nothing(self) -> str:
        """Why there is no hit, as text for the caller."""
        if self.best_score is None:
            return "nothing that is stored shares a word or a meaning with the question"
        if self._none is not None:
            return f"nothing that was found seems to answer the question (likelihood {1 - self._none:.2f}); min_score=0 shows it all the same"
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

        The replacement comes first; of two statements that contradict each other, the one that was found. Before what claims to
        change something and is not trusted to comes that which it claims to change. Episodes in `given` are among the
        hits already.
        """
        mine = look.shown if look.shown is not None and look.shown.episode.id not in given else None
        disputed = mine is not None and mine.state is HitState.DISPUTED
        if mine is not None and disputed:
            yield mine
        before = (*look.successors, *self._denied(snapshot, mine))
        # A message that changes or denies a statement of its own is one hit, too.
        shown = {*given, mine.episode.id} if mine is not None else given
        ids = [id_ for id_ in standings.episodes_of(before) if id_ not in shown] if before else []
        if ids:
            episodes = snapshot.episodes(ids)
            counting = [episodes[id_] for id_ in ids if id_ in episodes and self._where.admits(episodes[id_])]
            later = standings.show(counting, terms, before)
            yield from (one for one in later if one is not None)
        if mine is not None and not disputed:
            yield mine

    def _denied(self, snapshot: Snapshot, shown: Shown | None) -> tuple[str, ...]:
        """Ids of the statements that a message claims to change and is not trusted to."""
        if shown is None or shown.entity is None or shown.episode.origin in self._query.view.trust.origins:
            return ()
        standing = StatementState(shown.entity, shown.state, shown=True, evolutions=shown.evolutions)
        claims = untrusted_claims(snapshot, [standing], self._query.view.trust)
        return claims.get(shown.entity.id, ())

    def _facts(self, snapshot: Snapshot, known: Answer | None, best_score: float) -> list[Hit]:
        """The looked-up answers that the view shows, one hit per episode; they come before the hits of both legs."""
        first_of_episode: dict[str, StatementState] = {}
        score = max(FACT_SCORE, best_score)
        if known is None or score < (self._query.min_score or 0.0):
            return []
        for standing in known.standings:
            first_of_episode.setdefault(standing.entity.episode_id, standing)
        episodes = snapshot.episodes(first_of_episode)
        chosen = [standing.entity.id for standing in first_of_episode.values()]
        shown = StateResolver(snapshot, known.view).show([episodes[id_] for id_ in first_of_episode], (), chosen)
        hits = [
            fact_hit(standing, one, score, snapshot.namespace, explain=self._query.explain)
            for standing, one in zip(first_of_episode.values(), shown, strict=True)
            if one is not None
        ]
        return hits[: self._query.limit]

    def _ranked(self, snapshot: Snapshot, degraded: dict[Degradation, None]) -> Ranking:
        """The ranking of all variants together, and on the deep path of what the first hits lead to."""
        rankings = [self._rank(snapshot, variant, degraded) for variant in self._variants]
        weights = [variant.weight for variant in self._variants]
        if self._deep:
            rankings.extend(self._feedback(snapshot, rankings[0], degraded))
            weights.extend([FEEDBACK_WEIGHT] * (len(rankings) - len(weights)))
        return merge_rankings(rankings, weights, self._query.limit) if len(rankings) > 1 else rankings[0]

    @stage("rank")
    def _rank(self, snapshot: Snapshot, variant: Variant, degraded: dict[Degradation, None]) -> Ranking:
        """Rank one variant by both legs, each also scoring what the other found.

        Raises:
            UmiError: The text leg's error, when the vector leg gave nothing either.
        """
        text: TextCandidates | None = None
        vector = self._vector_leg(snapshot, variant, degraded)
        try:
            text = snapshot.text_candidates(
                query_terms(variant.text), also=NO_KEYS if vector is None else vector.keys, where=self._where
            )
        except UmiError:
            degraded[Degradation.TEXT_LEG_FAILED] = None
            if vector is None:
                raise
        if text is not None and vector is not None and variant.embedding is not None and variant.hits is None:
            # The same embedding object: the store reuses the comparison it has just made.
            vector = snapshot.vector_candidates(variant.embedding, also=text.keys, pool=0)
        among = partial(snapshot.among, where=self._where) if self._where else None
        return rank(variant.text, text, vector, self._embedder, snapshot.surroundings, self._period, among)

    def _vector_leg(
        self,
        snapshot: Snapshot,
        variant: Variant,
        degraded: dict[Degradation, None],
    ) -> VectorCandidates | None:
        if variant.embedding is None:
            return None
        pool = max(limits.CANDIDATE_POOL_COUNT, 2 * self._query.limit)
        try:
            if variant.hits is not None:
                return foreign_candidates(snapshot, variant.hits)
            return snapshot.vector_candidates(variant.embedding, pool=pool, where=self._where)
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
        self,
        snapshot: Snapshot,
        standings: StateResolver,
        ranking: Ranking,
        terms: Sequence[str],
        lessons: Lessons | None,
    ) -> Iterator[tuple[int, float, Look]]:
        """Places of the ranking, best first, each with its score and what the view shows there. Read in growing portions."""
        # The first portion decides whether statements are scored, so it does not depend on the limit.
        start, portion = 0, _FIRST_READ_COUNT
        while start < len(ranking.keys):
            keys = [int(key) for key in ranking.keys[start : start + portion]]
            episodes = standings.read_at(keys)
            if not start and statement_scores.is_read(standings.read_in(episodes.values())):
                start = limits.STATEMENT_CANDIDATES_COUNT
                yield from self._statements(snapshot, standings, ranking, terms, lessons)
                continue
            places = [start + step for step, key in enumerate(keys) if key in episodes]
            looks = standings.look([episodes[int(ranking.keys[place])] for place in places], terms)
            yield from ((place, float(ranking.scores[place]), look) for place, look in zip(places, looks, strict=True))
            start, portion = start + portion, max(portion * 2, self._query.limit)

    def _statements(
        self,
        snapshot: Snapshot,
        standings: StateResolver,
        ranking: Ranking,
        terms: Sequence[str],
        lessons: Lessons | None,
    ) -> Iterator[tuple[int, float, Look]]:
        """As `_looks`, for the first places of a ranking whose messages a model read: one entry per statement."""
        question = statement_scores.Question(tuple(dict.fromkeys(terms)), self._variants[0].embedding)
        head = statement_scores.candidates(snapshot, ranking, question, self._where)
        if head:  # with scores of their own, in place of their messages'
            rest = ranking.scores[limits.STATEMENT_CANDIDATES_COUNT :]
            self.best_score = max(head[0].score, float(rest.max(initial=0.0)))
        if lessons is not None:
            scores, arrivals = [one.score for one in head], [one.episode.arrival for one in head]
            head = [head[place] for place in lessons.order_of(scores, arrivals, self._floor(ranking))]
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
