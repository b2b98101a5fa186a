"""`umi bench`: figures beside their limits and floors."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from umi.bench import filters as filters_bench
from umi.bench import install as install_bench
from umi.bench import plots, ratchet, speed_plots
from umi.bench import server as server_bench
from umi.bench import speed as speed_bench
from umi.bench import stages as stages_bench
from umi.bench.report import Figure, Report, Step
from umi.errors import InvalidInput, UmiError
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Code, answered
from umi.faces.cli.extensions import BenchGroup
from umi.faces.cli.options import AsJson, examples

_SIZE = re.compile(r"(\d+)([kKmM]?)\Z")
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}
_SIZE_MAX = 10_000_000

app = typer.Typer(cls=BenchGroup, help="Measure Umi on this machine.", no_args_is_help=True, rich_markup_mode=None)


class BenchFailed(UmiError):  # noqa: N818 - reads as what it is
    """A benchmark could not be run."""

    code = "bench_failed"


@app.command(
    epilog=examples(
        "umi bench speed",
        "umi bench speed --sizes 10k --json",
        "umi bench speed --sizes 10k,100k --db postgresql://umi@localhost/umi",
        "umi bench speed --stages --out found",
    )
)
def speed(
    sizes: Annotated[str, typer.Option(help="Memories in one namespace, such as 1k,10k.")] = "1k,10k",
    db: Annotated[
        str | None,
        typer.Option(
            "--db",
            metavar="ADDRESS",
            help="Measure this PostgreSQL database too, in namespaces that are made for it and erased at the end.",
        ),
    ] = None,
    stages: Annotated[
        bool, typer.Option("--stages", help="Show instead where a recall and a remember at 10k spend their time.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Compare instead the ratios to the floors with those of another commit.")
    ] = False,
    against: Annotated[str, typer.Option(metavar="COMMIT", help="The other commit, for --check.")] = "HEAD^",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", file_okay=False, help="Write speed.json and speed.png there, or stages.*."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Time Umi, beside the least that the work could cost.

    Remember, recall and its legs, bulk import, memory, disk, a cold start and throughput, on a real file with the real
    embedder. `--check` needs a checkout of Umi, and fails where a ratio is 15% worse than before.
    """

    async def work() -> Answer:
        counts = _sizes(sizes)
        if db is not None and (stages or check):
            raise InvalidInput("--db goes without --stages and --check, which measure a SQLite file")
        if out is not None:
            plots.require()
        with progress_bar(as_json) as bar:
            tell = teller(bar)
            if check:
                return report_answer(await asyncio.to_thread(ratchet.measure, against, tell))
            report = await (stages_bench.measure(tell) if stages else speed_bench.measure(counts, tell, db))
        if out is not None:
            await asyncio.to_thread(_write_speed, report, out, "stages" if stages else "speed")
        return report_answer(report)

    answered(work, as_json=as_json)


@app.command(epilog=examples("umi bench filters", "umi bench filters --size 100k --json"))
def filters(
    size: Annotated[str, typer.Option(help="Memories in one namespace.")] = "10k",
    as_json: AsJson = False,
) -> None:
    """Time recall with where=, beside recall without it.

    Filters that keep 50%, 1% and 0.01% of a namespace; and whether they find the same as ranking everything and filtering
    afterwards.
    """

    async def work() -> Answer:
        count = _sizes(size)[-1]
        with progress_bar(as_json) as bar:
            return report_answer(await filters_bench.measure(count, teller(bar)))

    answered(work, as_json=as_json)


@app.command(epilog=examples("umi bench server", "umi bench server --seconds 20 --namespaces 0 --json"))
def server(
    seconds: Annotated[float, typer.Option(help="How long 16 connections recall.")] = server_bench.SECONDS_DEFAULT,
    namespaces: Annotated[
        int, typer.Option(help="Further namespaces that are asked, to see what memory they take; 0 leaves that out.")
    ] = server_bench.NAMESPACES_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Time `umi serve` on this machine.

    Recalls a second over 16 connections and their times, what HTTP adds to a recall in the library, and the memory that many
    namespaces take. Starts a server of its own on loopback. Needs the extra `server`.
    """

    async def work() -> Answer:
        if not seconds > 0 or not 0 <= namespaces <= _SIZE_MAX:
            raise InvalidInput(f"--seconds must be more than 0, and --namespaces lie in 0..{_SIZE_MAX:,}")
        with progress_bar(as_json) as bar:
            return report_answer(await server_bench.measure(seconds, namespaces, teller(bar)))

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


@app.command(epilog=examples("umi bench cost"))
def cost(as_json: AsJson = False) -> None:
    """Count what Umi asks of a model.

    Calls and tokens per operation, counted at a server on this machine, and Umi's own time. Needs the extra `openai`.
    """

    async def work() -> Answer:
        from umi.bench import cost as cost_bench  # noqa: PLC0415 - it needs an extra

        with progress_bar(as_json) as shown:
            return report_answer(await cost_bench.measure(teller(shown)))

    answered(work, as_json=as_json)


def teller(bar: Progress) -> Step:
    """What a benchmark tells, shown in the bar."""
    task = bar.add_task("", total=None)

    def step(what: str, done: int, of: int) -> None:
        bar.update(task, description=what, completed=done, total=of or None)

    return step


def _write_speed(report: Report, folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(report.as_json(), indent=1) + "\n", "utf-8")
    draw = speed_plots.draw_stages if name == "stages" else speed_plots.draw
    draw(report, folder / f"{name}.png")


def _sizes(text: str) -> list[int]:
    counts = []
    for part in text.split(","):
        found = _SIZE.match(part.strip())
        count = int(found[1]) * _UNITS[found[2].lower()] if found else 0
        if not 1 <= count <= _SIZE_MAX:
            raise InvalidInput(f"--sizes {part.strip()!r} is no size in 1..10M; write numbers such as 1k,10k,100k")
        counts.append(count)
    return counts


def progress_bar(as_json: bool) -> Progress:
    """A bar for whoever looks, to be entered; it shows nothing to programs."""
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    return render.progress(*columns, quiet=as_json)


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
    bounds = [] if figure.limit is None else [f"{'>=' if figure.more_is_better else '<='} {number(figure.limit)}"]
    bounds += [] if figure.ratio_limit is None else [f"<= {figure.ratio_limit:.1f}x"]
    bound = ", ".join(bounds)
    floor = "" if figure.floor is None else number(figure.floor)
    ratio = "" if figure.ratio is None else f"{figure.ratio:.1f}x"
    detail = ", ".join(f"{name} {number(value)}" for name, value in figure.detail.items())
    measured = f"{number(figure.value)} {figure.unit}".strip()
    return figure.name, measured, bound, marks[figure.ok], floor, ratio, Text(detail, style="dim")


def number(value: float) -> str:
    """A measured figure, with as many digits as tell something."""
    if value == int(value) or value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"
