"""The state of a memory and of its surroundings: stats, doctor, maintain."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata

import typer
from rich.console import Console
from rich.text import Text

import umi
from umi.build import open_embedder
from umi.errors import UmiError
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Code, Target, answered, on_memory
from umi.faces.cli.options import DB_DEFAULT, NAMESPACE_DEFAULT, AsJson, Db, Namespace
from umi.faces.cli.remembering import degradations
from umi.memory import Memory
from umi.types import MaintainReceipt, NamespaceInfo, Stats


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the doctor looked at."""

    what: str
    ok: bool
    detail: str


def add_to(app: typer.Typer) -> None:
    """Give the app its commands."""
    app.command("stats")(stats)
    app.command("doctor")(doctor)
    app.command("maintain")(maintain)


def stats(db: Db = DB_DEFAULT, namespace: Namespace = NAMESPACE_DEFAULT, as_json: AsJson = False) -> None:
    """Count what is stored, and list the namespaces."""

    async def work(memory: Memory) -> Answer:
        mine, all_ = await memory.stats(), await memory.namespaces()
        return Answer({"stats": mine, "namespaces": all_}, lambda console: _show_stats(console, mine, all_))

    on_memory(Target(db, namespace, as_json), work)


def maintain(db: Db = DB_DEFAULT, namespace: Namespace = NAMESPACE_DEFAULT, as_json: AsJson = False) -> None:
    """Finish what a crash or a failing embedder left."""

    async def work(memory: Memory) -> Answer:
        receipt = await memory.maintain()
        return Answer(
            receipt,
            lambda console: _show_maintained(console, receipt),
            Code.INCOMPLETE if receipt.waiting else Code.OK,
        )

    on_memory(Target(db, namespace, as_json), work)


def doctor(db: Db = DB_DEFAULT, namespace: Namespace = NAMESPACE_DEFAULT, as_json: AsJson = False) -> None:
    """Check the installation and the memory's file.

    Python, SQLite, the embedder and its checksums, the file's integrity, unfinished work.
    """
    target = Target(db, namespace, as_json)

    async def work() -> Answer:
        findings = [*_surroundings(), await _embedder(), *await _store(target)]
        well = all(finding.ok for finding in findings)
        return Answer(
            {"findings": findings, "ok": well},
            lambda console: _show_findings(console, findings),
            Code.OK if well else Code.STORE_TROUBLE,
        )

    answered(work, as_json=as_json)


def _surroundings() -> list[Finding]:
    return [
        Finding("umi", ok=True, detail=umi.__version__),
        Finding("python", ok=True, detail=f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        Finding("sqlite", ok=True, detail=f"{metadata.version('apsw').rpartition('.')[0]}, from apsw"),
    ]


async def _embedder() -> Finding:
    embedder = open_embedder("local")
    if embedder is None:
        return Finding("embedder", ok=False, detail="missing: reinstall umi-memory; until then search is by words only")
    try:
        vector = await embedder.embed("Is everything in order?")
    except UmiError as error:
        return Finding("embedder", ok=False, detail=str(error))
    identity = embedder.identity
    return Finding(
        "embedder",
        ok=True,
        detail=f"{identity.name}, {len(vector)} dimensions, files match checksum {identity.digest[:12]}",
    )


async def _store(target: Target) -> list[Finding]:
    if target.path is not None and not target.path.exists():
        return [Finding("file", ok=True, detail=f"{target.path} is not there yet; the first `umi remember` makes it")]
    try:
        async with Memory.open(target.db, namespace=target.namespace) as memory:
            wrong = list(await memory.check())
            mine, all_ = await memory.stats(), await memory.namespaces()
    except UmiError as error:
        return [Finding("file", ok=False, detail=str(error))]
    size = f"{mine.store_bytes / 1e6:,.1f} MB, {len(all_)} namespaces"
    left = (
        f"{mine.waiting} waiting in namespace {mine.namespace}; `umi maintain` finishes them"
        if mine.waiting
        else "empty"
    )
    return [
        Finding("file", ok=True, detail=f"{target.db}, {size}"),
        Finding("integrity", ok=not wrong, detail="; ".join(wrong) or "every check passed"),
        Finding("unfinished work", ok=True, detail=left),  # no fault: it is stored, findable, and will be finished
    ]


def _show_findings(console: Console, findings: Sequence[Finding]) -> None:
    made = render.table("", "what", "")
    for finding in findings:
        mark = Text("ok", style="green") if finding.ok else Text("wrong", style="bold red")
        made.add_row(mark, finding.what, Text(render.clean(finding.detail)))
    console.print(made)


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


def _show_maintained(console: Console, receipt: MaintainReceipt) -> None:
    console.print(Text.assemble((f"{receipt.completed:,} finished", "green"), f", {len(receipt.waiting):,} waiting"))
    if receipt.waiting:
        made = render.table("message", "attempts", "last reason")
        for item in receipt.waiting:
            made.add_row(Text(item.episode_id, style="dim"), str(item.attempts), render.said(item.reason))
        console.print(made)
    degradations(console, receipt.degraded)
