"""`umi bench cost` and `umi bench faults`: what a model is asked, and what its failures cost."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from umi.faces.cli import render
from umi.faces.cli.benching import progress_bar, report_answer, teller
from umi.faces.cli.envelope import Answer, Code, answered
from umi.faces.cli.options import AsJson, examples


def add_to(app: typer.Typer) -> None:
    """Give the app its commands."""
    app.command("cost", epilog=examples("umi bench cost"))(cost)
    app.command("faults", epilog=examples("umi bench faults"))(faults)


def cost(as_json: AsJson = False) -> None:
    """Count what Umi asks of a model.

    Calls and tokens per operation, counted at a server on this machine, and Umi's own time. Needs the extra `openai`.
    """

    async def work() -> Answer:
        from umi.bench import cost as cost_bench  # noqa: PLC0415 - it needs an extra

        with progress_bar(as_json) as shown:
            return report_answer(await cost_bench.measure(teller(shown)))

    answered(work, as_json=as_json)


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
        from umi.bench import faults as faults_bench  # noqa: PLC0415 - it needs extras

        with progress_bar(as_json) as shown:
            real = await asyncio.to_thread(faults_bench.real, step=teller(shown))
            simulated = await asyncio.to_thread(faults_bench.simulated)
        if report is not None:
            await asyncio.to_thread(report.write_text, faults_bench.markdown(real, simulated), "utf-8")
        data = {"real": faults_bench.as_json(real), "simulated": faults_bench.as_json(simulated)}
        well = all(row.ok for row in (*real, *simulated))
        return Answer(data, lambda console: _draw(console, data), Code.OK if well else Code.INCOMPLETE)

    answered(work, as_json=as_json)


def _draw(console: Console, data: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    made = render.table("fault", "", "s", "s simulated", "requests", "calls", "receipt")
    for real, simulated in zip(data["real"], data["simulated"], strict=True):
        well = real["ok"] and simulated["ok"]
        mark = Text("ok", style="green") if well else Text("wrong", style="bold red")
        told = f"deferred, {', '.join(real['degraded'])}" if real["deferred"] else "done"
        seconds = (f"{row['seconds']:.2f}" for row in (real, simulated))
        made.add_row(real["fault"], mark, *seconds, str(real["requests"]), str(real["calls"]), told)
    console.print(made)
