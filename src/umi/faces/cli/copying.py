"""Memories as files, and from one store to another: export, restore, backup, copy."""

from __future__ import annotations

import filecmp
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from umi.addresses import without_password
from umi.errors import InvalidInput, StoreError
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Target, answered, on_memory
from umi.faces.cli.filters import Types, Where, types_of, where_of
from umi.faces.cli.options import DB_DEFAULT, NAMESPACE_DEFAULT, AsJson, Db, Namespace, examples
from umi.memory import Memory
from umi.types import ExportReceipt, RestoreReceipt

_PIPE = "-"


def add_to(app: typer.Typer) -> None:
    """Give the app its commands."""
    app.command(
        "export", epilog=examples("umi export alice.jsonl -n alice", "umi export - --all | gzip > all.jsonl.gz")
    )(export)
    app.command(
        "restore",
        epilog=examples(
            "umi restore alice.jsonl --db new.db -n alice", "zcat all.jsonl.gz | umi restore - --db new.db"
        ),
    )(restore)
    app.command("backup", epilog=examples("umi backup backups/umi-2026-11-20.db"))(backup)
    app.command("copy", epilog=examples("umi copy umi.db postgresql://umi@localhost/umi"))(copy)


def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to; - is standard output.")],
    every: Annotated[bool, typer.Option("--all", help="Every namespace of the file, not only one.")] = False,
    where: Where = None,
    types: Types = None,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Write all of a namespace as JSON Lines.

    Messages, statements with all their times, relations, waiting work and vectors: `umi restore` brings it back as it was,
    into any store. The file appears once it is whole; others may go on writing meanwhile. Of what is there already only an
    export is replaced.
    """

    async def work(memory: Memory) -> Answer:
        write = partial(memory.export, every_namespace=every, where=where_of(where), types=types_of(types))
        with _lines_done(quiet=as_json) as progress:
            if file == _PIPE:
                await write(sys.stdout.buffer, progress=progress)
                sys.stdout.buffer.flush()
                return Answer(None, lambda _: None)
            receipt = await write(file, progress=progress)
        return Answer(receipt, lambda console: _show_exported(console, receipt, file))

    if as_json and file == _PIPE:
        on_memory(Target(db, namespace, as_json), _two_answers)
    on_memory(Target(db, namespace, as_json, embedder="none"), work)


def restore(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `umi export` wrote; - is standard input.")],
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Bring an export back, with nothing read or embedded again.

    Into an empty namespace, or, for an export of all, into the namespaces it names. A restore that was cut short goes on when
    the same command is run again.
    """
    size = Path(file).stat().st_size if Path(file).is_file() else None

    async def work(memory: Memory) -> Answer:
        with _bytes_done(size, quiet=as_json) as progress:
            receipt = await memory.restore(sys.stdin.buffer if file == _PIPE else file, progress=progress)
        return Answer(receipt, lambda console: _show_restored(console, receipt, db))

    def before() -> None:
        if file != _PIPE and not Path(file).exists():
            raise InvalidInput(f"{file} is not there: give the path of what `umi export` wrote")

    on_memory(Target(db, namespace, as_json, embedder="none"), work, create=True, before=before)


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that is not there yet.")],
    db: Db = DB_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Copy the whole database while others go on writing.

    A copy as of one moment, ready to be opened; it never writes over a file.
    """

    async def work(memory: Memory) -> Answer:
        size = await memory.backup(file)
        told = Text.assemble((f"{size / 1e6:,.1f} MB", "green"), f" copied to {file}")
        return Answer({"file": file, "bytes": size}, lambda console: console.print(told))

    def before() -> None:
        if str(file) == _PIPE:
            raise InvalidInput(
                "a backup is a file and cannot be piped: name one, or write an export with `umi export -`"
            )

    on_memory(Target(db, NAMESPACE_DEFAULT, as_json, embedder="none"), work, before=before)


def copy(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A file or a PostgreSQL address.")],
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Where to; its namespaces of the same names must be empty.")
    ],
    as_json: AsJson = False,
) -> None:
    """Copy every namespace from one store to another, of the same kind or not.

    Exports of both are the same bytes afterwards, which is checked. Nothing is read or embedded again. A copy that was cut
    short goes on when the same command is run again, if the source has not changed. What it holds lies in a temporary file meanwhile.
    """

    async def work() -> Answer:
        start = Target(source, NAMESPACE_DEFAULT, as_json, llm="", embedder="none")
        end = Target(target, NAMESPACE_DEFAULT, as_json, llm="", embedder="none")
        start.require()
        with tempfile.TemporaryDirectory(prefix="umi-copy-") as folder:
            first, second = Path(folder, "source.jsonl"), Path(folder, "target.jsonl")
            async with start.open() as memory:
                with _lines_done(quiet=as_json) as progress:
                    exported = await memory.export(first, every_namespace=True, progress=progress)
            async with end.open() as memory:
                with _bytes_done(exported.bytes, quiet=as_json) as bytes_done:
                    await memory.restore(first, progress=bytes_done)
                with _lines_done(quiet=as_json) as progress:
                    await memory.export(second, every_namespace=True, progress=progress)
            if not filecmp.cmp(first, second, shallow=False):
                raise StoreError(
                    f"{without_password(target)} holds something else than {without_password(source)} now:"
                    " one of them was written to meanwhile, or the target was not empty. Copy into an empty store"
                )
        return Answer(exported, lambda console: console.print(_counts(exported, "copied, and compared byte by byte")))

    answered(work, as_json=as_json)


async def _two_answers(_: Memory) -> Answer:
    raise InvalidInput("--json and an export to standard output cannot share it: name a file")


@contextmanager
def _lines_done(*, quiet: bool) -> Iterator[Callable[[int], None]]:
    columns = (SpinnerColumn(), TextColumn("{task.completed:,} rows"), TimeElapsedColumn())
    with render.progress(*columns, quiet=quiet) as bar:
        task = bar.add_task("rows", total=None)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def _bytes_done(size: int | None, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn("restoring"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with render.progress(*columns, quiet=quiet) as bar:
        task = bar.add_task("bytes", total=size)
        yield lambda done: bar.update(task, completed=done)


def _show_exported(console: Console, receipt: ExportReceipt, file: str) -> None:
    console.print(_counts(receipt, "exported"))
    console.print(Text(f"{receipt.bytes / 1e6:,.1f} MB in {file}", style="dim"))


def _show_restored(console: Console, receipt: RestoreReceipt, db: str) -> None:
    console.print(_counts(receipt, "restored"))
    if receipt.resumed:
        console.print(Text("a restore that was cut short went on from where it was; this is the rest", style="dim"))
    for name in receipt.namespaces:
        render.command(console, f"umi list --db {without_password(db)} --namespace {name}")


def _counts(receipt: ExportReceipt | RestoreReceipt, word: str) -> Text:
    spaces = len(receipt.namespaces)
    named = "1 namespace" if spaces == 1 else f"{spaces:,} namespaces"
    rest = f" messages, {receipt.entities:,} statements, {receipt.relations:,} changes of {named} {word}"
    return Text.assemble((f"{receipt.episodes:,}", "green"), rest)
