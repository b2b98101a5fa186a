"""`umi doctor`: whether everything that a memory needs is there, and why work waits."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

import umi
from umi.addresses import without_password
from umi.errors import InvalidInput, UmiError
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Code, Target, answered
from umi.faces.cli.erasing import read_receipt, told
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
from umi.memory import Memory
from umi.ports import SupportsClose, SupportsHealthCheck, SupportsPrepare
from umi.types import Finding, OutboxItem

_REASONS_COUNT: Final = 3


def add_to(app: typer.Typer) -> None:
    """Give the app its command."""
    lines = ("umi doctor", "umi doctor --llm openai:gpt-5-mini", "umi doctor --db postgresql://umi@localhost/umi")
    app.command("doctor", epilog=examples(*lines))(doctor)


def doctor(
    verify_erasure: Annotated[
        Path | None,
        typer.Option(
            "--verify-erasure",
            metavar="FILE",
            help="Hold the receipt of an erasure against every byte of the memory's file.",
        ),
    ] = None,
    read_url: Annotated[
        str | None,
        typer.Option(
            "--read-url", metavar="ADDRESS", help="The replica of a memory on PostgreSQL, to be looked at as well."
        ),
    ] = None,
    llm: Llm = None,
    embedder: Embedder = EMBEDDER_DEFAULT,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Check the installation, the model, the embedder and the memory's file.

    Python, SQLite, whether the model's server is there and knows it (which costs no tokens), the embedder and its
    checksums, the file's integrity, what waits to be finished and why. Of PostgreSQL: the server, durability of what it
    acknowledges, standbys, row-level security, connections that are left, and size.
    """
    target = Target(db, namespace, as_json, llm, embedder)

    async def work() -> Answer:
        findings = [
            *_surroundings(),
            *await _model(target.llm),
            await _embedder(embedder),
            *await _kept(target, read_url),
            *([await _erasure(target, verify_erasure)] if verify_erasure is not None else ()),
        ]
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


async def _model(name: str | None) -> list[Finding]:
    if not name:
        return [Finding("model", ok=True, detail="none: the rules read alone; name one with --llm or UMI_LLM")]
    try:
        llm = umi.open_llm(name)
    except UmiError as error:
        return [Finding("model", ok=False, detail=str(error))]
    try:
        return [Finding("model", ok=True, detail=await llm.visit() if isinstance(llm, SupportsHealthCheck) else name)]
    except UmiError as error:
        return [Finding("model", ok=False, detail=str(error))]
    finally:
        if isinstance(llm, SupportsClose):
            await llm.close()


async def _embedder(name: str) -> Finding:
    if name == "none":
        return Finding("embedder", ok=True, detail="none: search is by words only")
    embedder = None
    try:
        embedder = umi.open_embedder(name)
        if embedder is None:
            detail = "missing: reinstall umi-memory; until then search is by words only"
            return Finding("embedder", ok=False, detail=detail)
        if isinstance(embedder, SupportsPrepare):
            await embedder.prepare(None)
        vector, identity = await embedder.embed("Is everything in order?"), embedder.identity
    except UmiError as error:
        return Finding("embedder", ok=False, detail=str(error))
    finally:
        if isinstance(embedder, SupportsClose):
            await embedder.close()
    checked = f", files match checksum {identity.digest[:12]}" if name == EMBEDDER_DEFAULT else ""
    return Finding("embedder", ok=True, detail=f"{identity.name}, {len(vector)} dimensions{checked}")


async def _kept(target: Target, read_url: str | None) -> list[Finding]:
    """What there is to say of where the memory is kept."""
    if not target.is_on_a_server:
        if read_url is not None:
            raise InvalidInput("--read-url is for a replica of a memory on PostgreSQL: give --db postgresql://... too")
        return await _store(target)
    try:
        found = await umi.diagnose(target.db, read_url=read_url)
    except UmiError as error:
        return [Finding("server", ok=False, detail=str(error))]
    # Opening would make tables that are not there.
    return [*found.findings, *(await _store(target) if found.ready else ())]


async def _store(target: Target) -> list[Finding]:
    if target.path is not None and not target.path.exists():
        return [Finding("file", ok=True, detail=f"{target.path} is not there yet; the first `umi remember` makes it")]
    try:
        # Without the embedder: the file is looked at even when that is missing, or another than the file's.
        async with Memory.open(target.db, namespace=target.namespace, embedder=None) as memory:
            wrong = list(await memory.check())
            mine, all_ = await memory.stats(), await memory.namespaces()
            waiting = await memory.waiting()
    except UmiError as error:
        return [Finding("file" if target.path else "store", ok=False, detail=str(error))]
    size = f"{mine.store_bytes / 1e6:,.1f} MB, {len(all_)} namespaces"
    left = (
        f"{mine.waiting} texts in namespace {mine.namespace}; `umi maintain` finishes them. {_reasons(waiting)}"
        if mine.waiting
        else "nothing"
    )
    return [
        Finding("file" if target.path else "store", ok=True, detail=f"{without_password(target.db)}, {size}"),
        Finding("integrity", ok=not wrong, detail="; ".join(wrong) or "every check passed"),
        Finding("waiting", ok=True, detail=left),  # no fault: it is stored, findable, and will be finished
    ]


async def _erasure(target: Target, file: Path) -> Finding:
    try:
        receipt = read_receipt(file)
        target.require()
        async with Memory.open(target.db, namespace=receipt.namespace, embedder=None) as memory:
            check = await memory.verify_erasure(receipt)
    except UmiError as error:
        return Finding("erasure", ok=False, detail=str(error))
    return Finding("erasure", ok=check.ok, detail=f"of {receipt.at:%Y-%m-%d %H:%M}: {told(check)}")


def _reasons(waiting: Sequence[OutboxItem]) -> str:
    """Why things wait, the commonest reason first."""
    counted = Counter(item.reason or "not begun yet" for item in waiting)
    return "Because: " + "; ".join(f"{count} x {reason}" for reason, count in counted.most_common(_REASONS_COUNT))


def _show_findings(console: Console, findings: Sequence[Finding]) -> None:
    made = render.table("", "what", "")
    for finding in findings:
        mark = Text("ok", style="green") if finding.ok else Text("wrong", style="bold red")
        made.add_row(mark, finding.what, Text(render.clean(finding.detail)))
    console.print(made)
