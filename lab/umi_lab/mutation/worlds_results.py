"""What worlds alone noticed of small faults, as a section of `docs/planted-bugs.md`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from umi_lab.bench.intervals import Interval, share
from umi_lab.mutation.results import cell, open_survivors, reason
from umi_lab.mutation.survivors import FAMILIES, family
from umi_lab.mutation.testing import TIMEOUT, Verdict
from umi_lab.mutation.worlds_alone import NEVER_RUN, RECORDED

HEADING: Final = "## Small faults and worlds alone"
_UNREAD: Final = "not read yet"


def as_json(found: Sequence[Verdict]) -> list[dict[str, Any]]:
    """The verdicts as plain values; a survivor with why it is none, and otherwise with its family."""
    return [
        one.as_json() | ({} if one.killed_by else {"reason": reason(one), "family": family(one.place)}) for one in found
    ]


def markdown(found: Sequence[Verdict], *, drawn: int, seed: int, small: int, large: int) -> str:
    """The section: the rate with its interval, by room and by kind of change, and what was not noticed.

    Args:
        found: The verdicts, of those tried so far.
        drawn: How many were drawn.
        seed: Of the draw.
        small: Small worlds for each.
        large: Large worlds for each.
    """
    noticed = [one for one in found if one.killed_by]
    missed = open_survivors(found)
    never = [one for one in missed if one.how == NEVER_RUN]
    faults = len(noticed) + len(missed)
    failing = [one for one in noticed if one.killed_by != RECORDED]
    alone = share(len(failing), max(1, faults))
    rate = share(len(noticed), max(1, faults))
    reached = share(len(noticed), max(1, faults - len(never)))
    parts = [
        HEADING,
        (
            f"`umi bench mutants --operators {drawn} --worlds-alone --seed {seed} --small {small} --large {large}` changes one operator, "
            "number, condition or statement at a time, and no test runs. Each fault is tried by those of the worlds that run its lines, up "
            f"to the first that fails: at most {small} small worlds and {large} large ones, {_average(found):.0f} on average. The same "
            "worlds pass without a fault. Where none fails, the answers of those worlds and of ordinary talk are compared with the record "
            "(`umi sim record`). Left out are faces, server, adapters, blocking calls, the simulation itself, providers, stores on "
            "PostgreSQL and the reading of other products' files, none of which these worlds run or should; docstrings, annotations, "
            "decorators, logs and the program's checks of itself are not changed."
        ),
        (
            f"Of {len(found)} changes{_so_far(found, drawn)} {len(failing)} made a world fail, {_hung(noticed)} of them since it never ended; "
            f"{len(noticed) - len(failing)} more changed a recorded answer; {len(found) - faults} change nothing that anybody could notice. "
            f"**Of the other {faults}, {_percent(alone.value)} made a world fail (95 % interval {_range(alone)}), and "
            f"{_percent(rate.value)} were noticed by either ({_range(rate)}).** {len(never)} of the {len(missed)} unnoticed are on lines "
            f"that nothing here runs; of the faults on other lines {_percent(reached.value)} were noticed ({_range(reached)})."
        ),
        _table("room", found, lambda one: one.place.file.partition("/")[0]),
        _table("kind of change", found, lambda one: one.place.operator),
    ]
    if missed:
        parts += ["What went unnoticed, and the world that each asks for:", _families(missed), _list(missed)]
    return "\n\n".join(parts) + "\n"


def _so_far(found: Sequence[Verdict], drawn: int) -> str:
    return f", the first of {drawn} in a drawn order," if len(found) < drawn else ""


def _average(found: Sequence[Verdict]) -> float:
    tried = [one.worlds for one in found if one.how != NEVER_RUN]
    return sum(tried) / max(1, len(tried))


def _hung(found: Sequence[Verdict]) -> int:
    return sum(one.killed_by == TIMEOUT for one in found)


def _table(head: str, found: Sequence[Verdict], by: Callable[[Verdict], str]) -> str:
    rows = [
        f"| {head} | tried | no difference | a world fails | another answer | unnoticed | of these never run | rate | 95 % interval |",
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for name in (*sorted({by(one) for one in found}), "all"):
        group = [one for one in found if name in {by(one), "all"}]
        missed = open_survivors(group)
        noticed = sum(bool(one.killed_by) for one in group)
        answers = sum(one.killed_by == RECORDED for one in group)
        faults = noticed + len(missed)
        never = sum(one.how == NEVER_RUN for one in missed)
        rate = share(noticed, max(1, faults))
        told = (_percent(rate.value), _range(rate)) if faults else ("", "")
        cells = (len(group), len(group) - faults, noticed - answers, answers, len(missed), never, *told)
        rows.append(f"| {name} | {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join(rows)


def _families(missed: Sequence[Verdict]) -> str:
    rows = ["| family | faults | never run | the world that it asks for |", "| --- | --: | --: | --- |"]
    for name in (*FAMILIES, ""):
        group = [one for one in missed if family(one.place) == name]
        if group:
            never = sum(one.how == NEVER_RUN for one in group)
            rows.append(f"| {name or _UNREAD} | {len(group)} | {never} | {FAMILIES.get(name, '')} |")
    return "\n".join(rows)


def _list(missed: Sequence[Verdict]) -> str:
    rows = ["| where | was | became | family |", "| --- | --- | --- | --- |"]
    for one in sorted(missed, key=lambda one: (one.place.file, one.place.lines)):
        place = one.place
        told = f"{family(place) or _UNREAD}{', never run' if one.how == NEVER_RUN else ''}"
        was, became = (cell(text) for text in (place.before, place.after))
        rows.append(f"| {place.file}:{place.lines[0]}, {place.function} | `{was}` | `{became}` | {told} |")
    return "\n".join(rows)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _range(rate: Interval) -> str:
    return f"{100 * rate.low:.1f} to {100 * rate.high:.1f} %"
