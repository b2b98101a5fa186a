"""Ranking of one query: BM25, fusion of the legs, a second look at the best, calibration. All stores rank with this code.

Statistics become features on scales that do not grow with the store: a cosine as its distance from the namespace's mean
in standard deviations, BM25 as a share of the query's total term weight. Then

    score = V * cosine + T * ((1 - C) * turn + C * (S * neighbours + (1 - S) * session)) + priors

T (words against meaning) and C (share of a message's context) are fitted functions of the query, the gate. ADR 0003
derives it; `lab/tools/fit_fusion.py` and `lab/tools/fit_calibration.py` reproduce the constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from umi._core.query_features import asks_advice, names_strangers, speaks_of_self
from umi._core.rerank import LOOKS, Around, FirstLook, Period, Refiner, never, nowhere, refined, second_look
from umi._core.rerank_weights import REFINERS
from umi._core.text import query_terms
from umi.limits import REFINED_CANDIDATES_COUNT
from umi.ports.candidates import NO_KEYS, Eligible, Flags, Keys, TermCounts, TextCandidates, VectorCandidates, union

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Among = Callable[[Keys], Eligible]

SCORE_DECIMALS: Final = 6  # scores are rounded before sorting, so that rounding errors of a machine change no order

BM25_K1: Final = 0.9  # see ADR 0003
BM25_B: Final = 0.75

# In a small namespace a cosine's mean and deviation are drawn towards these values, measured over many texts with the
# local embedder; the prior weighs as much as so many texts.
COSINE_MEAN_PRIOR: Final = 0.12
COSINE_DEVIATION_PRIOR: Final = 0.1
COSINE_PRIOR_COUNT: Final = 20

BM25_SCALE: Final = 3.0  # brings BM25's share, 0..1, to the spread of a standardised cosine
WORDS_ENOUGH: Final = 20  # short messages ("Thanks, Mel!") are near everything; above this the prior is constant

# Inputs of the calibration: what indicates that the store holds an answer. See `answer_signs`.
SIGNS: Final = (
    "one",
    "top_score",
    "best_cosine",
    "best_coverage",
    "covered",
    "first_person",
    "asks_advice",
    "log_size",
    "stands_out",
    "stranger",
)
# A message with nearly all of the query's words answers a keyword query, even where its cosine is low.
COVERED_FROM: Final = 0.8
STANDS_OUT_OF_COUNT: Final = 10
_COSINE_MIN: Final = -1.0
LOG_SIZE_FITTED: Final = 4.0  # the logarithm is capped: no store larger than 10,000 messages was fitted on
# The list ends after a hit of at least this probability when the next has at most this share of it (ADR 0011).
CLIFF_FROM: Final = 0.5
CLIFF_SHARE: Final = 0.2
# Inputs of the gate (see `_signals`), and the columns of `Evidence.features`.
SIGNALS: Final = ("one", "first_person", "asks_advice", "names_speaker", "term_count", "vector_peak")
FEATURES: Final = ("vector", "words", "turn", "neighbours", "session", "spoken")


@dataclass(frozen=True, slots=True)
class Gate:
    """Fitted weights of the fusion: `text` and `context` have one weight per signal in `SIGNALS`."""

    vector: float
    words: float
    spoken: float
    neighbours_share: float
    text: tuple[float, ...]
    context: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Calibrator:
    """Maps scores to the probability that a hit is relevant, for one set of legs.

    Attributes:
        answerable: One weight per sign in `SIGNS`; they give the log-odds that the store holds an answer at all.
        hit: Bias, weight of those log-odds, weight of the logarithm of a hit's share among all candidates.
        abstain_below: Recall abstains when the probability of an answer is below this.
        keep_from: The least probability of a further hit.
    """

    answerable: tuple[float, ...]
    hit: tuple[float, float, float]
    abstain_below: float
    keep_from: float


GATE: Final = Gate(
    vector=0.782,
    words=-0.053,
    spoken=0.61,
    neighbours_share=0.31,
    text=(0.861, -0.008, -0.385, 0.428, 0.569, -0.328),
    context=(1.053, -0.609, -0.031, 0.498, -0.266, 0.275),
)
CALIBRATED_EMBEDDER: Final = "all-MiniLM-L6-v2"
CALIBRATORS: Final = {
    "both": Calibrator(
        answerable=(-1.304, 0.486, 13.375, 0.0, 3.151, -0.539, 0.666, -1.945, -0.32, -3.588),
        hit=(-0.938, 0.377, 0.533),
        abstain_below=0.206,
        keep_from=0.016,
    ),
    "text": Calibrator(
        answerable=(0.59, 0.545, 0.0, 2.535, 0.0, -0.019, 1.829, -1.105, 0.0, -3.608),
        hit=(-1.121, 0.561, 0.516),
        abstain_below=0.24,
        keep_from=0.022,
    ),
    "vector": Calibrator(
        answerable=(-2.373, 0.63, 15.257, 0.0, 0.0, -0.381, 0.115, -1.625, -0.36, 0.0),
        hit=(-0.41, 0.434, 0.725),
        abstain_below=0.166,
        keep_from=0.008,
    ),
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """Features of one query's candidates, and its inputs for gate and calibration.

    Shapes: `keys` (candidates,), `features` (candidates, FEATURES), `signals` (SIGNALS,). `size` is the number of texts
    that are searched, `stranger` as of `names_strangers`. `kept` says which candidates a filter keeps, None for all: the others
    give features to their neighbours, and are in no ranking.
    """

    keys: Keys
    features: Array
    signals: Array
    best_cosine: float
    best_coverage: float
    size: int
    stranger: bool
    kept: Flags | None = None


def bm25(counts: TermCounts, total_idf: float) -> Array:
    """BM25 of each unit, as a share of the query's total term weight; about 0..2.

    Args:
        counts: Statistics of one level of text.
        total_idf: Sum of the weights of the query's terms, those that occur nowhere included.

    Returns:
        Shape (units,). Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009).
    """
    if not len(counts.unit):
        return np.zeros(len(counts.length))
    norm = BM25_K1 * (1 - BM25_B + BM25_B * counts.length.astype(np.float64) / max(counts.average_length, 1e-9))
    tf = counts.tf.astype(np.float64)
    weights = idf(counts)[counts.term] * tf * (BM25_K1 + 1) / (tf + norm[counts.unit])
    return np.bincount(counts.unit, weights=weights, minlength=len(counts.length)) / total_idf


def idf(counts: TermCounts) -> Array:
    """The inverse document frequency of each query term, shape (terms,); never negative."""
    df = counts.df.astype(np.float64)
    return np.log1p((counts.count - df + 0.5) / (df + 0.5))


def coverage(counts: TermCounts) -> Array:
    """The share of the query's total term weight that each unit contains, shape (units,), 0..1."""
    weights = idf(counts)
    found = np.bincount(counts.unit, weights=weights[counts.term], minlength=len(counts.length))
    return found / max(float(weights.sum()), 1e-9)


def weigh_evidence(
    query: str, text: TextCandidates | None, vector: VectorCandidates | None, among: Among | None = None
) -> Evidence:
    """Combine both legs' statistics into features on common scales. A missing leg leaves zeros.

    Features and signals do not depend on a filter: what it leaves out goes on giving features to its neighbours.

    Args:
        query: The query as asked.
        text: The text leg's candidates, or None when it failed.
        vector: The vector leg's, or None; should cover the text leg's keys.
        among: Says which candidates a filter keeps; None where there is no filter.
    """
    text_keys = NO_KEYS if text is None else text.keys
    vector_keys = NO_KEYS if vector is None else vector.keys
    keys = union(text_keys, vector_keys)
    eligible = None if among is None else among(keys)
    kept = np.ones(len(keys), dtype=np.bool_) if eligible is None else eligible.flags
    features = np.zeros((len(keys), len(FEATURES)))
    best_coverage = best_cosine = 0.0
    if vector is not None and len(vector_keys):
        rows = _rows(keys, vector_keys)
        features[rows, 0] = _standardised(vector)
        features[rows, 1] = _length_prior(vector.words)
        best_cosine = float(vector.cosine[kept[rows]].max(initial=_COSINE_MIN))
    if text is not None and len(text_keys):
        rows = _rows(keys, text_keys)
        total_idf = max(float(idf(text.turn).sum()), 1e-9)
        features[rows, 1] = _length_prior(text.words)
        features[rows, 2] = bm25(text.turn, total_idf) * BM25_SCALE
        features[rows, 3] = bm25(text.neighbours, total_idf) * BM25_SCALE
        features[rows, 4] = bm25(text.session, total_idf)[text.session_unit] * BM25_SCALE
        features[rows, 5] = text.spoken
        best_coverage = float(coverage(text.turn)[kept[rows]].max(initial=0.0))
    size = max(0 if text is None else text.turn.count, 0 if vector is None else vector.count)
    size = size if eligible is None else eligible.count
    stranger = text is not None and names_strangers(query, _known_terms(query, text))
    signals = _signals(query, text, features)
    return Evidence(
        keys, features, signals, best_cosine, best_coverage, size, stranger, None if eligible is None else kept
    )


def fuse(evidence: Evidence, gate: Gate = GATE) -> Array:
    """First-stage scores, shape (candidates,); comparable within one query."""
    weights = gate_weights(evidence.signals, gate)
    return _dot(evidence.features, weights)


def gate_weights(signals: Array, gate: Gate = GATE) -> Array:
    """The weight of each feature for a query with these signals, shape (FEATURES,)."""
    # exp and logistic keep the weights positive: a free gate failed on texts it was not fitted to (ADR 0003).
    text = math.exp(min(4.0, max(-4.0, float(signals @ np.asarray(gate.text)))))
    context = 1.0 / (1.0 + math.exp(-float(signals @ np.asarray(gate.context))))
    near = context * gate.neighbours_share
    far = context * (1 - gate.neighbours_share)
    return np.array([gate.vector, gate.words, text * (1 - context), text * near, text * far, gate.spoken])


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates, best first. `scores` never increase; with a `calibrator` they are probabilities of relevance.

    `answerable` is the probability that an answer is there at all. Shapes: `keys`, `scores` (candidates,); `parts`
    (reranked, LOOKS), of the first candidates: what each feature added to the score before calibration.
    """

    keys: Keys
    scores: Array
    calibrator: Calibrator | None
    parts: Array
    answerable: float = 1.0

    def legs(self, place: int) -> dict[str, float]:
        """What each feature added to a candidate's score, by name, zeros left out; empty where it was not reranked."""
        if place >= len(self.parts):
            return {}
        named = zip(LOOKS, self.parts[place], strict=True)
        return {name: round(float(part), SCORE_DECIMALS) for name, part in named if round(float(part), SCORE_DECIMALS)}


def rank(
    query: str,
    text: TextCandidates | None,
    vector: VectorCandidates | None,
    embedder: str | None,
    around: Around = nowhere,
    period: Period = never,
    among: Among | None = None,
) -> Ranking:
    """Rank the candidates of one query by decreasing score; of equal ones, first the one that arrived first.

    Args:
        query: The query as asked.
        text: The text leg's candidates, or None when it failed.
        vector: The vector leg's, or None.
        embedder: Name of the vectors' embedder; calibration holds only for the one it was fitted with.
        around: Context of episodes, by key.
        period: The period that the query asks about, if it names one.
        among: Says which candidates a filter keeps; None keeps all.
    """
    evidence = weigh_evidence(query, text, vector, among)
    legs = _answering_legs(text, vector)
    first = first_look(evidence)
    order, fused, parts = look_again(evidence, first, REFINERS[legs], around, period)
    known = legs == "text" or embedder == CALIBRATED_EMBEDDER
    calibrator = CALIBRATORS[legs]
    odds = float(answer_signs(evidence, first) @ np.asarray(calibrator.answerable))
    scores = np.round(hit_probabilities(calibrator, odds, fused), SCORE_DECIMALS)
    answerable = round(float(logistic(odds)), SCORE_DECIMALS)
    return Ranking(evidence.keys[order], scores, calibrator if known else None, parts, answerable)


def look_again(
    evidence: Evidence, first: FirstLook, refiner: Refiner, around: Around, period: Period
) -> tuple[Rows, Array, Array]:
    """Rerank: the order of the candidates that are kept, their scores in that order, and the reranked ones' score parts.

    Candidates beyond the first `REFINED_CANDIDATES_COUNT` follow below, with the order and distances of the first
    stage.
    """
    fused = first.fused
    order = _falling(fused)
    order = order if evidence.kept is None else order[evidence.kept[order]]
    head, tail = order[:REFINED_CANDIDATES_COUNT], order[REFINED_CANDIDATES_COUNT:]
    looks = second_look(first, head, around(first.keys[head]), period)
    scores, parts = refined(refiner, looks, evidence.signals)
    scores = np.round(scores, SCORE_DECIMALS)
    again = _falling(scores, head)
    behind = scores[again[-1:]] + fused[tail] - fused[head[-1:]]
    return np.concatenate([head[again], tail]), np.concatenate([scores[again], behind]), parts[again]


def first_look(evidence: Evidence) -> FirstLook:
    """The first stage's rounded scores and feature columns, on which the second stage builds."""
    fused = np.round(fuse(evidence), SCORE_DECIMALS)
    columns = {name: evidence.features[:, place] for place, name in enumerate(FEATURES)}
    return FirstLook(evidence.keys, fused, columns)


def _answering_legs(text: TextCandidates | None, vector: VectorCandidates | None) -> str:
    """Which parameters apply; while most texts have no vector yet, a low best cosine means nothing."""
    if text is None:
        return "vector"
    return "text" if vector is None or 2 * vector.count < text.turn.count else "both"


def hit_probabilities(calibrator: Calibrator, odds: float, fused: Array) -> Array:
    """The probability that each candidate is relevant, shape (candidates,); increases with `fused` within one query.

    Args:
        calibrator: For the legs that answered.
        odds: Log-odds that there is an answer.
        fused: The candidates' scores.
    """
    bias, level, share = calibrator.hit
    return logistic(bias + level * odds + share * log_shares(fused))


def falls_off(above: float, below: float) -> bool:
    """Whether relevance drops so far between two consecutive hits that the lower one is not shown (ADR 0011).

    Args:
        above: The probability of a hit.
        below: That of the next hit.
    """
    return above >= CLIFF_FROM and below <= CLIFF_SHARE * above


def logistic(logit: Array | float) -> Array:
    """Probabilities from log-odds."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logit, -50.0, 50.0))), dtype=np.float64)


def log_odds(chance: float) -> float:
    """The log-odds of a probability, which is clipped to one in a million from 0 and 1."""
    sure = min(max(chance, 1e-6), 1 - 1e-6)
    return float(np.log(sure / (1 - sure)))


def log_shares(fused: Array) -> Array:
    """The logarithm of each candidate's share under the softmax of the fitted loss; never above 0."""
    if not len(fused):
        return fused
    top = float(fused.max())
    shares: Array = fused - top - math.log(float(np.exp(fused - top).sum()))
    return shares


def answer_signs(evidence: Evidence, first: FirstLook) -> Array:
    """The inputs of the calibration, shape (SIGNS,).

    The store's size is one of them: the best of many irrelevant scores is higher than the best of few.

    Args:
        evidence: The query's.
        first: Its candidates with their first-stage scores.
    """
    fused = first.fused if evidence.kept is None else first.fused[evidence.kept]
    top = float(fused.max(initial=0.0))
    covered = min(1.0, max(0.0, (evidence.best_coverage - COVERED_FROM) / (1 - COVERED_FROM)))
    _, first_person, advice, *_ = evidence.signals
    legs = [top, evidence.best_cosine, evidence.best_coverage, covered]
    log_size = min(math.log10(1 + evidence.size), LOG_SIZE_FITTED)
    store = [log_size, _standing_out(evidence), float(evidence.stranger)]
    return np.array([1.0, *legs, float(first_person), float(advice), *store])


def _standing_out(evidence: Evidence) -> float:
    """The best standardised cosine minus the tenth best: topics recur, a lone near text is chance."""
    column = evidence.features[:, FEATURES.index("vector")]
    column = column if evidence.kept is None else column[evidence.kept]
    if len(column) < STANDS_OUT_OF_COUNT:
        return float(column.max(initial=0.0))
    best = np.partition(column, len(column) - STANDS_OUT_OF_COUNT)[-STANDS_OUT_OF_COUNT:]
    return float(best.max() - best.min())


def _rows(keys: Keys, some: Keys) -> Rows | slice:
    """Rows of `some` among `keys`, both ascending; `some` must be contained in `keys`."""
    return slice(None) if len(keys) == len(some) else np.searchsorted(keys, some)


def _dot(features: Array, weights: Array) -> Array:
    product: Array = np.vecdot(features, weights)
    return product


def _falling(fused: Array, places: Rows | None = None) -> Rows:
    """The order of rounded scores, best first, ties by place; one integer key sorts six times as fast."""
    steps = np.rint(fused * -(10**SCORE_DECIMALS)).astype(np.int64)
    places = np.arange(len(steps)) if places is None else places
    order: Rows = np.argsort(steps * (int(places.max(initial=0)) + 1) + places)
    return order


def _standardised(vector: VectorCandidates) -> Array:
    """Cosines in standard deviations from the namespace's mean; with few texts both are drawn to a prior."""
    total = vector.count + COSINE_PRIOR_COUNT
    mean = (vector.count * vector.mean + COSINE_PRIOR_COUNT * COSINE_MEAN_PRIOR) / total
    variance = (vector.count * vector.deviation**2 + COSINE_PRIOR_COUNT * COSINE_DEVIATION_PRIOR**2) / total
    standardised: Array = (vector.cosine.astype(np.float64) - mean) / math.sqrt(variance)
    return standardised


def _known_terms(query: str, text: TextCandidates) -> frozenset[str]:
    """The query's terms that occur in some text; empty for an empty namespace."""
    return frozenset(term for term, df in zip(query_terms(query), text.turn.df, strict=len(text.turn.df) > 0) if df)


def _length_prior(words: npt.NDArray[np.float32]) -> Array:
    prior: Array = np.log(np.clip(words.astype(np.float64), 1, WORDS_ENOUGH))
    return prior


def _signals(query: str, text: TextCandidates | None, features: Array) -> Array:
    terms = 0 if text is None else len(text.turn.df)
    return np.array(
        [
            1.0,
            float(speaks_of_self(query)),
            float(asks_advice(query)) - 0.5,
            float(text is not None and bool(text.spoken.any())),
            min(terms, 15) / 5 - 1,
            float(features[:, 0].max(initial=0.0)) / 3 - 1,
        ]
    )
