"""What worlds, recorded answers and tests noticed of small faults, as a section of `docs/planted-bugs.md`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from umi_lab.bench.intervals import share
from umi_lab.mutation.equivalents import EQUIVALENT
from umi_lab.mutation.quickly import TESTS_S, WORLDS_S
from umi_lab.mutation.small_faults import Measure
from umi_lab.mutation.survivors import FAMILIES, family
from umi_lab.mutation.verdicts import ANSWERS, NEVER_RUN, TESTS, TIMEOUT, WORLDS, Verdict

HEADING: Final = "## Small faults"
_UNREAD: Final = "not read yet"


def reason(verdict: Verdict) -> str:
    """Why a survivor is no fault; empty when nobody knows a reason."""
    return EQUIVALENT.get(verdict.place.key, "")


def open_survivors(found: Sequence[Verdict]) -> list[Verdict]:
    """What was not noticed and is not known to make no difference."""
    return [one for one in found if not one.killed_by and not reason(one)]


def as_json(found: Sequence[Verdict]) -> list[dict[str, Any]]:
    """The verdicts as plain values; a survivor with why it is none, and otherwise with its family."""
    return [
        one.as_json() | ({} if one.killed_by else {"reason": reason(one), "family": family(one.place)}) for one in found
    ]


def markdown(found: Sequence[Verdict], how: Measure, *, drawn: int, seed: int) -> str:
    """The section: the rates with their intervals, by room and by kind of change, and what was not noticed.

    Args:
        found: The verdicts, of those tried so far.
        how: What they were tried by.
        drawn: How many were drawn.
        seed: Of the draw.
    """
    missed = open_survivors(found)
    parts = [
        HEADING,
        (
            f"`umi bench mutants --operators {drawn} --seed {seed} {_options(how)}` changes one operator, number, condition or statement at "
            f"a time. {_way(how)}; the same pass without a fault. Left out are "
            "faces, server, adapters, blocking calls, the simulation itself, providers, stores on PostgreSQL and the reading of other products' "
            "files, none of which these worlds run or should; docstrings, annotations, decorators, logs and the program's checks of "
            "itself are not changed."
        ),
        _told_quickly(found, how, drawn) if how.quick else _told(found, how, drawn),
        _table("room", found, lambda one: one.place.file.partition("/")[0]),
        _table("kind of change", found, lambda one: one.place.operator),
    ]
    if missed:
        parts += ["What went unnoticed, and what each asks for:", _families(missed), _list(missed)]
    return "\n\n".join(parts) + "\n"


def with_section(page: str, section: str, heading: str = HEADING) -> str:
    """The page with this section in place of the one it has under this heading, or at its end."""
    before, _, rest = page.partition(f"{heading}\n")
    after = rest[rest.index("\n## ") :] if "\n## " in rest else ""
    return "\n\n".join(part.strip() for part in (before, section, after) if part.strip()) + "\n"


def tail_of(page: str) -> str:
    """The section that a page has, and what follows it; empty without one."""
    return page[page.index(f"{HEADING}\n") :] if f"{HEADING}\n" in page else ""


def _options(how: Measure) -> str:
    numbers = "--quick" if how.quick else f"--small {how.small} --large {how.large} --further {how.further}"
    return numbers if how.tests else f"{numbers} --worlds-alone"


def _way(how: Measure) -> str:
    if how.quick and how.tests:
        return (
            f"Each fault is tried by the unit, contract and scenario tests that run its lines, for {TESTS_S:.0f} s, those first that run few others; "
            f"what they leave by recorded runs (`umi sim record`), for {WORLDS_S:.0f} s"
        )
    if how.quick:
        return f"Each fault is tried by those recorded runs (`umi sim record`) that run its lines, for {WORLDS_S:.0f} s"
    return (
        f"Each fault is tried by those of {how.small} small worlds and {how.large} large ones that run its lines, up to the first that fails; then "
        "the answers of these worlds and of ordinary talk are compared with the record (`umi sim record`). What no world noticed is tried by "
        f"{how.further:,} further small worlds{_then_tests(how)}"
    )


def _told_quickly(found: Sequence[Verdict], how: Measure, drawn: int) -> str:
    tests, worlds, answers = (
        sum(one.killed_by in by for one in found) for by in ({TESTS}, {WORLDS, TIMEOUT}, {ANSWERS})
    )
    missed = open_survivors(found)
    faults = tests + worlds + answers + len(missed)
    never = sum(one.how == NEVER_RUN for one in missed)
    return (
        f"Of {len(found)} changes{_first_of(found, drawn)}{f' {tests} made a test fail,' if how.tests else ''} {worlds} made a world fail, "
        f"{answers} more changed a recorded answer; "
        f"{len(found) - faults} change nothing that anybody could notice. **Of the other {faults}, {_rate(faults - len(missed), faults)} were noticed "
        f"(95 % interval in brackets).** Of the {len(missed)} unnoticed, which were not all read, {never} are on lines that none of these runs."
    )


def _first_of(found: Sequence[Verdict], drawn: int) -> str:
    return f", the first of {drawn} in a drawn order," if len(found) < drawn else ""


def _then_tests(how: Measure) -> str:
    return (
        ", and what nothing noticed by the unit, contract and scenario tests, several faults at a time"
        if how.tests
        else ""
    )


def _told(found: Sequence[Verdict], how: Measure, drawn: int) -> str:
    counts = [sum(one.killed_by == by for one in found) for by in (ANSWERS, TESTS, TIMEOUT)]
    failing = sum(one.fails_a_world for one in found)
    missed = open_survivors(found)
    faults = len(found) - sum(bool(not one.killed_by and reason(one)) for one in found)
    never = sum(one.how == NEVER_RUN for one in missed)
    tests = f"; {counts[1]} more made a test fail" if how.tests else ""
    rates = [
        f"{_rate(failing, faults)} made a world fail",
        f"{_rate(failing + counts[0], faults)} that or another answer",
        *([f"{_rate(sum(counts[:2]) + failing, faults)} that or a test that fails"] if how.tests else []),
    ]
    return (
        f"Of {len(found)} changes{_first_of(found, drawn)} {failing} made a world fail, "
        f"{counts[2]} of them since it never ended; {counts[0]} more changed a recorded answer{tests}; {len(found) - faults} change nothing "
        f"that anybody could notice. **Of the other {faults}, {', '.join(rates)} (95 % intervals in brackets).** Of the {len(missed)} "
        f"unnoticed {never} are on lines that none of the first worlds runs."
    )


def _rate(part: int, of: int) -> str:
    rate = share(part, max(1, of))
    return f"{100 * rate.value:.1f} % ({100 * rate.low:.1f} to {100 * rate.high:.1f})"


def _table(head: str, found: Sequence[Verdict], by: Callable[[Verdict], str]) -> str:
    rows = [
        f"| {head} | tried | no difference | a world fails | another answer | a test fails | unnoticed | of these never run | noticed |",
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for name in (*sorted({by(one) for one in found}), "all"):
        group = [one for one in found if name in {by(one), "all"}]
        missed = open_survivors(group)
        noticed = sum(bool(one.killed_by) for one in group)
        answers, tests = (sum(one.killed_by == what for one in group) for what in (ANSWERS, TESTS))
        faults = noticed + len(missed)
        never = sum(one.how == NEVER_RUN for one in missed)
        worlds = noticed - answers - tests
        rate = f"{100 * noticed / faults:.1f} %" if faults else ""
        cells = (len(group), len(group) - faults, worlds, answers, tests, len(missed), never, rate)
        rows.append(f"| {name} | {' | '.join(str(one) for one in cells)} |")
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
        was, became = (text.replace("|", "\\|") for text in (place.before, place.after))
        rows.append(f"| {place.file}:{place.lines[0]}, {place.function} | `{was}` | `{became}` | {told} |")
    return "\n".join(rows)
