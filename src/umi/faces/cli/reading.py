"""Reading what waits and reading again: work, reread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Code, Target, on_memory
from umi.faces.cli.options import (
    DB_DEFAULT,
    EMBEDDER_DEFAULT,
    NAMESPACE_DEFAULT,
    AsJson,
    Db,
    Embedder,
    Llm,
    Namespace,
    examples,
)
from umi.faces.cli.remembering import entities_of
from umi.faces.cli.upkeep import show_maintained
from umi.memory import Memory
from umi.types import Entity, RereadReceipt

IdleS = Annotated[
    float | None,
    typer.Option(
        "--idle", min=0, metavar="SECONDS", help="Stop when there was nothing to do for so long; never by default."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Give the app its commands."""
    app.command("work", epilog=examples("umi work --llm ollama:qwen3", "umi work --llm openai:gpt-5-mini --idle 0"))(
        work
    )
    app.command(
        "reread", epilog=examples("umi reread --llm openai:gpt-5-mini", "umi reread --llm ollama:qwen3 --json")
    )(reread)


def work(
    llm: Llm = None,
    idle: IdleS = None,
    embedder: Embedder = EMBEDDER_DEFAULT,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Read what was remembered with read="later", in order, and go on as more comes in; Ctrl-C ends it, and nothing is lost."""

    async def run(memory: Memory) -> Answer:
        with _texts_done("texts read", quiet=as_json) as progress:
            receipt = await memory.work(idle_s=idle, progress=progress)
        code = Code.INCOMPLETE if receipt.waiting else Code.OK
        return Answer(receipt, lambda console: show_maintained(console, receipt), code)

    on_memory(Target(db, namespace, as_json, llm, embedder), run)


def reread(
    llm: Llm = None,
    embedder: Embedder = EMBEDDER_DEFAULT,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Read every kept message anew with a model, and act on what it says.

    For who configures a model, or a better one, later. Broken off or out of budget, it goes on when it is run again. Each change it made
    can be taken back with `umi undo`.
    """

    async def run(memory: Memory) -> Answer:
        with _texts_done("messages read again", quiet=as_json) as progress:
            receipt = await memory.reread(progress=progress)
        known = await entities_of(memory, receipt.changes)
        code = Code.INCOMPLETE if receipt.waiting else Code.OK
        return Answer(receipt, lambda console: _show(console, receipt, known), code)

    on_memory(Target(db, namespace, as_json, llm, embedder), run)


@contextmanager
def _texts_done(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with render.progress(*columns, quiet=quiet) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, left: bar.update(task, completed=done, total=done + left)


def _show(console: Console, receipt: RereadReceipt, known: dict[str, Entity]) -> None:
    rest = f", {receipt.changes_count:,} changes, {receipt.waiting_count:,} waiting"
    console.print(Text.assemble((f"{receipt.completed:,} read again", "green"), rest))
    for row in receipt.changes:
        console.print(render.indented(Text(""), render.change(row, known)))
    if receipt.waiting:
        console.print(f"The first that waits: {receipt.waiting[0].reason}. Run it again to go on.")
