"""What others say of finished work, and the one number it comes to (seed 003).

    facts   = (0.5 * outcome + 0.2 * quality_score + 0.3 * factors) / (the weights of what is there)
    quality = facts, and then what a human said: see `judged`

A signal is data of somebody else's: `fault` says what is wrong with one, and nothing here trusts a field before it was asked.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from umi.errors import InvalidInput
from umi.limits import LEARN_WEIGHT_RATIO_MAX, NAME_BYTES_MAX, SIGNAL_DESCRIPTION_BYTES_MAX


class Outcome(StrEnum):
    """How a task ended."""

    SUCCESS = "success"
    PARTIAL_SUCCESS = "partial_success"
    FAILURE = "failure"


class Verdict(StrEnum):
    """What a human said of it."""

    APPROVED = "approved"
    REJECTED = "rejected"


OUTCOME_QUALITY: Final = {Outcome.SUCCESS: 1.0, Outcome.PARTIAL_SUCCESS: 0.5, Outcome.FAILURE: 0.0}
OUTCOME_SHARE: Final = 0.5
SCORE_SHARE: Final = 0.2
FACTORS_SHARE: Final = 0.3
REJECTED_QUALITY: Final = 0.2  # a human's no outweighs every green light
APPROVED_FAILURE_QUALITY: Final = 0.5  # a human's yes to a failure: one of the two is wrong, and we do not know which


@dataclass(frozen=True, slots=True)
class QualityFactors:
    """Nine things that may be assessed, each 0..1; None was not assessed (seed 003)."""

    acceptance_criteria_met: float | None = None
    tests_passing: float | None = None
    no_regressions: float | None = None
    lint_clean: float | None = None
    type_check_clean: float | None = None
    follows_patterns: float | None = None
    context_relevance: float | None = None
    reasoning_coherence: float | None = None
    execution_efficiency: float | None = None


GROUPS: Final = {
    "task_completion": ("acceptance_criteria_met", "tests_passing", "no_regressions"),
    "code_quality": ("lint_clean", "type_check_clean", "follows_patterns"),
    "process": ("context_relevance", "reasoning_coherence", "execution_efficiency"),
}


@dataclass(frozen=True, slots=True)
class ProviderQualityWeights:
    """How much each group of factors counts for one provider, 0 to 1,000,000 each, not all 0. People set them; nothing here ever does."""

    task_completion: float = 0.5
    code_quality: float = 0.3
    process: float = 0.2


@dataclass(frozen=True, slots=True)
class QualitySignal:
    """One external judgement of one finished task (seed 003).

    Args:
        id: Its provider's name for it; the same (provider, id) counts once.
        task_description: What the task was, in words: matches the signal when no id does.
        outcome: "success", "partial_success" or "failure".
        quality_score: 0..1, the provider's own measure.
        completed_at: When, ISO 8601 with an offset.
        human_verdict: "approved", "rejected" or None.
        quality_factors: What was assessed in detail.
        recall_id: `RecallReceipt.id` of the recall that served the task.
        task_id: The task that recalls were made for (`recall(task_id=)`).
        decision_id: A routed model call.
    """

    id: str
    task_description: str
    outcome: str
    quality_score: float
    completed_at: str
    human_verdict: str | None = None
    quality_factors: QualityFactors | None = None
    recall_id: str | None = None
    task_id: str | None = None
    decision_id: str | None = None


def worth_of(outcome: object) -> float:
    """What an outcome counts as where no score says more; 0 for what is none, which `fault` refuses."""
    # Compared and not looked up: what a caller gives may have no hash.
    return next((worth for one, worth in OUTCOME_QUALITY.items() if one == outcome), 0.0)


@dataclass(frozen=True, slots=True)
class UndatedSignal(QualitySignal):
    """A signal whose source does not say when: `completed_at` is a guess and no part of what the signal says."""


def quality(signal: QualitySignal, weights: ProviderQualityWeights | None = None) -> float:
    """The composite score of a sound signal, 0..1.

    Args:
        signal: One without a fault.
        weights: The provider's; None takes the defaults.
    """
    parts = [(OUTCOME_SHARE, OUTCOME_QUALITY[Outcome(signal.outcome)]), (SCORE_SHARE, float(signal.quality_score))]
    factors = factors_quality(signal.quality_factors, weights or ProviderQualityWeights())
    if factors is not None:
        parts.append((FACTORS_SHARE, factors))
    facts = sum(share * value for share, value in parts) / sum(share for share, _ in parts)
    return round(judged(facts, Outcome(signal.outcome), signal.human_verdict), 6)


def judged(facts: float, outcome: Outcome, verdict: str | None) -> float:
    """The quality once a human has spoken.

    A rejection holds whatever the machines say: at most 0.2. An approval lifts halfway to 1, unless the task failed: then the two
    disagree and it counts for neither, at most 0.5.
    """
    if verdict == Verdict.REJECTED:
        return min(facts, REJECTED_QUALITY)
    if verdict == Verdict.APPROVED:
        lifted = (1.0 + facts) / 2
        return min(lifted, APPROVED_FAILURE_QUALITY) if outcome is Outcome.FAILURE else lifted
    return facts


def factors_quality(factors: QualityFactors | None, weights: ProviderQualityWeights) -> float | None:
    """The weighted mean over the groups of which something was assessed, each group the mean of what was; None when nothing was."""
    total = reached = 0.0
    for group, names in GROUPS.items():
        assessed = [value for name in names if (value := getattr(factors, name, None)) is not None]
        if assessed:
            weight = float(getattr(weights, group))
            total += weight
            reached += weight * sum(assessed) / len(assessed)
    return reached / total if total else None


def digest(signal: QualitySignal) -> str:
    """What a signal says, as a hash: the same id with another digest is a contradiction."""
    said = asdict(signal)
    # The guess may be another one each time that the same source is read, which contradicts nothing.
    if isinstance(signal, UndatedSignal):
        del said["completed_at"]
    packed = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(packed.encode("ascii")).hexdigest()[:32]


def completed(signal: QualitySignal) -> datetime:
    """When the task was completed, in UTC.

    Raises:
        InvalidInput: When that cannot be read.
    """
    try:
        moment = datetime.fromisoformat(signal.completed_at)
        if moment.tzinfo is None:
            raise InvalidInput(f"completed_at {signal.completed_at!r} has no offset; write 2026-01-31T12:00:00Z")
        return moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"completed_at {signal.completed_at!r} is no ISO 8601 time") from None


def fault(signal: object) -> str | None:
    """What is wrong with a signal, in words; None when nothing is."""
    if not isinstance(signal, QualitySignal):
        return f"not a QualitySignal but a {type(signal).__name__}"
    try:
        _check_words(signal)
        _check_numbers(signal)
        completed(signal)
    except InvalidInput as error:
        return str(error)
    return None


def weights_fault(weights: object) -> str | None:
    """What is wrong with a provider's weights, in words; None when nothing is."""
    if not isinstance(weights, ProviderQualityWeights):
        return f"weights must be ProviderQualityWeights or None, got {type(weights).__name__}"
    values = [getattr(weights, group) for group in GROUPS]
    sound = all(_is_number(value) and value >= 0 for value in values)
    if sound and max(values) > LEARN_WEIGHT_RATIO_MAX:
        vast = [group for group, value in zip(GROUPS, values, strict=True) if value > LEARN_WEIGHT_RATIO_MAX]
        return f"weights must be at most {LEARN_WEIGHT_RATIO_MAX:,} each, and {', '.join(vast)} is more"
    if not sound or not sum(values) > 0:
        return f"weights must be 0 or more and not all 0, got {values}"
    return None


def signal_from(record: object) -> QualitySignal:
    """A signal from a mapping as JSON gives it; fields that Umi does not know are left out.

    Raises:
        InvalidInput: When it is none, or not a sound one; says why.
    """
    if not isinstance(record, Mapping):
        raise InvalidInput(f"a signal is an object, got {type(record).__name__}")
    given = {each.name: record[each.name] for each in fields(QualitySignal) if each.name in record}
    missing = [each.name for each in fields(QualitySignal)[:5] if each.name not in given]
    if missing:
        raise InvalidInput(f"a signal needs {', '.join(missing)}")
    if given.get("quality_factors") is not None:
        given["quality_factors"] = _factors(given["quality_factors"])
    signal = QualitySignal(**given)
    wrong = fault(signal)
    if wrong is not None:
        raise InvalidInput(wrong)
    return signal


def _factors(value: Any) -> QualityFactors:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"quality_factors must be an object, got {type(value).__name__}")
    known = {each.name for each in fields(QualityFactors)}
    return QualityFactors(**{name: value[name] for name in sorted(known) if name in value})


def _check_words(signal: QualitySignal) -> None:
    _check_text("id", signal.id, NAME_BYTES_MAX)
    _check_text("task_description", signal.task_description, SIGNAL_DESCRIPTION_BYTES_MAX, blank=True)
    for name in ("recall_id", "task_id", "decision_id"):
        if (value := getattr(signal, name)) is not None:
            _check_text(name, value, NAME_BYTES_MAX)
    if not isinstance(signal.outcome, str) or signal.outcome not in list(Outcome):
        raise InvalidInput(f"outcome must be one of {', '.join(Outcome)}, got {signal.outcome!r:.80}")
    verdict = signal.human_verdict
    if verdict is not None and (not isinstance(verdict, str) or verdict not in list(Verdict)):
        raise InvalidInput(f"human_verdict must be {' or '.join(Verdict)} or nothing, got {verdict!r:.80}")


def _check_text(name: str, value: object, bytes_max: int, *, blank: bool = False) -> None:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text, got {type(value).__name__}")
    size = len(value.encode("utf-8", "replace"))
    if size > bytes_max:
        raise InvalidInput(f"{name} has {size:,} bytes, the limit is {bytes_max:,}")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InvalidInput(f"{name} is not valid text")
    if not blank and not value.strip():
        raise InvalidInput(f"{name} is blank")


def _check_numbers(signal: QualitySignal) -> None:
    _check_fraction("quality_score", signal.quality_score)
    factors = signal.quality_factors
    if factors is None:
        return
    if not isinstance(factors, QualityFactors):
        raise InvalidInput(f"quality_factors must be QualityFactors, got {type(factors).__name__}")
    for each in fields(QualityFactors):
        if (value := getattr(factors, each.name)) is not None:
            _check_fraction(f"quality_factors.{each.name}", value)


def _check_fraction(name: str, value: object) -> None:
    if not _is_number(value) or not 0 <= value <= 1:  # type: ignore[operator]
        vast = isinstance(value, int) and value.bit_length() > 64  # Python refuses to write out the longest
        raise InvalidInput(f"{name} must be a number in 0..1, got {'a vast number' if vast else repr(value)[:80]}")


def _is_number(value: object) -> bool:
    # A whole number of a thousand digits is not finite as a float, and asking would raise.
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and (isinstance(value, int) or math.isfinite(value))
    )
