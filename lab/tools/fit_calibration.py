"""Fit `umi._core.ranking.CALIBRATORS`: when is there an answer at all, and how likely is a hit one.

    python lab/tools/fit_calibration.py --data DIR --cache DIR

Stores of a few messages are cut from the sets' too, for the best of many irrelevant cosines is higher than the best of few.
Answerable: the sets' questions, and keywords taken from a random message. Not answerable: nonsense and questions of other
stores (which now and then do have an answer: nobody has labelled them, so 100% refused is neither possible nor wanted).
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fit_common import LEGS, Array, Bench, add_queries, cut, load_benches, recalls

from umi._core.ranking import SIGNS, Calibrator, answer_signs, falls_off, first_look, log_shares, look_again
from umi._core.rerank_weights import REFINERS
from umi._core.text import analyse
from umi._retrieval.period import asked_period

SEED = 1
FOREIGN_PER_SET = 400
KEYWORDS_PER_SET = 300
SMALL_PER_SET = 120  # small stores cut from each set: what answers one question, and random other messages
SMALL_SIZES = (4, 10, 25, 60)
WEIGHTS = {"question": 1.0, "keywords": 0.3, "nonsense": 0.5, "foreign": 0.5}
REFUSED_QUESTIONS = 0.0125  # the share of answerable questions that the threshold may refuse, the sets' mean
LOST_RECALL = 0.003  # what the least probability of a further hit may cost in R@10
NEVER_NEGATIVE = np.array([False, True, True, True, True, False, False, False, False, False])
# Signs that a set of legs does not have, and would only learn noise from.
ABSENT = {"both": (3,), "text": (2, 8), "vector": (3, 4, 9)}

NONSENSE = (
    """
What is the boiling point of tungsten?|Who won the 1954 football world cup final?|How many moons does Neptune have?
What is the capital of Burkina Faso?|Explain the Krebs cycle in plants.|What year was the Treaty of Westphalia signed?
How do I change the timing belt on a 1998 Volvo?|What is the molar mass of potassium permanganate?
Which enzyme unwinds DNA during replication?|Who composed the opera Rigoletto?|How tall is the Burj Khalifa?
What causes the aurora borealis?|Who was the third emperor of the Ming dynasty?|When did the Ottoman Empire fall?
What is the half-life of carbon-14?|What is the tensile strength of spider silk?|Which bones make up the inner ear?
How does a two-stroke outboard motor work?|What is the plot of Hamlet?|How many electrons does zirconium have?
What is the exchange rate of the Mongolian tugrik?|Who discovered penicillin?|How do octopuses change colour?
What is the deepest point of the Mariana Trench?|asdf qwer zxcv uiop|blorptang frobnicates the quuxinator?
zzyzx wibble wobble|purple monkey dishwasher telegraph|flim flam zibble zabble|lorem ipsum dolor sit amet
What is the derivative of arctangent?|Who painted the ceiling of the Sistine Chapel?|What is the GDP of Luxembourg?
How do I solder a copper pipe?|What are the rules of curling?|When was the Hubble telescope launched?
What is the melting temperature of gallium?|What did Napoleon say at Austerlitz?|How is Roquefort cheese made?
What is the population of Ulaanbaatar?|How does a mass spectrometer separate ions?|Which river flows through Baghdad?
What is the wingspan of an albatross?|Who was the captain of the Titanic?|What is the Riemann hypothesis?
How many keys does a harpsichord have?|What is the national bird of Guatemala?|What colour is my submarine?
When is my appointment with the astronaut?|What is the name of my pet crocodile?|Where did I park the helicopter?
Which kingdom did I conquer last winter?|How much did my yacht's anchor cost?|What is the password of my lunar base?
Who repaired my grandfather's zeppelin?|What medal did I win in Olympic fencing?|When do I start at the lighthouse?
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


@dataclass
class Case:
    """One query put to one store: its kind, its signs, the log of its first hits' shares, and which of them are relevant."""

    bench: Bench
    kind: str
    gold: frozenset[str]
    signs: Array
    fused: Array
    ranked: list[int]
    relevant: Array
    query: str

    @property
    def answerable(self) -> bool:
        return self.kind in {"question", "keywords"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    given = parser.parse_args()
    benches = load_benches(given.data, given.cache)
    asked = _queries(benches)
    small, small_asked = _small_stores(benches)
    benches, asked = [*benches, *small], [*asked, *small_asked]
    add_queries(benches, [[text for _, text, _ in group] for group in asked], given.cache)
    for legs in LEGS:
        cases = [_case(bench, legs, *each) for bench, group in zip(benches, asked, strict=True) for each in group]
        calibrator = fit(cases, legs)
        print(f"{legs}: {calibrator}")
        _report(cases, calibrator, legs)


def _queries(benches: Sequence[Bench]) -> list[list[tuple[str, str, frozenset[str]]]]:
    """For each bench its queries: kind, text, what answers."""
    chance = random.Random(SEED)
    stores = {name: sum(bench.collection.dataset == name for bench in benches) for name in _sets(benches)}
    result = []
    for bench in benches:
        own = bench.collection
        share = stores[own.dataset]
        others = [each.text for other in benches if other is not bench for each in other.collection.questions]
        group = [("question", each.text, each.gold) for each in own.questions]
        group += [("nonsense", text, frozenset[str]()) for text in NONSENSE]
        group += [("foreign", text, frozenset[str]()) for text in chance.sample(others, FOREIGN_PER_SET // share)]
        group += [("unanswerable", text, frozenset[str]()) for text in own.unanswerable]
        for place in chance.sample(range(len(own.messages)), min(len(own.messages), KEYWORDS_PER_SET // share)):
            message = own.messages[place]
            text = _keywords(bench, message.content, chance)
            if text:
                group.append(("keywords", text, frozenset([str(message.session if own.by_session else message.id)])))
        result.append(group)
    return result


def _small_stores(benches: Sequence[Bench]) -> tuple[list[Bench], list[list[tuple[str, str, frozenset[str]]]]]:
    """Cut small stores around single questions; to each, that question, two of other stores, and two of nonsense."""
    chance = random.Random(SEED + 1)
    small, asked = [], []
    for name in _sets(benches):
        pool = [
            (bench, each)
            for bench in benches
            if bench.collection.dataset == name
            for each in bench.collection.questions
        ]
        strange = [
            each.text for bench in benches if bench.collection.dataset != name for each in bench.collection.questions
        ]
        for number, (bench, question) in enumerate(chance.sample(pool, SMALL_PER_SET)):
            answers = np.concatenate(bench.gold_units(question.gold)).tolist()
            size = SMALL_SIZES[number % len(SMALL_SIZES)]
            others = chance.sample(range(len(bench.collection.messages)), min(size, len(bench.collection.messages)))
            small.append(cut(bench, sorted({*answers, *others})))
            group = [("question", question.text, question.gold)]
            group += [("foreign", text, frozenset[str]()) for text in chance.sample(strange, 2)]
            group += [("nonsense", text, frozenset[str]()) for text in chance.sample(NONSENSE, 2)]
            asked.append(group)
    return small, asked


def _sets(benches: Sequence[Bench]) -> list[str]:
    return sorted({bench.collection.dataset for bench in benches})


def _keywords(bench: Bench, content: str, chance: random.Random) -> str:
    """One to three of a message's rarer words."""
    words = [word for word in dict.fromkeys(re.findall(r"[A-Za-z][\w'-]+", content)[:60]) if analyse(word)]
    frequency = {word: bench.index.text_candidates(analyse(word)).turn.df.min() for word in words}
    rare = sorted(words, key=lambda word: (frequency[word], word))
    skipped = chance.randrange(2)
    return " ".join(rare[skipped : skipped + chance.randrange(1, 4)])


def _case(bench: Bench, legs: str, kind: str, text: str, gold: frozenset[str]) -> Case:
    evidence = bench.evidence(text, legs)
    first = first_look(evidence)
    order, fused, _ = look_again(evidence, first, REFINERS[legs], bench.index.surroundings, asked_period(text))
    order, fused = order[:100], log_shares(fused)[:100]
    keys = [int(key) for key in evidence.keys[order]]
    units = bench.gold_units(gold)
    answers = np.concatenate(units) if units else np.empty(0, dtype=np.int64)
    relevant = np.isin(evidence.keys[order], answers).astype(float)
    return Case(bench, kind, gold, answer_signs(evidence, first), fused, keys, relevant, text)


def _logistic(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def _fit_logistic(x: Array, y: Array, weight: Array, never_negative: Array, ridge: float = 1e-3) -> Array:
    """Newton's method on standardised columns (the first is the bias); signs held at 0 where they would turn negative."""
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    mean[0], deviation[deviation == 0] = 0.0, 1.0
    z = (x - mean) / deviation
    slopes, free = np.zeros(x.shape[1]), np.ones(x.shape[1], dtype=bool)
    for _ in range(60):
        p = _logistic(z @ slopes)
        gradient = z.T @ (weight * (p - y)) + ridge * slopes
        curvature = (z * (weight * p * (1 - p))[:, None]).T @ z + ridge * np.eye(len(slopes))
        slopes[free] -= np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        negative = never_negative & (slopes < 0)
        slopes[negative] = 0.0
        free &= ~negative
    plain = slopes / deviation
    plain[0] = slopes[0] - (slopes[1:] * mean[1:] / deviation[1:]).sum()
    return plain


def fit(cases: Sequence[Case], legs: str) -> Calibrator:
    used = [case for case in cases if case.kind in WEIGHTS]
    sizes: dict[tuple[str, str], int] = {}
    for case in used:
        key = (case.bench.name, case.kind)
        sizes[key] = sizes.get(key, 0) + 1
    weight = np.array([WEIGHTS[case.kind] / sizes[case.bench.name, case.kind] for case in used])
    weight /= weight.sum()
    x = np.stack([case.signs for case in used])
    x[:, list(ABSENT[legs])] = 0.0
    y = np.array([float(case.answerable) for case in used])
    answerable = _fit_logistic(x, y, weight, NEVER_NEGATIVE)

    odds = x @ answerable
    rows = [(number, place) for number, case in enumerate(used) for place in range(min(10, len(case.relevant)))]
    hits = np.array([[1.0, odds[number], used[number].fused[place]] for number, place in rows])
    labels = np.array([used[number].relevant[place] for number, place in rows])
    hit = _fit_logistic(hits, labels, np.array([weight[number] for number, _ in rows]), np.array([False, True, True]))

    rounded = tuple(round(float(value), 3) for value in answerable)
    bias, level, share = (round(float(value), 3) for value in hit)
    draft = Calibrator(rounded, (bias, level, share), 0.0, 0.0)
    abstain = _threshold(used, draft)
    return Calibrator(rounded, (bias, level, share), abstain, _least(used, draft))


def _best(case: Case, calibrator: Calibrator) -> float:
    return float(_logistic(np.float64(case.signs @ np.asarray(calibrator.answerable))))


def _probabilities(case: Case, calibrator: Calibrator) -> Array:
    bias, level, share = calibrator.hit
    return _logistic(bias + level * float(case.signs @ np.asarray(calibrator.answerable)) + share * case.fused)


def _by_set(cases: Sequence[Case], kind: str) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in cases:
        if case.kind == kind:
            found.setdefault(case.bench.name, []).append(case)
    return found


def _threshold(cases: Sequence[Case], calibrator: Calibrator) -> float:
    groups = [np.array([_best(case, calibrator) for case in group]) for group in _by_set(cases, "question").values()]
    levels = np.arange(0.0, 1.0, 0.002)
    refused = np.array([np.mean([(group < level).mean() for group in groups]) for level in levels])
    return round(float(levels[refused <= REFUSED_QUESTIONS][-1]), 3)


def _least(cases: Sequence[Case], calibrator: Calibrator) -> float:
    """The highest probability a further hit may be asked for at the cost allowed, on the set that it costs most."""
    groups = _by_set(cases, "question").values()

    def recall(level: float) -> Array:
        return np.array([np.mean([_recall(case, calibrator, 0.0, level) for case in group]) for group in groups])

    full = recall(0.0)
    levels = [level for level in np.arange(0.0, 0.2, 0.002) if (recall(float(level)) >= full - LOST_RECALL).all()]
    return round(float(levels[-1]), 3)


def _recall(case: Case, calibrator: Calibrator, abstain: float, least: float) -> float:
    return recalls(case.bench, case.gold, _kept(case, calibrator, abstain, least, falling=False))[1]


def _kept(case: Case, calibrator: Calibrator, abstain: float, least: float, *, falling: bool) -> list[int]:
    """What is shown, best first; with `falling` only until relevance falls off."""
    if _best(case, calibrator) < abstain:
        return []
    likely = _probabilities(case, calibrator)
    kept = likely >= least
    kept[:1] = True
    if falling:
        drops = [place for place in range(1, len(likely)) if falls_off(likely[place - 1], likely[place])]
        kept[min(drops, default=len(likely)) :] = False
    return [key for key, keep in zip(case.ranked, kept, strict=True) if keep]


def _report(cases: Sequence[Case], calibrator: Calibrator, legs: str) -> None:
    names = sorted({case.bench.name for case in cases})
    for kind in ("question", "keywords", "nonsense", "foreign", "unanswerable"):
        groups = _by_set(cases, kind)
        shares = {
            n: np.mean([_best(c, calibrator) < calibrator.abstain_below for c in groups[n]])
            for n in names
            if n in groups
        }
        print(f"  {legs} refused {kind:13}", {name: round(100 * float(share), 1) for name, share in shares.items()})
    groups = _by_set(cases, "question")
    for title, abstain, least, falling in (
        ("everything", 0.0, 0.0, False),
        ("threshold ", calibrator.abstain_below, calibrator.keep_from, False),
        ("falling   ", calibrator.abstain_below, calibrator.keep_from, True),
    ):
        kept = {n: [_kept(case, calibrator, abstain, least, falling=falling) for case in groups[n]] for n in names}
        found = {
            n: np.mean([recalls(case.bench, case.gold, keys)[1] for case, keys in zip(groups[n], kept[n], strict=True)])
            for n in names
        }
        print(f"  {legs} R@10, {title}", {name: round(100 * float(share), 2) for name, share in found.items()})
        shown = {n: np.mean([min(10, len(keys)) for keys in kept[n]]) for n in names}
        print(f"  {legs} shown, {title}", {name: round(float(count), 2) for name, count in shown.items()})
    top = [(float(_probabilities(case, calibrator)[0]), case.relevant[0]) for case in cases if len(case.relevant)]
    for low in np.arange(0, 1, 0.2):
        inside = [hit for p, hit in top if low <= p < low + 0.2]
        if inside:
            print(f"  {legs} first hits at {low:.1f}..{low + 0.2:.1f}: {np.mean(inside):.2f} relevant of {len(inside)}")


if __name__ == "__main__":
    print(f"signs {SIGNS}")
    main()
