"""The state of a memory and of its surroundings: stats, maintain."""

from __future__ import annotations

from collections.abc import Sequence

import typer
from rich.console import Console
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from umi import reembed as move
from umi.errors import InvalidInput
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Code, Target, answered, on_memory
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
from umi.faces.cli.remembering import degradations
from umi.memory import Memory
from umi.types import MaintainReceipt, NamespaceInfo, Stats


def add_to(app: typer.Typer) -> None:
    """Give the app its commands."""
    app.command("stats", epilog=examples("umi stats", "umi stats --namespace alice --json"))(stats)
    app.command("maintain", epilog=examples("umi maintain", "umi maintain --llm ollama:qwen3"))(maintain)
    app.command("reembed", epilog=examples("umi reembed --embedder ollama:nomic-embed-text"))(reembed)


def stats(db: Db = DB_DEFAULT, namespace: Namespace = NAMESPACE_DEFAULT, as_json: AsJson = False) -> None:
    """Count what is stored, and list the namespaces."""

    async def work(memory: Memory) -> Answer:
        mine, all_ = await memory.stats(), await memory.namespaces()
        return Answer({"stats": mine, "namespaces": all_}, lambda console: _show_stats(console, mine, all_))

    on_memory(Target(db, namespace, as_json), work)


def maintain(
    llm: Llm = None,
    embedder: Embedder = EMBEDDER_DEFAULT,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Finish what a crash, a failing model or a failing embedder left."""

    async def work(memory: Memory) -> Answer:
        receipt = await memory.maintain()
        return Answer(
            receipt,
            lambda console: show_maintained(console, receipt),
            Code.INCOMPLETE if receipt.waiting else Code.OK,
        )

    on_memory(Target(db, namespace, as_json, llm, embedder), work)


def reembed(
    embedder: Embedder,
    llm: Llm = None,
    db: Db = DB_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Give all memories of a file the vectors of another embedder.

    Every namespace. Until it is done texts are found by their words; when it is broken off, run it again.
    """

    async def work() -> Answer:
        target = Target(db, NAMESPACE_DEFAULT, as_json)
        target.require()
        if embedder == "none":
            raise InvalidInput(
                "vectors need an embedder: name one. To go on without, open the memory with --embedder none; its vectors stay"
            )
        columns = (SpinnerColumn(), TextColumn("{task.completed} texts"), TimeElapsedColumn())
        with render.progress(*columns, quiet=as_json) as bar:
            task = bar.add_task("texts", total=None)
            done, waiting = await move(db, embedder, llm=llm, progress=lambda count: bar.update(task, completed=count))
        told = Text.assemble((f"{done:,} texts", "green"), f" have vectors of {embedder}, {waiting:,} wait")
        data = {"embedder": embedder, "completed": done, "waiting": waiting}
        return Answer(data, lambda console: console.print(told), Code.INCOMPLETE if waiting else Code.OK)

    answered(work, as_json=as_json)


def _show_stats(console: Console, mine: Stats, all_: Sequence[NamespaceInfo]) -> None:
    console.print(
        render.facts(
            {
                "namespace": render.clean(mine.namespace),
                "messages": f"{mine.episodes:,}",
                "statements": f"{mine.entities:,}",
                "vectors": f"{mine.vectors:,}",
                "states": ", ".join(f"{count:,} {name}" for name, count in mine.states.items()),
                "changes": ", ".join(f"{count:,} {name}" for name, count in sorted(mine.evolutions.items()) if count),
                "waiting": f"{mine.waiting:,}" if mine.waiting else "",
                "embedder": mine.embedder or "none yet",
                "file": f"{mine.store_bytes / 1e6:,.1f} MB",
                "caches": f"{mine.cache_bytes / 1e6:,.1f} MB",
            }
        )
    )
    if all_:
        made = render.table("namespace", "messages", "statements")
        for one in all_:
            made.add_row(render.said(one.name), f"{one.episodes:,}", f"{one.entities:,}")
        console.print()
        console.print(made)


def show_maintained(console: Console, receipt: MaintainReceipt) -> None:
    """What was finished and what still waits."""
    console.print(Text.assemble((f"{receipt.completed:,} finished", "green"), f", {receipt.waiting_count:,} waiting"))
    if receipt.waiting:
        made = render.table("message", "attempts", "last reason")
        for item in receipt.waiting:
            made.add_row(Text(item.episode_id, style="dim"), str(item.attempts), render.said(item.reason))
        console.print(made)
    degradations(console, receipt.degraded)
