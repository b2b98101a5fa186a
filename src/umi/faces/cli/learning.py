"""How it went, and what was learned from it: feedback, learn run, status, explain, rollback, reset."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Code, Target, on_memory
from umi.faces.cli.options import DB_DEFAULT, NAMESPACE_DEFAULT, AsJson, Db, Namespace, examples
from umi.faces.cli.reporters import Sources, loader
from umi.memory import Memory
from umi.types import FeedbackReceipt, LearnStatus, Lesson, Outcome, ProviderStanding, RunReceipt, Verdict
from umi.types.routing_rows import RouterStatus

_FAULTS_SHOWN = 10

app = typer.Typer(
    name="learn",
    help="What outcomes have taught, and the loop that takes them in.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def add_to(root: typer.Typer) -> None:
    """Give the app its commands."""
    root.command("feedback", epilog=examples("umi feedback rec_01a1f8d25de6f98f --outcome failure"))(feedback)
    app.command("run", epilog=examples("umi learn run --signals ci/signals.jsonl --junit out/junit.xml"))(run)
    app.command("status", epilog=examples("umi learn status", "umi learn status --plot quality.png"))(status)
    app.command("explain", epilog=examples("umi learn explain ent_889b2119643382c1324144f2"))(explain)
    app.command("rollback", epilog=examples("umi learn rollback 3"))(rollback)
    app.command("reset", epilog=examples("umi learn reset"))(reset)
    root.add_typer(app, name="learn")


def feedback(
    recall_id: Annotated[str, typer.Argument(metavar="RECALL", help="The id of a recall made with --learn.")],
    outcome: Annotated[Outcome, typer.Option(help="How the task ended that it served.")],
    score: Annotated[float | None, typer.Option(help="Your own measure, 0..1. Default: the outcome's.")] = None,
    verdict: Annotated[Verdict | None, typer.Option(help="What a human said of it.")] = None,
    used: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A hit that was really used; may be repeated.")
    ] = None,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Say how it went: what a recall showed stands higher or lower next time."""

    async def work(memory: Memory) -> Answer:
        receipt = await memory.feedback(
            recall_id, outcome=outcome, quality_score=score, human_verdict=verdict, used=used or None
        )
        return Answer(receipt, lambda console: _show_feedback(console, receipt))

    on_memory(Target(db, namespace, as_json, learn=True), work)


def run(
    signals: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", exists=True, help="JSON or JSON Lines, a file or a folder; may be repeated."),
    ] = None,
    junit: Annotated[
        list[Path] | None, typer.Option(metavar="PATH", exists=True, help="Test results as JUnit XML.")
    ] = None,
    pulls: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", exists=True, help="Pull requests as `gh pr list --json` writes them."),
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Who reports; a signal counts once by provider and id. Unless given the file's full path.",
        ),
    ] = None,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Take signals in and seal them as a version.

    Without any source, `.claude/intelligence/data/` and `.umi/intelligence/` are read. Broken off, run it again. With UMI_SIGNAL_KEY
    set, only sealed files are read.
    """

    async def work(memory: Memory) -> Answer:
        columns = (TextColumn("signals"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with render.progress(*columns, quiet=as_json) as bar:
            task = bar.add_task("signals", total=None)
            receipt = await memory.learning.run(progress=lambda done, of: bar.update(task, completed=done, total=of))
        code = Code.INCOMPLETE if receipt.faults else Code.OK
        return Answer(receipt, lambda console: _show_run(console, receipt), code)

    sources = Sources(signals or (), junit or (), pulls or (), provider)
    on_memory(Target(db, namespace, as_json, learn=True, intelligence=partial(loader, sources)), work)


def status(
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Draw quality over time; needs the extra `plot`."),
    ] = None,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Show what was learned, from how many signals, and how rankings changed by it."""

    async def work(memory: Memory) -> Answer:
        found = await memory.learning.status()
        if plot is not None:
            from umi.faces.cli.quality_plot import draw_quality  # noqa: PLC0415 - only when a picture is wanted

            await asyncio.to_thread(draw_quality, found.over_time, plot)
        return Answer(found, lambda console: _show_status(console, found))

    on_memory(Target(db, namespace, as_json, learn=True), work)


def explain(
    id: Annotated[str, typer.Argument(metavar="ID", help="An entity or a message.")],  # noqa: A002 - as in the library
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Show what is behind the factor of one memory."""

    async def work(memory: Memory) -> Answer:
        lesson = await memory.learning.explain(id)
        return Answer(lesson, lambda console: _show_lesson(console, lesson))

    on_memory(Target(db, namespace, as_json, learn=True), work)


def rollback(
    version: Annotated[int, typer.Argument(help="A sealed version; 0 is nothing.", min=0)],
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Let exactly what counted at a version count again.

    What came later is kept and counts no more; going to a later version brings it back.
    """

    async def work(memory: Memory) -> Answer:
        found = await memory.learning.rollback(version)
        return Answer(found, lambda console: _show_status(console, found))

    on_memory(Target(db, namespace, as_json, learn=True), work)


def reset(db: Db = DB_DEFAULT, namespace: Namespace = NAMESPACE_DEFAULT, as_json: AsJson = False) -> None:
    """Let nothing count: `umi learn rollback 0`."""

    async def work(memory: Memory) -> Answer:
        found = await memory.learning.reset()
        return Answer(found, lambda console: _show_status(console, found))

    on_memory(Target(db, namespace, as_json, learn=True), work)


def _show_feedback(console: Console, receipt: FeedbackReceipt) -> None:
    again = ", as before" if receipt.replayed else ""
    told = f" quality {receipt.quality:.2f}, {len(receipt.credited)} memories credited{again}"
    console.print(Text.assemble(("noted:", "green"), told))


def _show_run(console: Console, receipt: RunReceipt) -> None:
    sealed = f", sealed as version {receipt.version}" if receipt.version else ", nothing to seal"
    counts = f" of {receipt.loaded:,} signals, {receipt.known:,} known already, {receipt.unmatched:,} about nothing that is here"
    console.print(Text.assemble((f"{receipt.new:,} new", "green"), counts + sealed))
    if receipt.faults:
        made = render.table("provider", "record", "set aside because")
        for fault in receipt.faults[:_FAULTS_SHOWN]:
            made.add_row(
                render.said(fault.provider), render.said(fault.record or "all of it"), render.said(fault.reason)
            )
        console.print(made)
        if len(receipt.faults) > _FAULTS_SHOWN:
            console.print(Text(f"and {len(receipt.faults) - _FAULTS_SHOWN:,} more", style="dim"))


def _show_status(console: Console, found: LearnStatus) -> None:
    if found.routing is not None:
        _show_router(console, found.routing)
    if found.version is None:
        if found.routing is None:
            console.print("nothing was learned yet: recall with --learn, then say how it went with `umi feedback`")
        return
    counts = found.counts
    made = {
        "counts now": f"version {found.version.parent} and {found.version.signals:,} signals since",
        "signals": f"{counts.signals:,}",
        "recalls noted": f"{counts.trajectories:,}",
        "reordered": f"{counts.moved:,} of them",
        "providers": ", ".join(map(_provider, found.providers)),
    }
    console.print(render.facts({name: render.clean(value) for name, value in made.items()}))
    for title, lessons in (("raised", found.raised), ("lowered", found.lowered)):
        if lessons:
            table = render.table(title, "factor", "quality", "signals")
            for one in lessons:
                table.add_row(Text(one.id, style="dim"), f"{one.factor:.2f}", f"{one.estimate:.2f}", f"{one.counted:,}")
            console.print(table)
    if found.sealed:
        table = render.table("version", "after", "signals", "sealed", "why")
        for version in found.sealed:
            when = f"{version.sealed_at:%Y-%m-%d %H:%M}" if version.sealed_at else ""
            table.add_row(
                str(version.number), str(version.parent), f"{version.signals:,}", when, render.said(version.why)
            )
        console.print(table)


def _provider(one: ProviderStanding) -> str:
    agrees = "" if one.agreement is None else f", agrees with the others in {one.agreement:.0%}"
    return f"{one.name} {one.signals:,} (quality {one.quality:.2f}{agrees})"


def _show_lesson(console: Console, lesson: Lesson) -> None:
    if not lesson.counted:
        console.print("no outcome says anything of it")
        return
    console.print(
        f"factor {lesson.factor:.3f}: quality {lesson.estimate:.2f} where {lesson.usual:.2f} is usual, {lesson.counted:,} signals"
    )
    made = render.table("provider", "for", "against")
    for name, (gain, loss) in lesson.evidence.items():
        made.add_row(render.said(name), f"{gain:.2f}", f"{loss:.2f}")
    console.print(made)
    table = render.table("newest signals", "provider", "outcome", "quality", "completed", "matched by")
    for row in lesson.signals:
        when = f"{row.completed_at:%Y-%m-%d %H:%M}"
        table.add_row(
            render.said(row.id), render.said(row.provider), row.outcome, f"{row.quality:.2f}", when, row.matched
        )
    console.print(table)


def _show_router(console: Console, found: RouterStatus) -> None:
    """What a router knows, as a few lines."""
    chosen = ", ".join(f"{tier} {count:,}" for tier, count in found.chosen.items())
    went = ", ".join(f"{tier} {quality:.2f}" for tier, quality in found.mean_quality.items())
    facts = {
        "routed tasks": f"{found.decisions:,}: {chosen}" if chosen else "none",
        "judged": f"{found.judged:,}" + (f", mean quality {went}" if went else ""),
        "tried": f"{found.explored:,} of them on a tier that was not expected to be the best",
        "calibration": f"{-found.bias:+.3f} to every complexity, from {found.feedback:,} readings",
    }
    console.print(render.facts(facts))
