"""`umi bench learning`: whether learning helps, and does no harm when somebody lies."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from umi.faces.cli import render
from umi.faces.cli.benching import progress_bar, report_answer, teller
from umi.faces.cli.envelope import Answer, Code, answered
from umi.faces.cli.options import AsJson, examples

if TYPE_CHECKING:
    from umi_lab.bench.learning import LearningReport


def add_to(app: typer.Typer) -> None:
    """Give the app its command."""
    app.command("learning", epilog=examples("umi bench learning"))(learning)
    app.command("learning-load", epilog=examples("umi bench learning-load --signals 10000"))(learning_load)


def learning(
    seeds: Annotated[int, typer.Option(help="How many streams of 500 tasks.", min=1)] = 20,
    first: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Draw the curves; needs the extra `plot`.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """See whether learning from outcomes helps.

    Tasks whose advice misleads in a third of cases, outcomes reported wrongly in 15%; beside no learning, an oracle and a plain rule,
    with one of three providers lying.
    """

    async def work() -> Answer:
        from umi_lab.bench import learning as bench  # noqa: PLC0415 - the simulation's randomness is loaded only here

        with progress_bar(as_json) as shown:
            report = await bench.measure(range(first, first + seeds), teller(shown))
        if plot is not None:
            from umi_lab.bench.learning_plots import draw_learning  # noqa: PLC0415 - it needs an extra

            await asyncio.to_thread(draw_learning, report, plot)
        well = all(ok for _, _, ok in report.checks().values())
        return Answer(report.as_json(), lambda console: _draw(console, report), Code.OK if well else Code.INCOMPLETE)

    answered(work, as_json=as_json)


def learning_load(
    memories: Annotated[int, typer.Option(help="In the store that is asked.", min=1)] = 10_000,
    signals: Annotated[int, typer.Option(help="Of one background run.", min=10)] = 100_000,
    as_json: AsJson = False,
) -> None:
    """See what learning costs.

    A recall with learning off and on beside one without the question, and a background run over many signals.
    """

    async def work() -> Answer:
        from umi_lab.bench import learning_load as bench  # noqa: PLC0415 - it plants a change, as the simulation's bugs are

        with progress_bar(as_json) as shown:
            return report_answer(await bench.measure(memories, signals, teller(shown)))

    answered(work, as_json=as_json)


def _draw(console: Console, report: LearningReport) -> None:
    curves = {arm: report.curve(arm) for arm in report.success}
    columns = [str((place + 1) * 50) for place in range(len(next(iter(curves.values()))))]
    made = render.table("success, % of the tasks up to", *columns, "after 200", "beside none")
    for arm, curve in curves.items():
        rate, gain = report.rate(arm), report.gain(arm, "without")
        cells = [f"{point.value:.0f}" for point in curve]
        whole = f"{rate.value:.1f} [{rate.low:.1f}, {rate.high:.1f}]"
        made.add_row(arm, *cells, whole, f"{gain.value:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}]")
    console.print(made)
    for name, (value, limit, ok) in report.checks().items():
        mark = Text("ok", style="green") if ok else Text("missed", style="bold red")
        console.print(Text.assemble(f"{name} {limit:g}: {value:.1f} ", mark))
