"""`umi sim record`: whether recorded runs still give what they gave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from umi.errors import InvalidInput
from umi.faces.cli.benching import progress_bar, teller
from umi.faces.cli.envelope import Answer, answered
from umi.faces.cli.options import AsJson, examples
from umi_lab.cli.simulating_small import worlds_answer

_EXAMPLES = examples("umi sim record", "umi sim record talk:ward", "umi sim record --rewrite")


def add_to(app: typer.Typer) -> None:
    """Give `umi sim` its `record`."""
    app.command("record", epilog=_EXAMPLES)(_record)


def _record(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN", help="A run to show: small:SEED, SEED, talk:AUTHOR, or another line of record.txt."
        ),
    ] = None,
    rewrite: Annotated[bool, typer.Option("--rewrite", help="Record what the runs give now.")] = False,
    jobs: Annotated[int | None, typer.Option(help="Processes; one per core unless given.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the answers of worlds and of ordinary talk with what is recorded.

    Every public call of some 370 runs is kept as a checksum. A change of an answer that nobody meant shows here. With a RUN, what its calls
    give now is shown line by line: save it on two versions, and compare the files.
    """

    async def work() -> Answer:
        if run is not None:
            return await asyncio.to_thread(_shown, run)
        with progress_bar(as_json) as bar:
            return await asyncio.to_thread(_compared, jobs, rewrite, partial(teller(bar), "runs"))

    answered(work, as_json=as_json)


def _shown(run: str) -> Answer:
    from umi_lab.worlds.recorded import record as records  # noqa: PLC0415 - loaded only when this runs

    known = list(records.read())
    if run not in known:
        raise InvalidInput(f"{run!r} is not recorded: write such as {', '.join(known[::90])}")
    heard = records.heard(run)
    text = "\n".join([*heard.lines, *([heard.failure] if heard.failure else [])])
    data = {"run": run, "failure": heard.failure, "calls": list(heard.lines)}
    return worlds_answer(data, text, failed=heard.failure is not None)


def _compared(jobs: int | None, rewrite: bool, tell: Callable[[int, int], None]) -> Answer:
    from umi_lab.worlds.recorded import record as records  # noqa: PLC0415 - see above
    from umi_lab.worlds.sweep import cores  # noqa: PLC0415

    runs = records.names()
    if rewrite:
        found = records.write(jobs=jobs or cores(), progress=tell)
    else:
        found = records.differing(runs, jobs=jobs or cores(), progress=tell)
    head = f"{len(found)} of {len(runs)} runs do not answer as before"
    head += "; recorded as they are now" if rewrite else f"; {records.REMEDY}" if found else ""
    text = "\n".join([head, *(f"  {name}" for name in found)])
    return worlds_answer({"differ": found, "recorded": rewrite}, text, failed=bool(found) and not rewrite)
