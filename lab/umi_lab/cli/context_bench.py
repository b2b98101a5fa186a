"""`umi bench context`: whether what is packed for a prompt keeps its budget and holds the answer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from umi.faces.cli.benching import progress_bar, report_answer, teller
from umi.faces.cli.envelope import Answer, answered
from umi.faces.cli.options import AsJson, examples


def add_to(app: typer.Typer) -> None:
    """Give the app its command."""
    app.command(
        "context", epilog=examples("umi bench context --histories tests/data/recorded_histories.jsonl --out lines.txt")
    )(context)


def context(
    histories: Annotated[
        list[Path],
        typer.Option(metavar="FILE", exists=True, dir_okay=False, help="Histories, as JSON Lines; may be repeated."),
    ],
    cases: Annotated[int, typer.Option(help="Random budgets.", min=1)] = 10_000,
    lines: Annotated[int, typer.Option(help="Lines of profiles to sample.", min=0)] = 200,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write the sampled lines there, to be read.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """See whether a context keeps its budget and holds what recall found.

    Random budgets under several counters, and questions of histories. Samples lines of `profile` and `facts` with their sources.
    """

    async def work() -> Answer:
        from umi_lab.bench import contexts as bench  # noqa: PLC0415 - the simulation's randomness is loaded only here

        with progress_bar(as_json) as shown:
            rows = await asyncio.to_thread(bench.read_histories, histories)
            report, sampled = await bench.measure(rows, cases=cases, lines=lines, step=teller(shown))
        if out is not None:
            await asyncio.to_thread(out.write_text, bench.as_text(sampled), "utf-8")
        return report_answer(report)

    answered(work, as_json=as_json)
