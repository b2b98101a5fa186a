"""`umi sim record`: whether recorded runs still give what they gave."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from umi.errors import InvalidInput
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Code, answered
from umi.faces.cli.options import AsJson, examples

_EXAMPLES = examples("umi sim record", "umi sim record talk:ward", "umi sim record --rewrite")


def add_to(app: typer.Typer) -> None:
    """Give `umi sim` its `record`."""
    app.command("record", epilog=_EXAMPLES)(_record)


def _record(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN", help="A run to show: small:SEED, SEED, talk:AUTHOR, state:NUMBER or vectors:NUMBER."
        ),
    ] = None,
    rewrite: Annotated[bool, typer.Option("--rewrite", help="Record what the runs give now.")] = False,
    jobs: Annotated[int | None, typer.Option(help="Processes; one per core unless given.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the answers of worlds and of ordinary talk with what is recorded.

    Every public call of some 270 runs is kept as a checksum. A change of an answer that nobody meant shows here. With a RUN, what its calls
    give now is shown line by line: save it on two versions, and compare the files.
    """

    async def work() -> Answer:
        if run is not None:
            return await asyncio.to_thread(_shown, run)
        return await asyncio.to_thread(_compared, jobs, rewrite)

    answered(work, as_json=as_json)


def _shown(run: str) -> Answer:
    from umi_lab.worlds.recorded import record as records  # noqa: PLC0415 - loaded only when this runs

    if run not in records.read():
        raise InvalidInput(f"{run!r} is not recorded: write such as {', '.join(list(records.read())[::90])}")
    heard = records.heard(run)
    text = "\n".join([*heard.lines, *([heard.failure] if heard.failure else [])])
    data = {"run": run, "failure": heard.failure, "calls": list(heard.lines)}
    return _answer(data, text, failed=heard.failure is not None)


def _compared(jobs: int | None, rewrite: bool) -> Answer:
    from umi_lab.worlds.recorded import record as records  # noqa: PLC0415 - see above
    from umi_lab.worlds.sweep import cores  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=render.terminal(stderr=True), transient=True) as bar:
        task = bar.add_task("runs", total=None)

        def tell(done: int, of: int) -> None:
            bar.update(task, completed=done, total=of)

        if rewrite:
            found = records.write(jobs=jobs or cores(), progress=tell)
        else:
            found = records.differing(records.names(), jobs=jobs or cores(), progress=tell)
    head = f"{len(found)} of {len(records.read())} runs do not answer as before"
    head += "; recorded as they are now" if rewrite else f"; {records.REMEDY}" if found else ""
    failed = bool(found) and not rewrite
    return _answer(
        {"differ": found, "recorded": rewrite}, "\n".join([head, *(f"  {name}" for name in found)]), failed=failed
    )


def _answer(data: dict[str, Any], text: str, *, failed: bool) -> Answer:
    if failed:
        return Answer(
            data, lambda console: console.print(Text(text), soft_wrap=True), Code.NOTHING_FOUND, status="failed"
        )
    return Answer(data, lambda console: console.print(Text(text), soft_wrap=True))
