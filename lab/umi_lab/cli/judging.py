"""`umi bench state` and `umi bench evolution`: does it know what holds, and does it notice what changes?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Code, answered
from umi.faces.cli.options import AsJson, examples
from umi_lab.cli.data import data_option

if TYPE_CHECKING:
    from umi_lab.bench.state import BankReport


def add_to(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(epilog=examples("umi bench state"))(state)
    app.command(epilog=examples("umi bench evolution --data datasets/"))(evolution)


def state(
    bank: Annotated[
        str, typer.Option(metavar="BANK", help="development, held_out (nothing was fitted to it), or a TOML file.")
    ] = "held_out",
    histories: Annotated[int, typer.Option(help="How many histories.", min=1)] = 500,
    seed: Annotated[int, typer.Option(help="Other histories.")] = 0,
    failures: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write each miss, to be read.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """See whether it knows what holds, held and follows.

    Updates, corrections, retractions, lists, contradictions, conclusions, each among 42 messages that resemble it.
    """

    async def work() -> Answer:
        from umi_lab.bench import state as state_bench  # noqa: PLC0415 - the simulation's randomness is loaded only here

        with _told(as_json) as tell:
            reports = await state_bench.measure((bank,), seed=seed, histories=histories, progress=tell)
        if failures is not None:
            text = "\n".join(line for report in reports for line in report.misses())
            await asyncio.to_thread(failures.write_text, text + "\n", "utf-8")
        data = {"seed": seed, "banks": {report.bank: report.as_json() for report in reports}}
        code = Code.INCOMPLETE if state_bench.missed(reports) else Code.OK
        return Answer(data, lambda console: _draw_state(console, reports), code)

    answered(work, as_json=as_json)


def evolution(
    data: Annotated[
        Path,
        data_option(
            "Folder with any of relations/, longmemeval/, locomo/, beam/, prefeval/, precisionmembench/; none comes with Umi."
        ),
    ],
    only: Annotated[
        str | None, typer.Option(help="Only these parts: pairs,candidates,questions,supersessions,precision.")
    ] = None,
    failures: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write each miss, to be read.")
    ] = None,
    supersessions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", dir_okay=False, help="Write what was superseded in other people's talk, to be judged."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how well changes are noticed, on public sets.

    Pairs of statements beside what words alone give away, candidates, questions, supersessions to be read, PrecisionMemBench.
    """

    async def work() -> Answer:
        from umi_lab.bench import evolution as evolution_bench  # noqa: PLC0415 - as above

        parts = [name.strip() for name in only.split(",")] if only else evolution_bench.PARTS
        with _told(as_json) as tell:
            found = await evolution_bench.run(data, parts=parts, progress=tell)
        for target, lines in ((failures, found.misses), (supersessions, found.supersessions)):
            if target is not None:
                await asyncio.to_thread(target.write_text, "\n".join([*lines, ""]), "utf-8")
        return Answer(found.figures, lambda console: _draw_evolution(console, found.figures))

    answered(work, as_json=as_json)


@contextmanager
def _told(as_json: bool) -> Iterator[Callable[[str, int, int], None]]:
    """What a benchmark tells, shown as a bar to whoever looks."""
    if as_json:
        yield lambda _what, _done, _of: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=render.terminal(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, of: bar.update(task, description=what, completed=done, total=of or None)


def _draw_state(console: Console, reports: Sequence[BankReport]) -> None:
    from umi_lab.bench.state import AIMS, MEANINGS  # noqa: PLC0415 - see above
    from umi_lab.bench.state_run import Measure  # noqa: PLC0415

    made = render.table("what", *(f"{report.bank} bank" for report in reports), "to reach", "which is")
    for measure in Measure:
        rates = [report.rate(measure) for report in reports]
        if any(rate is not None for rate in rates):
            cells = [
                "" if rate is None else f"{rate[0].value:.1%} [{rate[0].low:.1%}, {rate[0].high:.1%}] of {rate[1]:,}"
                for rate in rates
            ]
            made.add_row(measure.value, *cells, str(AIMS.get(measure, "")), Text(MEANINGS[measure], style="dim"))
    console.print(made)
    for report in reports:
        _draw_parts(console, report.bank, report.as_json())


def _draw_parts(console: Console, bank: str, data: Mapping[str, Any]) -> None:
    for name in ("by_topic", "by_change"):
        parts: Mapping[str, Mapping[str, Any]] = data[name]
        columns = list(next(iter(parts.values()))) if parts else []
        made = render.table(f"{bank} bank, {name.replace('_', ' ')}", *columns)
        for part, rates in parts.items():
            cells = ["" if one is None else f"{one['rate']:.0%} of {one['of']}" for one in rates.values()]
            made.add_row(part, *cells)
        console.print(made)


def _draw_evolution(console: Console, figures: Mapping[str, Any]) -> None:
    for source, rows in figures.get("pairs", {}).items():
        first = next(iter(rows.values()))
        render.heading(console, f"Pairs: {source}", f"{first['pairs']} pairs, {first['updates']} updates")
        columns = [name for name in first if isinstance(first[name], Mapping)]
        made = render.table("row", *(name.replace("_", " ") for name in columns))
        for name, row in rows.items():
            made.add_row(name, *(_within(row.get(column)) for column in columns))
        console.print(made)
    for part in ("candidates", "questions", "supersessions", "precision"):
        if part not in figures:
            continue
        render.heading(console, part.capitalize())
        made = render.table("what", "measured")
        for name, value in figures[part].items():
            made.add_row(name.replace("_", " "), _within(value) if isinstance(value, Mapping) else str(value))
        console.print(made)


def _within(value: Mapping[str, float] | None) -> str:
    if value is None:
        return ""
    of = f" of {value['of']}" if "of" in value else ""
    return f"{value['value']:.3f} [{value['low']:.3f}, {value['high']:.3f}]{of}"
