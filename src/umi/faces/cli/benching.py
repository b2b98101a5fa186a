"""`umi bench`: figures beside their limits and floors."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from umi.bench import install as install_bench
from umi.bench import losses, plots, speed_plots
from umi.bench import retrieval as retrieval_bench
from umi.bench import sim as sim_bench
from umi.bench import speed as speed_bench
from umi.bench import tenants as tenants_bench
from umi.bench.report import Figure, Report
from umi.errors import InvalidInput, UmiError
from umi.faces.cli import render, retrieval_table
from umi.faces.cli.envelope import Answer, Code, answered
from umi.faces.cli.options import AsJson, examples

_SIZE = re.compile(r"(\d+)([kKmM]?)\Z")
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}
_SIZE_MAX = 10_000_000

app = typer.Typer(help="Measure Umi on this machine.", no_args_is_help=True, rich_markup_mode=None)


class BenchFailed(UmiError):  # noqa: N818 - reads as what it is
    """A benchmark could not be run."""


@app.command(epilog=examples("umi bench speed", "umi bench speed --sizes 10k --json"))
def speed(
    sizes: Annotated[str, typer.Option(help="Memories in one namespace, such as 1k,10k.")] = "1k,10k",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", file_okay=False, help="Write speed.json and speed.png there.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Time Umi, beside the least that the work could cost.

    Remember, recall and its legs, bulk import, memory, disk, a cold start and throughput, on a real file with the real
    embedder.
    """

    async def work() -> Answer:
        counts = _sizes(sizes)
        if out is not None:
            plots.require()
        with progress_bar(as_json) as bar:
            report = await speed_bench.measure(counts, teller(bar))
        if out is not None:
            await asyncio.to_thread(_write_speed, report, out)
        return report_answer(report)

    answered(work, as_json=as_json)


@app.command(epilog=examples("umi bench tenants", "umi bench tenants --namespaces 500 --json"))
def tenants(
    namespaces: Annotated[int, typer.Option(help="In one file.", min=10, max=100_000)] = 10_000,
    memories: Annotated[int, typer.Option(help="In each.", min=1, max=10_000)] = 100,
    as_json: AsJson = False,
) -> None:
    """See what many small namespaces in one file cost.

    Memory that their search indexes hold, how often the one that is asked for is held, and what a recall takes.
    """

    async def work() -> Answer:
        with progress_bar(as_json) as bar:
            return report_answer(await tenants_bench.measure(namespaces, memories, teller(bar)))

    answered(work, as_json=as_json)


@app.command(epilog=examples("umi bench install"))
def install(as_json: AsJson = False) -> None:
    """Measure an installation: packages, size, import.

    Installs Umi alone into a new virtual environment, which is removed again.
    """

    async def work() -> Answer:
        with progress_bar(as_json) as bar:
            tell = teller(bar)
            try:
                return report_answer(await asyncio.to_thread(install_bench.measure, lambda what: tell(what, 0, 0)))
            except install_bench.InstallFailed as error:
                raise BenchFailed(str(error)) from error

    answered(work, as_json=as_json)


@app.command(epilog=examples("umi bench retrieval --data datasets/"))
def retrieval(
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            envvar="UMI_DATA",
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="Folder with any of locomo/, longmemeval/, beam/, prefeval/; none comes with Umi.",
        ),
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
            plots.require()
        wanted = [name.strip() for name in sets.split(",")] if sets else None
        with progress_bar(as_json) as bar:
            found = await retrieval_bench.run(data, sets=wanted, progress=teller(bar))
        if out is not None:
            await asyncio.to_thread(_write_retrieval, found, out, plot=plot)
        return Answer(found.figures, lambda console: retrieval_table.draw(console, found.figures))

    answered(work, as_json=as_json)


@app.command(epilog=examples("umi bench sim --seeds 500"))
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


@app.command(epilog=examples("umi bench mutants"))
def mutants(
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this planted bug; may be repeated.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Worlds to run at most against each.", min=1)] = 2000,
    operators: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT",
            help="Instead, so many small faults of one kind each, noticed or not by tests and worlds; needs a checkout.",
            min=1,
        ),
    ] = None,
    verdicts: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="Where --operators notes each verdict, and finds those that still hold.",
        ),
    ] = Path("build/operators.jsonl"),
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
                return await _small_faults(operators, verdicts, report, teller(bar))
            return await _planted(only or None, seeds, report, teller(bar))

    answered(work, as_json=as_json)


async def _planted(only: Sequence[str] | None, seeds: int, report: Path | None, tell: speed_bench.Step) -> Answer:
    from umi.bench import killed  # noqa: PLC0415 - the simulation is loaded only when it is run
    from umi.bench import mutants as mutants_bench  # noqa: PLC0415

    found = await asyncio.to_thread(mutants_bench.measure, only, seeds=seeds, step=tell)
    if report is not None:
        _write(report, lambda page: killed.with_section(mutants_bench.markdown(found, seeds), killed.tail_of(page)))
    data = mutants_bench.as_json(found)
    missed = not all(one.as_expected for one in found)
    return Answer(data, lambda console: _draw_mutants(console, data), Code.INCOMPLETE if missed else Code.OK)


async def _small_faults(count: int, verdicts: Path, report: Path | None, tell: speed_bench.Step) -> Answer:
    from umi.bench import killed, killing  # noqa: PLC0415 - see above

    stop = threading.Event()
    running = asyncio.create_task(
        asyncio.to_thread(killing.measure, count, checkout=Path.cwd(), verdicts=verdicts, step=tell, stop=stop)
    )
    try:
        found = await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        await running
        raise
    text = killed.markdown(found)
    if report is not None:
        _write(report, lambda page: killed.with_section(page, text))
    missed = bool(killed.open_survivors(found))
    data = killed.as_json(found)
    return Answer(
        data, lambda console: console.print(Text(text), soft_wrap=True), Code.INCOMPLETE if missed else Code.OK
    )


def _write(page: Path, change: Callable[[str], str]) -> None:
    page.write_text(change(page.read_text("utf-8") if page.exists() else ""), "utf-8")


def teller(bar: Progress | None) -> speed_bench.Step:
    """What a benchmark tells, shown in the bar where there is one."""
    task = bar.add_task("", total=None) if bar else None

    def step(what: str, done: int, of: int) -> None:
        if bar and task is not None:
            bar.update(task, description=what, completed=done, total=of or None)

    return step


def _write_speed(report: Report, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "speed.json").write_text(json.dumps(report.as_json(), indent=1) + "\n", "utf-8")
    speed_plots.draw(report, folder / "speed.png")


def _write_retrieval(found: retrieval_bench.Run, folder: Path, *, plot: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(found.figures, indent=1) + "\n", "utf-8")
    losses.write(found.losses, folder)
    if plot:
        plots.draw(found.figures, folder)


def _draw_mutants(console: Console, found: Sequence[Mapping[str, Any]]) -> None:
    made = render.table("planted bug", "", "caught at seed", "steps", "s", "failure")
    for one in found:
        mark = Text("ok", style="green") if one["as_expected"] else Text("missed", style="bold red")
        seed = f"none of {one['worlds']:,}" if one["seed"] is None else f"{one['seed']:,}"
        steps = f"{len(one['steps'])}" if one["steps"] else ""
        made.add_row(one["name"], mark, seed, steps, _number(one["seconds"]), Text(one["failure"], style="dim"))
    console.print(made)


def _sizes(text: str) -> list[int]:
    counts = []
    for part in text.split(","):
        found = _SIZE.match(part.strip())
        count = int(found[1]) * _UNITS[found[2].lower()] if found else 0
        if not 1 <= count <= _SIZE_MAX:
            raise InvalidInput(f"--sizes {part.strip()!r} is no size in 1..10M; write numbers such as 1k,10k,100k")
        counts.append(count)
    return counts


def progress_bar(as_json: bool) -> Any:
    """A bar for whoever looks, to be entered; nothing for programs."""
    if as_json:
        return nullcontext()
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=render.terminal(stderr=True), transient=True)


def report_answer(report: Report) -> Answer:
    """A benchmark's figures as a command's answer; one that misses a limit is incomplete."""
    missed = any(figure.ok is False for figure in report.figures)
    return Answer(report.as_json(), _draw(report), Code.INCOMPLETE if missed else Code.OK)


def _draw(report: Report) -> Callable[[Console], None]:
    def draw(console: Console) -> None:
        machine = ", ".join(f"{name} {value}" for name, value in report.machine.items())
        render.heading(console, report.title, machine)
        made = render.table("what", "measured", "to reach", "", "floor", "ratio", "detail")
        for column in made.columns[1:2]:
            column.justify = "right"
        for figure in report.figures:
            made.add_row(*_row(figure))
        console.print(made)
        for note in report.notes:
            console.print(Text(note, style="dim"))
        for floor in dict.fromkeys(figure.floor_is for figure in report.figures if figure.floor_is):
            names = ", ".join(figure.name for figure in report.figures if figure.floor_is == floor)
            console.print(Text(f"floor of {names}: {floor}", style="dim"))

    return draw


def _row(figure: Figure) -> tuple[Text | str, ...]:
    marks = {None: Text(""), True: Text("ok", style="green"), False: Text("missed", style="bold red")}
    bound = "" if figure.limit is None else f"{'>=' if figure.more_is_better else '<='} {_number(figure.limit)}"
    floor = "" if figure.floor is None else _number(figure.floor)
    ratio = "" if figure.ratio is None else f"{figure.ratio:.1f}x"
    detail = ", ".join(f"{name} {_number(value)}" for name, value in figure.detail.items())
    measured = f"{_number(figure.value)} {figure.unit}".strip()
    return figure.name, measured, bound, marks[figure.ok], floor, ratio, Text(detail, style="dim")


def _number(value: float) -> str:
    if value == int(value) or value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"
