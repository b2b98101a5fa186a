"""`umi import`: text, documents, conversations and other memories into one namespace or several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from umi.addresses import without_password
from umi.errors import InvalidInput
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Code, Target, answered, moment
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
from umi.faces.importers import Defaults, Format, Item, Record, Rejected, Skipped, Unread, detect, read
from umi.faces.importers.live import Store
from umi.faces.importers.sources import Source, sources
from umi.faces.importers.zones import zone_of
from umi.limits import BULK_BATCH_COUNT
from umi.memory import Memory
from umi.server.file_messages import FileMessage, store

_REJECTED_KEPT_COUNT = 100
_REJECTED_SHOWN_COUNT = 20
_PARTICULARS = "known already; its particulars, such as a title, have changed since and stay as they were"


@dataclass
class Tally:
    """What an import did in one namespace."""

    namespace: str
    messages: int = 0
    known_already: int = 0
    statements: int = 0
    changes: int = 0
    deferred: int = 0


@dataclass
class Outcome:
    """What an import did in all; of the rejected records the first hundred are kept, and what was skipped is counted by reason.

    `unread` says where the reading of a file stopped.
    """

    file: str
    form: Format | None = None
    namespaces: list[Tally] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    rejected_count: int = 0
    unread: list[Unread] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)

    @property
    def code(self) -> Code:
        """The exit code."""
        return Code.INCOMPLETE if self.rejected_count or self.unread else Code.OK

    def tally(self, name: str) -> Tally:
        """The tally of a namespace, which may come again."""
        found = next((one for one in self.namespaces if one.namespace == name), None)
        if found is None:
            found = Tally(name)
            self.namespaces.append(found)
        return found

    def reject(self, one: Rejected) -> None:
        """Count a record that could not be kept, or keep where reading stopped."""
        if isinstance(one, Unread):
            self.unread.append(one)
            return
        self.rejected_count += 1
        if len(self.rejected) < _REJECTED_KEPT_COUNT:
            self.rejected.append(one)


def add_to(app: typer.Typer) -> None:
    """Give the app its command."""
    lines = (
        "umi import chatgpt-export.zip --speaker Alice -n alice",
        "umi import conversations.json --format claude --speaker Alice -n alice",
        "umi import notes/",
        "umi import /var/lib/mem0 --split",
        "umi import postgresql://localhost/app --speaker Alice",
        "umi import people.csv --column content=remark --column speaker=who",
        "cat log.jsonl | umi import - --format jsonl",
    )
    app.command("import", epilog=examples(*lines))(import_)


def import_(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A file, a folder of notes or of mem0's store, a .zip with conversations.json, the URL of a PostgresStore; - is standard input.",
        ),
    ],
    form: Annotated[Format, typer.Option("--format", "-f", help="What the file is; auto looks at it.")] = Format.AUTO,
    split: Annotated[
        bool | None,
        typer.Option(
            "--split/--no-split",
            help="One namespace per conversation, user (mem0), store namespace (LangGraph) or question (LongMemEval), or all "
            "in --namespace. Default: split LoCoMo only.",
        ),
    ] = None,
    prefix: Annotated[str, typer.Option(help="Put before the names of namespaces that --split makes.")] = "",
    zone: Annotated[
        str, typer.Option("--timezone", help="Zone of times that name none, such as Europe/Berlin or +09:00.")
    ] = "UTC",
    speaker: Annotated[
        str | None, typer.Option("--speaker", "-s", help='Who speaks where the file does not say; the "you" of a chat.')
    ] = None,
    session: Annotated[
        str | None, typer.Option(help="Session where the file does not say. Default for text: the file's name.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="When it was said where the file does not say. Default: now; of Markdown, its last change."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=NAME",
            help="Which column of a table is content, speaker, at, session, id or role; may be repeated. Others are metadata.",
        ),
    ] = None,
    llm: Llm = None,
    embedder: Embedder = EMBEDDER_DEFAULT,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Store text, documents, chats or another memory's dump.

    ChatGPT's and Claude's data exports, Markdown, CSV, JSON Lines, plain text; memories of mem0, LangGraph, Letta, Zep, basic-memory,
    Claude and the reference MCP server, as files or as stores in use, which are only read. Running
    it again stores nothing twice, so an import that was cut short is resumed by the same command. What is left out is
    counted, with the reason.
    """

    async def work() -> Answer:
        columns = _columns(column or ())
        defaults = Defaults(Path(file).name, zone_of(zone), speaker, session, moment(at, "--at"), columns)
        found = sources(file, form)
        outcome = Outcome(found[0].name if isinstance(found[0], Store) else file)
        bar = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        with render.progress(*bar, quiet=as_json) as shown:
            task = shown.add_task(outcome.file, total=sum(one.size for one in found if isinstance(one, Source)) or None)
            records = _records(found, form, defaults, outcome, lambda done: shown.update(task, completed=done))

            def place(record: Record) -> str:
                apart = outcome.form is Format.LOCOMO if split is None else split
                return f"{prefix}{record.group}" if apart and record.group is not None else namespace

            await _store(Target(db, namespace, as_json, llm, embedder), _placed(records, place, outcome), outcome)
        return Answer(outcome, lambda console: _show(console, outcome, db), outcome.code)

    answered(work, as_json=as_json)


def _records(
    found: list[Source] | list[Store],
    form: Format,
    defaults: Defaults,
    outcome: Outcome,
    advance: Callable[[int], None],
) -> Iterator[Record]:
    """The records of all sources; what is none is noted in the outcome."""
    before = 0
    for source in found:
        if isinstance(source, Store):
            outcome.form = Format(source.form)
            yield from _kept(source.items(defaults), outcome)
            continue
        said = replace(defaults, name=source.name, at=defaults.at or source.changed)
        with source.open() as stream:
            wanted = Format(source.form) if source.form else form
            outcome.form = detect(stream, source.name) if wanted is Format.AUTO else wanted
            for record in _kept(read(stream, outcome.form, said), outcome, source.name if len(found) > 1 else ""):
                yield record
                advance(before + min(source.size, stream.tell()))
        before += source.size


def _kept(items: Iterator[Item], outcome: Outcome, name: str = "") -> Iterator[Record]:
    for item in items:
        if isinstance(item, Rejected):
            outcome.reject(replace(item, where=f"{name}: {item.where}") if name else item)
        elif isinstance(item, Skipped):
            outcome.skipped[item.reason] = outcome.skipped.get(item.reason, 0) + 1
        else:
            yield item


def _placed(
    records: Iterator[Record], place: Callable[[Record], str], outcome: Outcome
) -> Iterator[tuple[str, Record]]:
    """Each record with its namespace; one whose namespace cannot be is rejected."""
    known: set[str] = set()
    for record in records:
        name = place(record)
        try:
            if name not in known:
                Memory.open("dict:", namespace=name, embedder=None)  # only made, which checks the name
                known.add(name)
        except InvalidInput as refused:
            outcome.reject(Rejected(record.line, record.where, str(refused)))
        else:
            yield name, record


async def _store(target: Target, placed: Iterator[tuple[str, Record]], outcome: Outcome) -> None:
    """Store the records namespace by namespace, as they come, a batch at a time."""
    for name, group in groupby(placed, key=itemgetter(0)):
        tally = outcome.tally(name)
        async with replace(target, namespace=name).open() as memory:
            while batch := [record for _, record in islice(group, BULK_BATCH_COUNT)]:
                await _store_batch(memory, batch, tally, outcome)


async def _store_batch(memory: Memory, batch: list[Record], tally: Tally, outcome: Outcome) -> None:
    stored = await store(memory, [FileMessage(record.message, record.item) for record in batch])
    tally.messages += stored.messages
    tally.known_already += stored.known_already
    tally.statements += stored.statements
    tally.changes += stored.changes
    tally.deferred += stored.deferred
    if count := stored.with_other_particulars:
        outcome.skipped[_PARTICULARS] = outcome.skipped.get(_PARTICULARS, 0) + count
    for place, reason in stored.refused.items():
        outcome.reject(Rejected(batch[place].line, batch[place].where, reason))


def _columns(said: Iterable[str]) -> dict[str, str]:
    found = {}
    for one in said:
        field_name, mark, name = one.partition("=")
        if not mark or not name:
            raise InvalidInput(f"--column {one!r} is not FIELD=NAME, such as --column content=remark")
        found[field_name] = name
    return found


def _show(console: Console, outcome: Outcome, db: str) -> None:
    made = render.table("namespace", "messages", "new", "known already", "statements", "changes")
    for one in outcome.namespaces:
        new = one.messages - one.known_already
        numbers = (one.messages, new, one.known_already, one.statements, one.changes)
        made.add_row(render.said(one.namespace), *(f"{number:,}" for number in numbers))
    console.print(made if outcome.namespaces else Text("the file holds no message"))
    if outcome.skipped:
        console.print()
        passed = render.table("skipped", "because")
        for reason, count in sorted(outcome.skipped.items(), key=lambda both: (-both[1], both[0])):
            passed.add_row(f"{count:,}", render.said(reason))
        console.print(passed)
    if outcome.rejected_count:
        console.print()
        console.print(Text(f"{outcome.rejected_count:,} records were left out:", style="yellow"))
        left_out = render.table("line", "record", "reason")
        for bad in outcome.rejected[:_REJECTED_SHOWN_COUNT]:
            left_out.add_row(f"{bad.line:,}", render.said(bad.where), render.said(bad.reason))
        console.print(left_out)
        if outcome.rejected_count > _REJECTED_SHOWN_COUNT:
            console.print(Text("--json lists more of them", style="dim"))
    for stop in outcome.unread:
        console.print()
        console.print(render.said(f"line {stop.line:,}, {stop.where}: {stop.reason}", "yellow"))
    if sum(one.deferred for one in outcome.namespaces):
        console.print(Text("some texts wait to be finished: `umi maintain` does it", style="yellow"))
    if outcome.namespaces:
        name = outcome.namespaces[0].namespace
        render.command(console, f'ask it: umi recall "..." --db {without_password(db)} --namespace {name}')
