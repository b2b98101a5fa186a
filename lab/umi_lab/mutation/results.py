"""What the tests and the worlds noticed of small faults, as a section of `docs/planted-bugs.md`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from umi_lab.bench.intervals import share
from umi_lab.mutation.equivalents import EQUIVALENT
from umi_lab.mutation.testing import TIMEOUT, WORLDS_COUNT, Verdict

HEADING: Final = "## Small faults of one kind each"


def reason(verdict: Verdict) -> str:
    """Why a survivor is no fault; empty when nobody knows a reason."""
    return EQUIVALENT.get(verdict.place.key, "")


def open_survivors(found: Sequence[Verdict]) -> list[Verdict]:
    """What was not noticed and is not known to make no difference."""
    return [one for one in found if not one.killed_by and not reason(one)]


def as_json(found: Sequence[Verdict]) -> list[dict[str, Any]]:
    """The verdicts as plain values."""
    return [one.as_json() | ({} if one.killed_by else {"reason": reason(one)}) for one in found]


def markdown(found: Sequence[Verdict], seed: int = 0) -> str:
    """The section."""
    survivors = [one for one in found if not one.killed_by]
    parts = [
        HEADING,
        (
            f"`umi bench mutants --operators {len(found)} --report docs/planted-bugs.md` changes one operator, number, condition or "
            "statement at a time, in a private copy: as many of each file as it has lines to its share, the "
            f"same ones each time (seed {seed}). The unit, contract and scenario tests that run the changed lines come first, then "
            f"{WORLDS_COUNT} worlds. Left out beforehand are docstrings, annotations, decorators, what goes to the log, and the "
            "program's checks of itself."
        ),
        f"Of {len(found)} changes {_sentence(found)}",
        _table("kind of change", found, lambda one: one.place.operator),
        _table("folder", found, lambda one: one.place.file.rpartition("/")[0]),
    ]
    if survivors:
        parts += ["What went unnoticed:", _survivors(survivors)]
    return "\n\n".join(parts) + "\n"


def with_section(page: str, section: str, heading: str = HEADING) -> str:
    """The page with this section in place of the one it has under this heading, or at its end."""
    before, _, rest = page.partition(heading)
    after = rest[rest.index("\n## ") :] if "\n## " in rest else ""
    return "\n\n".join(part.strip() for part in (before, section, after) if part.strip()) + "\n"


def tail_of(page: str) -> str:
    """The section that a page has, and what follows it; empty without one."""
    return page[page.index(HEADING) :] if HEADING in page else ""


def _sentence(found: Sequence[Verdict]) -> str:
    tests, worlds, hung = (_count(found, name) for name in ("tests", "worlds", TIMEOUT))
    killed, equal = tests + worlds + hung, sum(1 for one in found if not one.killed_by and reason(one))
    faults = len(found) - equal
    rate = share(killed, max(1, faults))
    return (
        f"{killed} were noticed: {tests} by a test that failed, {hung} by a test or world that never ended, {worlds} more by the worlds. "
        f"{equal} change nothing that anybody could notice, and the reason stands beside each. **Of the other {faults}, {_percent(killed, faults)} "
        f"were noticed (95 % interval {100 * rate.low:.1f} to {100 * rate.high:.1f} %).**"
    )


def _table(head: str, found: Sequence[Verdict], by: Callable[[Verdict], str]) -> str:
    rows = [
        f"| {head} | tried | by tests | never ended | by worlds | no difference | unnoticed | noticed |",
        "| --- | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for name in (*sorted({by(one) for one in found}), "all"):
        group = [one for one in found if name in {by(one), "all"}]
        killed = [_count(group, each) for each in ("tests", TIMEOUT, "worlds")]
        unnoticed = len(open_survivors(group))
        equal = len(group) - sum(killed) - unnoticed
        cells = (len(group), *killed, equal, unnoticed, _percent(sum(killed), len(group) - equal))
        rows.append(f"| {name} | {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join(rows)


def _survivors(survivors: Sequence[Verdict]) -> str:
    rows = ["| where | was | became | why nobody notices |", "| --- | --- | --- | --- |"]
    for one in survivors:
        place = one.place
        said = cell(reason(one) or "**a check is missing**")
        rows.append(
            f"| {place.file}:{place.lines[0]}, {place.function} | `{cell(place.before)}` | `{cell(place.after)}` | {said} |"
        )
    return "\n".join(rows)


def _count(found: Sequence[Verdict], killed_by: str) -> int:
    return sum(one.killed_by == killed_by for one in found)


def _percent(part: int, of: int) -> str:
    return f"{100 * part / of:.1f} %" if of else ""


def cell(text: str) -> str:
    """Text in a cell of a table."""
    return text.replace("|", "\\|")
