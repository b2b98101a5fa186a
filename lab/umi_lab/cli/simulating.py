"""`umi sim`: worlds from seeds. `umi.sim` is loaded only when one of these commands runs."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from umi.errors import InvalidInput
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Code, answered
from umi.faces.cli.options import AsJson, examples
from umi_lab.cli import simulating_small as small

if TYPE_CHECKING:
    from umi_lab.worlds.outcome import Outcome
    from umi_lab.worlds.steps import Plan
    from umi_lab.worlds.sweep import Progress as Told
    from umi_lab.worlds.sweep import SweepReport

_PLAN_BYTES_MAX = 10_000_000

app = typer.Typer(
    help="Run Umi in simulated worlds.\n\nFaults, power cuts and restarts, all repeatable from a seed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command(epilog=examples("umi sim run 42 --trace"))
def run(
    seed: Annotated[int, typer.Argument(metavar="SEED", help="Which world.")],
    trace: Annotated[bool, typer.Option("--trace", help="Show everything that happened, line by line.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run one world."""

    async def work() -> Answer:
        from umi_lab.worlds import report  # noqa: PLC0415 - see above

        outcome = await asyncio.to_thread(_run, _planned(str(seed)))
        data = _outcome_json(outcome) | ({"trace": outcome.trace} if trace else {})
        return _answer(data, report.outcome_text(outcome, trace=trace), failed=outcome.failure is not None)

    answered(work, as_json=as_json)


@app.command(epilog=examples("umi sim replay 42"))
def replay(
    world: Annotated[
        str, typer.Argument(metavar="SEED|FILE", help="A seed, small:SEED for a small world, or a plan saved as JSON.")
    ],
    shrink: Annotated[
        bool, typer.Option("--shrink", help="Find the smallest plan that fails in the same way.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Save the plan, shrunk or not, as JSON.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a world that failed, and say how it fails.

    With --shrink, as its smallest plan.
    """

    async def work() -> Answer:
        if world.startswith(small.PREFIX):
            return await asyncio.to_thread(small.replayed, world, shrinking=shrink)
        data, text, plan, failed = await asyncio.to_thread(_replayed, world, shrink)
        if save is not None:
            await asyncio.to_thread(_save, save, plan)
        return _answer(data, text, failed=failed)

    answered(work, as_json=as_json)


@app.command(epilog=examples("umi sim sweep", "umi sim sweep --seeds 10000"))
def sweep(
    seeds: Annotated[int, typer.Option(help="How many worlds.", min=0)] = 2500,
    start: Annotated[int, typer.Option(help="The first seed.")] = 0,
    small_worlds: Annotated[int, typer.Option("--small", help="How many small worlds, too.", min=0)] = 0,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write a report in Markdown.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes; one per core unless given.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Run many worlds on all cores, those that failed once first.

    Each kind of failure is shrunk and told with the command that replays it. Ctrl-C ends with what is known.
    """

    async def work() -> Answer:
        from umi_lab.worlds.report import markdown, sweep_text  # noqa: PLC0415 - see above

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=render.terminal(stderr=True), transient=True) as bar:
            task = bar.add_task("worlds", total=None)

            def tell(done: int, of: int, failed: int) -> None:
                bar.update(
                    task, completed=done, total=of, description=f"worlds, {failed} failed" if failed else "worlds"
                )

            ledger = await small.swept(range(start, start + small_worlds), jobs, tell)
            found = await _sweep(range(start, start + seeds), jobs, tell)
        if report is not None:
            await asyncio.to_thread(report.write_text, markdown(found), "utf-8")
        data = found.as_json() | {"small": small.as_json(ledger)}
        text = "\n".join([*small.lines(ledger), sweep_text(found)])
        failed = found.failed > 0 or bool(ledger.failures)
        return _answer(data, text, failed=failed, interrupted=found.interrupted)

    answered(work, as_json=as_json)


@app.command(epilog=examples("umi sim coverage --worlds 300"))
def coverage(
    worlds: Annotated[int, typer.Option(help="How many small worlds.", min=1)] = 300,
    start: Annotated[int, typer.Option(help="The first seed.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes; one per core unless given.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Say which calls, arguments and fields small worlds draw and confirm.

    Each public method, parameter and class of value, and each field of what comes back, with how often it was drawn and how often the
    oracle confirmed it.
    """

    async def work() -> Answer:
        return await small.covered(range(start, start + worlds), jobs)

    answered(work, as_json=as_json)


async def _sweep(seeds: range, jobs: int | None, tell: Told) -> SweepReport:
    """The sweep in a thread of its own, so that Ctrl-C finds somebody awake."""
    from umi_lab.worlds import sweep as sweeps  # noqa: PLC0415 - see above

    stop = threading.Event()
    running = asyncio.create_task(asyncio.to_thread(sweeps.sweep, seeds, jobs=jobs, progress=tell, stop=stop))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        return await running


def _replayed(world: str, shrinking: bool) -> tuple[dict[str, Any], str, Plan, bool]:
    from umi_lab.worlds import report  # noqa: PLC0415 - see above
    from umi_lab.worlds.shrink import shrink as shrunk  # noqa: PLC0415
    from umi_lab.worlds.sweep import TRACE_TAIL, Failure  # noqa: PLC0415

    plan = _planned(world)
    outcome = _run(plan)
    if outcome.failure is None:
        return _outcome_json(outcome), report.outcome_text(outcome), plan, False
    small = shrunk(outcome) if shrinking else None
    last = small.outcome if small else outcome
    failure = Failure(
        item=plan.seed,
        failure=outcome.failure,
        shrunk=last.plan,
        runs=small.runs if small else 0,
        trace=tuple(last.trace[-TRACE_TAIL:]),
        replayed_by=f"umi sim replay {world}",
    )
    return failure.as_json(), report.failure_text(failure), last.plan, True


def _planned(world: str) -> Plan:
    from umi_lab.worlds.plan import make_plan  # noqa: PLC0415 - see above
    from umi_lab.worlds.saved import read_plan  # noqa: PLC0415

    if world.removeprefix("-").isdecimal():
        return make_plan(int(world))
    try:
        with Path(world).open("rb") as file:
            content = file.read(_PLAN_BYTES_MAX + 1)
    except OSError as error:
        raise InvalidInput(f"{world!r} is neither a seed nor a file that can be read: {error.strerror}") from error
    if len(content) > _PLAN_BYTES_MAX:
        raise InvalidInput(f"{world!r} is larger than {_PLAN_BYTES_MAX:,} bytes: it is no plan")
    return read_plan(content.decode("utf-8", "replace"))


def _run(plan: Plan) -> Outcome:
    from umi_lab.worlds.world import run_plan  # noqa: PLC0415 - see above

    return run_plan(plan)


def _save(file: Path, plan: Plan) -> None:
    from umi_lab.worlds.saved import plan_to_json  # noqa: PLC0415 - see above

    try:
        file.write_text(json.dumps(plan_to_json(plan), ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written: {error.strerror}") from error


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "seed": outcome.plan.seed,
        "world": outcome.plan.describe(),
        "failure": outcome.failure,
        "virtual_s": round(outcome.virtual_s, 6),
        "power_cuts": outcome.power_cuts,
        "opened": outcome.restarts,
        "faults": dict(sorted(outcome.faults.items())),
        "features": dict(sorted(outcome.features.items())),
        "trace_hash": outcome.trace_hash,
        "image_hash": outcome.image_hash,
    }


def _answer(data: dict[str, Any], text: str, *, failed: bool, interrupted: bool = False) -> Answer:
    """Failed worlds leave with 1, a sweep that was stopped with 130 unless worlds failed before."""
    if failed:
        return Answer(data, _printed(text), Code.NOTHING_FOUND, status="failed")
    if interrupted:
        return Answer(data, _printed(text), Code.INTERRUPTED, status="interrupted")
    return Answer(data, _printed(text))


def _printed(text: str) -> Callable[[Console], None]:
    return lambda console: console.print(Text(text), soft_wrap=True)
