"""Estimate how hard a task is, 0..1, from its words; and correct later estimates by how far earlier ones were off.

Words are matched whole, so "improve" does not count as "prove".

    complexity = clip(0.4 + 0.45 hard - 0.32 easy (1 - hard) + 0.1 size + structure)     hard, easy: 0, or 1 - 2 ** -(1 + hits)
    calibrated = clip(complexity - bias),   bias = mean(predicted - actual), shrunk towards 0 and bounded

The weights were set by hand and are fitted to no data. What outcomes teach is added in `umi._learning.routing.heads`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from umi._core.validate import fraction
from umi.errors import InvalidInput
from umi.limits import ROUTE_BIAS_RATIO_MAX, ROUTE_TEXT_CHARACTERS_MAX
from umi.types.routing_rows import TIERS

BALANCED_FROM: Final = 1 / 3  # least complexity for the tier "balanced"
STRONG_FROM: Final = 2 / 3  # and for "strong"
FEATURES_COUNT: Final = 11  # of `Reading.features`
BIAS_STRENGTH: Final = 10.0  # weight of the prior that there is no bias, in estimates


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", re.IGNORECASE)


# Words of tasks that need thought: proof, design, diagnosis, judgement.
_HARD: Final = _words(
    "prov(?:e|es|ed|en|ing)", "disprov(?:e|es|ing)", "proofs?", "deriv(?:e|es|ing|ation)", "theorem", "lemma", "conjecture",
    "counterexamples?", "by induction", "formal(?:ly|ise|ize)", "np-hard", "undecidab(?:le|ility)", "asymptotic(?:ally)?",
    "(?:re)?design(?:s|ing)?", "(?:re-?)?architect(?:ure|ing)?", "invent", "strategy", "plan(?:s|ning)? (?:a|an|the|our|how|for)",
    "refactor(?:ing)?", "debug(?:ging)?", "diagnos(?:e|es|ing|is)", "optimi[sz](?:e|es|ing|ation)", "root causes?",
    "race conditions?", "races", "deadlocks?", "concurren(?:t|tly|cy)", "distributed", "consensus", "migrat(?:e|es|ing|ion)",
    "memory leaks?", "vulnerabilit(?:y|ies)", "exploit(?:s|able)?", "threat models?", "scal(?:e|es|ing) to", "thread-safe",
    "backwards? compatib(?:le|ility)", "fault[- ]toleran(?:t|ce)", "analy[sz](?:e|es|ing|is)", "compar(?:e|es|ing) and", "evaluat(?:e|es|ing)",
    "assess(?:es|ing|ment)?", "critiqu(?:e|es|ing)", "critically", "investigat(?:e|es|ing)", "reconcil(?:e|es|ing)", "trade-?offs?",
    "implications?", "justif(?:y|ies|ication)", "why (?:do|does|did|is|are|would)", "forecast(?:s|ing)?", "simulat(?:e|es|ing|or)",
    "synthesi[sz](?:e|es|ing)", "argu(?:e|es|ing) (?:for|against|that|whether)", "hypothes(?:is|es|ise|ize)", "reverse[- ]engineer(?:ing)?",
    "algorithms?", "compilers?", "solv(?:e|es|ing)", "calibrat(?:e|es|ing)", "negotiat(?:e|es|ing)", "interpret(?:s|ing)?", "reason about",
    "from scratch", "end[- ]to[- ]end", "step by step", "edge cases?", "shortest path",
)  # fmt: skip
# Words of tasks that a simple rule could nearly do: a small change, a lookup, a conversion.
_EASY: Final = _words(
    "typos?", "spell(?:ed|ing|check)?", "misspell(?:ed|ing|ings)?", "renam(?:e|es|ing)", "capitali[sz](?:e|es|ing)", "lower-?case", "upper-?case",
    "(?:re)?format (?:the|this|these|it|as)", "indent(?:s|ation)?", "whitespace", "trailing", "punctuation", "commas?", "lint", "alphabetical(?:ly)?",
    "sort(?:s|ed)?", "list(?:s|ing)?", "count(?:s|ing)?", "translat(?:e|es)", "convert(?:s|ing)?", "cop(?:y|ies)", "paste", "delet(?:e|es|ing)",
    "remov(?:e|es|ing)", "bump(?:s|ing)?", "version number", "greet(?:ing|ings)?", "say (?:hi|hello|thanks|goodbye)", "thank(?:s| you)?", "hello",
    "defin(?:e|ition) (?:of )?the (?:word|term)", "look up", "what (?:is|was) the (?:name|date|capital|time|colou?r|title|address|price|phone|email)",
    "what (?:day|time|colou?r)", "when (?:is|was)", "who (?:wrote|(?:is|was) the)", "where (?:is|was) the", "titles?", "labels?", "tags?", "colou?rs?",
    "buttons?", "captions?", "headings?", "placeholder", "readme", "changelog", "emojis?", "comments?", "log line", "print", "opening hours",
    "phone number", "email address", "add (?:a|the|an)", "set the", "change the", "update the", "swap the", "shorten", "show(?:s)? (?:me )?the", "read out",
    "remind(?:er)?", "yes or no", "pick (?:a|one|the)", "round", "sum (?:of|up)",
)  # fmt: skip
# Words that add a condition to a task.
_BINDING: Final = _words(
    "must",
    "never",
    "without",
    "unless",
    "except",
    "only if",
    "at least",
    "at most",
    "exactly",
    "guarantee(?:s|d)?",
    "not",
)
_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_SENTENCE_END: Final = re.compile(r"[.!?](?:\s|$)")
_MATHS: Final = re.compile(r"[=+*/^<>\\%$≤≥≠∑∫√]")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a task's words say.

    `complexity` is 0..1 before calibration; `features` are the inputs of `umi._learning.routing.heads`, each about
    -3..3.
    """

    complexity: float
    features: tuple[float, ...]


def read(text: str) -> Reading:
    """Estimate a task. Of a very long text only the beginning and the end are read.

    Args:
        text: The task in words.
    """
    text = _ends(text)
    words = _WORD.findall(text.lower())
    hard, easy, binding = (len(pattern.findall(text)) for pattern in (_HARD, _EASY, _BINDING))
    numbers = sum(word.isdigit() for word in words)
    signs = len(_MATHS.findall(text))
    size = math.log1p(len(words))
    structure = 0.02 * min(5, binding) + 0.02 * min(3, signs) + 0.02 * min(3, text.count("```"))
    thought, chore = _full(hard), _full(easy)
    raw = 0.4 + 0.45 * thought - 0.32 * chore * (1 - thought) + 0.1 * _clip((size - 3) / 2, -1.0, 1.5) + structure
    complexity = round(_clip(raw, 0.0, 1.0), 6)
    count = max(1, len(words))
    # Each feature is shifted and scaled by hand so that common tasks lie near 0.
    features = (
        size - 3.5,
        math.log1p(len(_SENTENCE_END.findall(text))) - 1.0,
        10 * numbers / count - 0.5,
        math.log1p(numbers) - 1.0,
        sum(map(len, words)) / count - 4.5,
        min(3.0, 100 * signs / max(1, len(text))) - 0.5,
        min(3.0, text.count("?")) - 1.0,
        math.log1p(text.count(",")) - 1.0,
        min(3.0, binding) - 0.5,
        5 * (len(set(words)) / count - 0.7),
        4 * (complexity - 0.5),
    )
    return Reading(complexity, tuple(round(value, 4) for value in features))


def tier_of(complexity: float) -> str:
    """The tier for a calibrated complexity when nothing else is known."""
    return TIERS[(complexity >= BALANCED_FROM) + (complexity >= STRONG_FROM)]


class TaskComplexityAnalyzer:
    """Estimates the complexity of tasks and corrects the estimates by feedback (seed 003).

    One bias serves all models, because the estimate is about the task. `calibration_bias(model)` shows the bias of one
    model.
    """

    def __init__(self) -> None:
        self._told: dict[str, tuple[float, int]] = {}  # by model: sum of predicted - actual, and count

    def analyze(self, text: str) -> float:
        """The calibrated complexity of a task, 0..1.

        Raises:
            InvalidInput: When it is no text.
        """
        if not isinstance(text, str):
            raise InvalidInput(f"task must be a str, got {type(text).__name__}")
        return self.calibrated(read(text).complexity)

    def tier(self, text: str) -> str:
        """The tier for a task, from its words and the calibration alone.

        Raises:
            InvalidInput: When it is no text.
        """
        return tier_of(self.analyze(text))

    def calibrated(self, complexity: float) -> float:
        """An estimate minus the bias, within 0..1."""
        return round(_clip(complexity - self.applied_bias(), 0.0, 1.0), 6)

    def record_feedback(self, predicted: float, actual: float, model: str) -> None:
        """Report how hard a task was estimated to be, before calibration, and how hard it turned out.

        Args:
            predicted: `read(text).complexity`, 0..1.
            actual: 0..1.
            model: The model that did the task.

        Raises:
            InvalidInput: For a number outside 0..1, or a model that is no text.
        """
        if not isinstance(model, str):
            raise InvalidInput(f"model must be a str, got {type(model).__name__}")
        total, count = self._told.get(model, (0.0, 0))
        error = fraction(predicted, "predicted") - fraction(actual, "actual")
        self._told[model] = (total + error, count + 1)

    def calibration_bias(self, model: str | None = None) -> float:
        """The mean of predicted - actual: positive where tasks turn out easier than estimated; 0 without feedback.

        Args:
            model: Only this model's tasks; None takes all.
        """
        total, count = self._sums(self._told if model is None else [model])
        return round(total / count, 6) if count else 0.0

    def applied_bias(self) -> float:
        """The bias that is subtracted: shrunk by n / (n + 10), at most `ROUTE_BIAS_RATIO_MAX` either way."""
        total, count = self._sums(self._told)
        return _clip(total / (count + BIAS_STRENGTH), -ROUTE_BIAS_RATIO_MAX, ROUTE_BIAS_RATIO_MAX)

    @property
    def feedback_count(self) -> int:
        """The number of estimates with feedback."""
        return self._sums(self._told)[1]

    def _sums(self, models: Iterable[str]) -> tuple[float, int]:
        told = [self._told.get(model, (0.0, 0)) for model in models]
        return math.fsum(total for total, _ in told), sum(count for _, count in told)


def _full(hits: int) -> float:
    """0 for no hit, 0.75 for one, rising towards 1."""
    return 1.0 - 0.5 ** (1 + hits) if hits else 0.0


def _ends(text: str) -> str:
    """The beginning and the end of a long text."""
    half = ROUTE_TEXT_CHARACTERS_MAX // 2
    return text if len(text) <= 2 * half else f"{text[:half]} {text[-half:]}"


def _clip(value: float, low: float, high: float) -> float:
    return min(high, max(low, value))
