"""Reports of failures and sweeps: plain text for a terminal, Markdown for a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from umi_lab.worlds.outcome import Outcome
from umi_lab.worlds.saved import plan_to_json
from umi_lab.worlds.steps import Plan
from umi_lab.worlds.sweep import Failure, SweepReport

STEPS_SHOWN_COUNT: Final = 60  # steps of a plan in a report


def failure_text(failure: Failure) -> str:
    """A failure: its seed, what was violated, the smallest plan, the end of its trace, and the command that replays it."""
    lines = [f"seed {failure.seed} fails: {failure.failure}"]
    if failure.shrunk is not None:
        found = f"smallest world that fails so, found in {failure.runs} runs" if failure.runs else "the world"
        drawn = "" if failure.shrunk.seed == failure.seed else f", drawn with seed {failure.shrunk.seed}"
        lines.append(f"  {found}: {failure.shrunk.describe()}{drawn}")
        lines += _plan_lines(failure.shrunk)
    if failure.trace:
        lines.append("  the last it did:")
        lines += [f"    {line}" for line in failure.trace]
    return "\n".join([*lines, f"  replay: {failure.command}"])


def outcome_text(outcome: Outcome, *, trace: bool = False) -> str:
    """The result of one world, with its whole trace if wanted."""
    lines = [*outcome.trace, ""] if trace else []
    lines.append(f"seed {outcome.plan.seed}: {outcome.plan.describe()}")
    lines.append(
        f"  {outcome.virtual_s:,.1f} virtual seconds, {outcome.power_cuts} power cuts, opened {outcome.restarts} times"
    )
    lines.append(f"  faults: {_counts(outcome.faults)}")
    lines.append(f"  confirmed: {_counts(outcome.features)}")
    lines.append(f"  trace {outcome.trace_hash[:16]}, disk {outcome.image_hash[:16] or 'real files'}")
    lines.append(f"  FAILED: {outcome.failure}" if outcome.failure else "  nothing was violated")
    return "\n".join(lines)


def sweep_text(report: SweepReport) -> str:
    """A sweep: its sums, what fired, and every kind of failure."""
    totals = report.totals
    speed = f"{report.real_s:,.1f} s on {report.jobs} processes, {report.worlds_per_s_per_core:.1f} worlds/s per core"
    lines = [
        f"{totals.worlds:,} worlds, {totals.steps:,} steps, {_duration(totals.virtual_s)} of virtual time in {speed}",
        f"{totals.power_cuts:,} power cuts, {totals.restarts:,} restarts",
        f"faults: {_counts(totals.faults)}",
        f"confirmed: {_counts(totals.features)}",
    ]
    if report.interrupted:
        lines.append("stopped early: this is what was known then")
    verdict = f"{report.failed} worlds failed, in {len(report.kinds)} ways" if report.failed else "no world failed"
    return "\n\n".join(["\n".join([*lines, verdict]), *map(failure_text, report.failures)])


def markdown(report: SweepReport) -> str:
    """The report of a sweep as a page: summary, faults by kind, features that fired, failures."""
    totals = report.totals
    seeds = f"{report.seeds.start:,} to {report.seeds.stop - 1:,}" if report.seeds else "none"
    summary = {
        "seeds": f"{seeds}{', stopped early' if report.interrupted else ''}",
        "past failures replayed first": f"{report.replayed:,}",
        "worlds run": f"{totals.worlds:,}",
        "operations": f"{totals.steps:,}",
        "virtual time": _duration(totals.virtual_s),
        "real time": f"{report.real_s:,.1f} s on {report.jobs} processes",
        "worlds/s per core": f"{report.worlds_per_s_per_core:.1f}",
        "power cuts": f"{totals.power_cuts:,}, in {_share(totals.with_power_cut, totals.worlds)} of the worlds",
        "restarts": f"{totals.restarts:,}, in {_share(totals.with_restart, totals.worlds)} of the worlds",
        "failures": f"{report.failed:,}",
    }
    parts = [
        "# Sweep\n",
        _table(("", ""), summary.items()),
        "## Faults that fired\n",
        _table(("fault", "times"), _numbers(totals.faults)),
        "## Features confirmed\n",
        "Counted only where the oracle saw the effect through recall, history or why.\n",
        _table(("feature", "times"), _numbers(totals.features)),
        "## Failures\n",
    ]
    if not report.failed:
        parts.append("None.\n")
    else:
        parts.append(_table(("kind of failure", "worlds"), _numbers(report.kinds, by_count=True)))
        parts += [f"### Seed {failure.seed}\n\n{_fenced(failure_text(failure))}" for failure in report.failures]
    return "\n".join(parts)


def _plan_lines(plan: Plan) -> list[str]:
    faults = plan_to_json(plan).get("faults", [])
    lines = [f"    fault {' '.join(f'{name} {value}' for name, value in fault.items())}" for fault in faults]
    lines += [f"    {step.line()}" for step in plan.steps[:STEPS_SHOWN_COUNT]]
    more = len(plan.steps) - STEPS_SHOWN_COUNT
    return [*lines, f"    and {more} steps more"] if more > 0 else lines


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items())) or "none"


def _numbers(counts: Mapping[str, int], *, by_count: bool = False) -> list[tuple[str, str]]:
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0])) if by_count else sorted(counts.items())
    return [(name, f"{count:,}") for name, count in ordered]


def _table(head: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    lines = [f"| {head[0]} | {head[1]} |", "|---|---|"]
    lines += [f"| {name.replace('|', '/')} | {value} |" for name, value in rows]
    return "\n".join([*lines, ""])


def _fenced(text: str) -> str:
    # Four backticks, because a text may contain three.
    return f"````text\n{text}\n````\n"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "none"


def _duration(seconds: float) -> str:
    return f"{seconds / 86_400:,.1f} days" if seconds >= 86_400 else f"{seconds / 3600:,.1f} hours"
