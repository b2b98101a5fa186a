"""Saying something and judging what it does to something said before, without a store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from umi._evolution.rules import Verdict, candidate_slots, judge
from umi._reading.extract import extract_rules
from umi._reading.grammar.statements import Statement, read_statements
from umi.limits import EVOLUTION_SUPERSEDE_CONFIDENCE_MIN
from umi.types import Entity, Episode, EvolutionType

FRIDAY = datetime(2026, 11, 20, 9, tzinfo=UTC)


def said(text: str, *, arrival: int = 0, speaker: str | None = "Sam", role: str = "user") -> Episode:
    at = FRIDAY + timedelta(hours=arrival)
    return Episode(f"epi_{arrival}", text, role, speaker, None, at, at, arrival)


def entities(text: str, *, arrival: int = 0, speaker: str | None = "Sam") -> tuple[Entity, ...]:
    return extract_rules(said(text, arrival=arrival, speaker=speaker), lambda _alias: None).result.entities


def read(text: str, *, speaker: str | None = "Sam", role: str = "user", subject: str | None = None) -> list[Statement]:
    return read_statements(text, speaker=speaker, role=role, at=FRIDAY, subject=subject)


def claims(text: str, **options: str | None) -> list[tuple[str, str, str]]:
    """(subject, slot, value) of each statement; a denied value begins with "not "."""
    found = read(text, **options)  # type: ignore[arg-type]
    return [(one.subject, one.slot, f"{'not ' if one.negated else ''}{one.value}".strip()) for one in found]


def verdicts(old: str, new: str, *, speaker: str = "Sam") -> list[Verdict]:
    """What `new`, said an hour after `old`, does to it; only what `candidate_slots` asks for is compared."""
    before = entities(old, speaker=speaker)
    found: list[Verdict] = []
    for entity in entities(new, arrival=1, speaker=speaker):
        wanted = candidate_slots(entity)
        offered = [one for one in before if wanted.recent or (one.subject, one.slot) in wanted.pairs]
        found += judge(entity, offered)
    return found


def supersedes(verdict: Verdict) -> bool:
    return verdict.evolution_type is EvolutionType.UPDATE and verdict.confidence >= EVOLUTION_SUPERSEDE_CONFIDENCE_MIN
