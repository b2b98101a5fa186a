"""`umi bench`, the laboratory's part: what Umi finds in public sets, simulated worlds, planted bugs, broken models."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from umi._core.clock import SystemClock
from umi.bench.plots import require
from umi.bench.report import Step
from umi.errors import InvalidInput
from umi.faces.cli import render
from umi.faces.cli.benching import number, progress_bar, report_answer, teller
from umi.faces.cli.envelope import Answer, Code, answered
from umi.faces.cli.options import AsJson, examples
from umi_lab.bench import plots, regressions
from umi_lab.bench import retrieval as retrieval_bench
from umi_lab.bench import sim as sim_bench
from umi_lab.cli import retrieval_table
from umi_lab.cli.data import data_option

if TYPE_CHECKING:
    from umi_lab.mutation.small_faults import Measure
    from umi_lab.mutation.verdicts import Verdict


def add_to(app: typer.Typer) -> None:
    """Give the app its commands."""
    app.command(epilog=examples("umi bench retrieval --data datasets/"))(retrieval)
    app.command(epilog=examples("umi bench sim --seeds 500"))(sim)
    app.command(epilog=examples("umi bench mutants", "umi bench mutants --operators 300"))(mutants)
    app.command(epilog=examples("umi bench faults"))(faults)


def retrieval(
    data: Annotated[
        Path,
        data_option("Folder with any of locomo/, longmemeval/, beam/, prefeval/; none comes with Umi."),
    ],
    sets: Annotated[str | None, typer.Option(help="Only these sets, such as locomo,beam.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Write results.json, losses.jsonl and losses.md there; losses hold texts of the sets.",
        ),
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Write recall.png and reliability.png there as well.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure how much of what answers a question is found.

    For public sets of conversations and questions: by words, by meaning, by plain sums of both, and by Umi; what is refused;
    what a score is worth.
    """

    async def work() -> Answer:
        if plot and out is None:
            raise InvalidInput("--plot writes into the folder that --out names; give one")
        if plot:
            require()
        wanted = [name.strip() for name in sets.split(",")] if sets else None
        with progress_bar(as_json) as bar:
            found = await retrieval_bench.run(data, sets=wanted, progress=teller(bar))
        if out is not None:
            await asyncio.to_thread(_write_retrieval, found, out, plot=plot)
        return Answer(found.figures, lambda console: retrieval_table.draw(console, found.figures))

    answered(work, as_json=as_json)


def sim(
    seeds: Annotated[int, typer.Option(help="Worlds to run.", min=1)] = 200,
    as_json: AsJson = False,
) -> None:
    """Time simulated worlds, in one process.

    With the share of them that had a restart and a power cut.
    """

    async def work() -> Answer:
        with progress_bar(as_json) as bar:
            tell = teller(bar)
            return report_answer(await asyncio.to_thread(sim_bench.measure, seeds, tell))

    answered(work, as_json=as_json)


def mutants(
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this planted bug; may be repeated.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Worlds to run at most against each.", min=1)] = 2000,
    operators: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT",
            help="Instead, so many small faults of one kind each, noticed or not by worlds and tests; needs a checkout.",
            min=1,
        ),
    ] = None,
    worlds_alone: Annotated[bool, typer.Option("--worlds-alone", help="Try these by no test.")] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Try these for some seconds each: by tests, and what they leave by recorded runs."
        ),
    ] = False,
    small: Annotated[int, typer.Option(metavar="COUNT", help="Small worlds for each of these, alone.", min=0)] = 40,
    large: Annotated[int, typer.Option(metavar="COUNT", help="Large worlds for each, alone.", min=0)] = 8,
    further: Annotated[
        int,
        typer.Option(metavar="COUNT", help="Small worlds more for what none noticed, several faults at a time.", min=0),
    ] = 950,
    seed: Annotated[
        int | None, typer.Option(help="Which of the small faults are drawn. Unless given today's date.")
    ] = None,
    verdicts: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="Where --operators notes each verdict, and finds those that still hold.",
        ),
    ] = Path("build/small-faults.jsonl"),
    jobs: Annotated[
        int | None, typer.Option(help="Processes for --operators; one per core unless given.", min=1)
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write the page, or its section, in Markdown.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Plant bugs in Umi, and see whether simulated worlds find them.

    Umi as it is runs over the same worlds, and must be green.
    """

    async def work() -> Answer:
        with progress_bar(as_json) as bar:
            if operators is not None:
                from umi_lab.mutation.small_faults import Measure  # noqa: PLC0415 - see below

                how = Measure(small=small, large=large, further=further, tests=not worlds_alone, quick=quick)
                return await _small_faults(operators, how, seed, verdicts, jobs, report, teller(bar))
            if worlds_alone or quick:
                said = "--worlds-alone" if worlds_alone else "--quick"
                raise InvalidInput(f"{said} says how --operators tries faults; give that as well")
            return await _planted(only or None, seeds, report, teller(bar))

    answered(work, as_json=as_json)


async def _planted(only: Sequence[str] | None, seeds: int, report: Path | None, tell: Step) -> Answer:
    from umi_lab.mutation import mutants as mutants_bench  # noqa: PLC0415
    from umi_lab.mutation import results  # noqa: PLC0415 - the simulation is loaded only when it is run

    found = await asyncio.to_thread(mutants_bench.measure, only, seeds=seeds, step=tell)
    if report is not None:
        _write(report, lambda page: results.with_section(mutants_bench.markdown(found, seeds), results.tail_of(page)))
    data = mutants_bench.as_json(found)
    missed = not all(one.as_expected for one in found)
    return Answer(data, lambda console: _draw_mutants(console, data), Code.INCOMPLETE if missed else Code.OK)


async def _small_faults(
    count: int, how: Measure, seed: int | None, verdicts: Path, jobs: int | None, report: Path | None, tell: Step
) -> Answer:
    from umi_lab.mutation import results, small_faults  # noqa: PLC0415 - see above
    from umi_lab.worlds.sweep import cores  # noqa: PLC0415

    chosen = int(f"{SystemClock().now():%Y%m%d}") if seed is None else seed
    found = await _until_stopped(
        small_faults.measure,
        count,
        how,
        checkout=Path.cwd(),
        verdicts=verdicts,
        seed=chosen,
        jobs=jobs or cores(),
        step=tell,
    )
    text = results.markdown(found, how, drawn=count, seed=chosen)
    if report is not None:
        _write(report, lambda page: results.with_section(page, text))
    missed = bool(results.open_survivors(found))
    return Answer(
        results.as_json(found),
        lambda console: console.print(Text(text), soft_wrap=True),
        Code.INCOMPLETE if missed else Code.OK,
    )


async def _until_stopped(measure: Callable[..., list[Verdict]], *arguments: Any, **options: Any) -> list[Verdict]:
    """Run a measurement in a thread of its own, so that Ctrl-C ends what it has started."""
    stop = threading.Event()
    running = asyncio.create_task(asyncio.to_thread(measure, *arguments, **options, stop=stop))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        await running
        raise


def _write(page: Path, change: Callable[[str], str]) -> None:
    page.write_text(change(page.read_text("utf-8") if page.exists() else ""), "utf-8")


def _write_retrieval(found: retrieval_bench.Run, folder: Path, *, plot: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(found.figures, indent=1) + "\n", "utf-8")
    regressions.write(found.losses, folder)
    if plot:
        plots.draw(found.figures, folder)


def _draw_mutants(console: Console, found: Sequence[Mapping[str, Any]]) -> None:
    made = render.table("planted bug", "", "caught at seed", "steps", "s", "failure")
    for one in found:
        mark = Text("ok", style="green") if one["as_expected"] else Text("missed", style="bold red")
        seed = f"none of {one['worlds']:,}" if one["seed"] is None else f"{one['seed']:,}"
        steps = f"{len(one['steps'])}" if one["steps"] else ""
        made.add_row(one["name"], mark, seed, steps, number(one["seconds"]), Text(one["failure"], style="dim"))
    console.print(made)


def faults(
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write the table in Markdown.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Break a model's server in every way, and see what a remember does.

    Each fault once on a real socket and once in virtual time. Needs the extras `openai` and `anthropic`.
    """

    async def work() -> Answer:
        from umi_lab.bench import faults as faults_bench  # noqa: PLC0415 - it needs extras

        with progress_bar(as_json) as shown:
            real = await asyncio.to_thread(faults_bench.real, step=teller(shown))
            simulated = await asyncio.to_thread(faults_bench.simulated)
        if report is not None:
            await asyncio.to_thread(report.write_text, faults_bench.markdown(real, simulated), "utf-8")
        data = {"real": faults_bench.as_json(real), "simulated": faults_bench.as_json(simulated)}
        well = all(row.ok for row in (*real, *simulated))
        return Answer(data, lambda console: _draw_faults(console, data), Code.OK if well else Code.INCOMPLETE)

    answered(work, as_json=as_json)


def _draw_faults(console: Console, data: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    made = render.table("fault", "", "s", "s simulated", "requests", "calls", "receipt")
    for real, simulated in zip(data["real"], data["simulated"], strict=True):
        well = real["ok"] and simulated["ok"]
        mark = Text("ok", style="green") if well else Text("wrong", style="bold red")
        told = f"deferred, {', '.join(real['degraded'])}" if real["deferred"] else "done"
        seconds = (f"{row['seconds']:.2f}" for row in (real, simulated))
        made.add_row(real["fault"], mark, *seconds, str(real["requests"]), str(real["calls"]), told)
    console.print(made)
