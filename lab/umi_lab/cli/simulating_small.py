"""The small worlds of `umi sim`: sweep, replay and coverage. `umi.sim` is loaded only when one of these runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

from umi.errors import InvalidInput
from umi.faces.cli.envelope import Answer, Code

if TYPE_CHECKING:
    from umi_lab.worlds.ledger.sweep import Progress, SmallReport

PREFIX: Final = "small:"


def replayed(world: str, *, shrinking: bool) -> Answer:
    """Run the small world of "small:SEED" again.

    Raises:
        InvalidInput: When no seed stands behind the prefix.
    """
    from umi_lab.worlds.ledger.plan import make_small  # noqa: PLC0415 - see above
    from umi_lab.worlds.ledger.sweep import shrink_small  # noqa: PLC0415
    from umi_lab.worlds.ledger.world import run_small  # noqa: PLC0415

    seed = world.removeprefix(PREFIX)
    if not seed.isdecimal():
        raise InvalidInput(f"{world!r} names no small world: write small:SEED, such as small:7")
    logging.getLogger("umi").setLevel(logging.CRITICAL)
    outcome = run_small(make_small(int(seed)))
    if outcome.failure is not None and shrinking:
        outcome = shrink_small(outcome)
    steps = [step.line() for step in outcome.plan.steps]
    data = {"seed": int(seed), "world": outcome.plan.describe(), "failure": outcome.failure, "steps": steps}
    said = outcome.failure or "everything is as the oracle says"
    text = "\n".join([f"small world {seed}: {outcome.plan.describe()}", *(f"  {line}" for line in steps), said])
    return worlds_answer(data, text, failed=outcome.failure is not None)


async def swept(seeds: range, jobs: int | None, tell: Progress) -> SmallReport:
    """Run small worlds."""
    from umi_lab.worlds.ledger.sweep import sweep_small  # noqa: PLC0415 - see above
    from umi_lab.worlds.sweep import cores  # noqa: PLC0415

    return await asyncio.to_thread(sweep_small, seeds, jobs=jobs or cores(), progress=tell)


def as_json(report: SmallReport) -> dict[str, Any]:
    """A report as plain values."""
    return {"worlds": report.worlds, "failures": {str(seed): said for seed, said in report.failures.items()}}


def lines(report: SmallReport) -> list[str]:
    """A report in words; nothing without small worlds."""
    if not report.worlds:
        return []
    said = [f"{report.worlds:,} small worlds, {len(report.failures)} failed"]
    for seed, failure in list(report.failures.items())[:10]:
        said += [f"small seed {seed} fails {failure}", f"  replay: umi sim replay small:{seed} --shrink"]
    return said


async def covered(seeds: range, jobs: int | None) -> Answer:
    """The table of what small worlds drew and confirmed."""
    from umi_lab.worlds.ledger.coverage import table  # noqa: PLC0415 - see above

    report = await swept(seeds, jobs, lambda _done, _of, _failed: None)
    rows = table(report.tally)
    data = {
        "worlds": report.worlds,
        "rows": [{"what": what, "drawn": drawn, "confirmed": seen} for what, drawn, seen in rows],
    }
    none = sum(not seen for _, _, seen in rows)
    head = f"{len(rows)} calls, arguments and fields; {none} were not confirmed in {report.worlds:,} small worlds"
    told = [f"{drawn:>9,} {seen:>9,}  {what}" for what, drawn, seen in rows]
    return worlds_answer(data, "\n".join([head, f"{'drawn':>9} {'confirmed':>9}", *told]), failed=bool(report.failures))


def worlds_answer(data: dict[str, Any], text: str, *, failed: bool) -> Answer:
    """What worlds gave as a command's answer; a failure leaves with 1."""
    printed: Callable[[Console], None] = lambda console: console.print(Text(text), soft_wrap=True)  # noqa: E731
    return Answer(data, printed, Code.NOTHING_FOUND, status="failed") if failed else Answer(data, printed)
