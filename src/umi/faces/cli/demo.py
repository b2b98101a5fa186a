"""`umi demo`: half a year of talk goes in, memory that knows what changed comes out. All that is printed comes from receipts."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.text import Text

from umi.errors import InvalidInput
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, answered, plain
from umi.faces.cli.options import AsJson, examples
from umi.faces.cli.remembering import entities_of
from umi.faces.cli.story import (
    CONCLUSION_QUESTION,
    MARCH,
    MISTAKEN,
    MISTAKEN_QUESTION,
    NAMESPACE,
    NOW_QUESTIONS,
    STORY,
    SUBJECT,
    THEN_QUESTIONS,
    UNKNOWN_QUESTION,
    Line,
)
from umi.memory import Memory
from umi.types import (
    Entity,
    EvolutionRelation,
    Explanation,
    ExportReceipt,
    HistoryStep,
    HitState,
    RecallReceipt,
    RememberReceipt,
)


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything the demo shows, as the facade gave it."""

    file: Path
    receipts: dict[str, RememberReceipt]
    ends: dict[str, Entity]
    now: dict[str, RecallReceipt]
    then: dict[str, RecallReceipt]
    unknown: RecallReceipt
    conclusion: RecallReceipt
    conclusion_kept: RecallReceipt
    conclusion_why: Explanation
    history: tuple[HistoryStep, ...]
    mistaken: tuple[RecallReceipt, RecallReceipt]  # before and after the correction
    undone: EvolutionRelation
    exported: ExportReceipt
    copy_is_same: bool

    @property
    def changes(self) -> tuple[EvolutionRelation, ...]:
        """Every relation that was noticed, in order."""
        return tuple(relation for receipt in self.receipts.values() for relation in receipt.evolutions)


def add_to(app: typer.Typer) -> None:
    """Give the app its command."""
    app.command("demo", epilog=examples("umi demo", "umi demo --db tour.db"))(demo)


def demo(
    db: Annotated[
        Path, typer.Option("--db", metavar="FILE", help="Where to keep it; an earlier demo there is replaced.")
    ] = Path("demo.db"),
    as_json: AsJson = False,
) -> None:
    """A guided tour of Umi, on half a year of talk.

    What was said, what changed and why, what holds now and held in March, what is not known, a conclusion that goes stale, a
    wrong change taken back, and the way out. Everything printed is read from the memory that it leaves behind.
    """

    async def work() -> Answer:
        await _make_room(db)
        found = await _run(db)
        return Answer(_as_data(found), lambda console: _show(console, found))

    answered(work, as_json=as_json)


async def _make_room(db: Path) -> None:
    """Remove an earlier demo, and nothing else.

    Raises:
        InvalidInput: When the file holds something that is not the demo's.
    """
    if not _exists(db):
        return
    async with Memory.open(str(db), namespace=NAMESPACE) as memory:
        names = [one.name for one in await memory.namespaces()]
    if [name for name in names if name != NAMESPACE]:
        raise InvalidInput(f"{db} holds memories that are not the demo's; name another file with --db")
    _remove(db)


def _exists(db: Path) -> bool:
    return db.exists()


def _remove(db: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        db.with_name(db.name + suffix).unlink(missing_ok=True)


async def _run(db: Path) -> Findings:
    async with Memory.open(str(db), namespace=NAMESPACE) as memory:
        receipts = await tell(memory)
        relations = tuple(relation for receipt in receipts.values() for relation in receipt.evolutions)
        conclusion = next(line for line in STORY if line.concluded_from)
        mistaken = await memory.recall(MISTAKEN_QUESTION, limit=2)
        history = await memory.history(SUBJECT)
        undone = await memory.undo(receipts[MISTAKEN].evolutions[0].id)
        exported, copy_is_same = await _taken_along(memory)
        return Findings(
            file=db,
            receipts=receipts,
            ends=await entities_of(memory, relations),
            now={question: await memory.recall(question, limit=limit) for question, limit in NOW_QUESTIONS},
            then={
                question: await memory.recall(question, limit=limit, as_of=MARCH) for question, limit in THEN_QUESTIONS
            },
            unknown=await memory.recall(UNKNOWN_QUESTION),
            conclusion=await memory.recall(CONCLUSION_QUESTION),
            conclusion_kept=await memory.recall(CONCLUSION_QUESTION, include_superseded=True),
            conclusion_why=await memory.why(receipts[conclusion.key].entities[0].id),
            history=history,
            mistaken=(mistaken, await memory.recall(MISTAKEN_QUESTION, limit=2)),
            undone=undone,
            exported=exported,
            copy_is_same=copy_is_same,
        )


async def tell(memory: Memory) -> dict[str, RememberReceipt]:
    """Remember the tour's conversation, message by message; the receipts by the key of each line."""
    receipts: dict[str, RememberReceipt] = {}
    for line in STORY:
        receipts[line.key] = await _remember(memory, line, receipts)
    return receipts


async def _taken_along(memory: Memory) -> tuple[ExportReceipt, bool]:
    """Export everything, restore it into an empty memory, export that: is it the same, byte for byte?"""
    first, second = BytesIO(), BytesIO()
    exported = await memory.export(first, every_namespace=True)
    async with Memory.open(":memory:", namespace=NAMESPACE, embedder=None) as other:
        await other.restore(BytesIO(first.getvalue()))
        await other.export(second, every_namespace=True)
    return exported, first.getvalue() == second.getvalue()


async def _remember(memory: Memory, line: Line, earlier: dict[str, RememberReceipt]) -> RememberReceipt:
    sources = [entity.id for key in line.concluded_from for entity in earlier[key].entities if entity.slot]
    return await memory.remember(
        line.text,
        at=line.at,
        speaker=line.speaker,
        role=line.role,
        session=f"{line.at:%Y-%m-%d}",
        idempotency_key=f"demo-{line.key}",
        derived_from=sources,
    )


def _as_data(found: Findings) -> dict[str, Any]:
    return {
        "file": str(found.file.resolve()),
        "stored": {key: plain(receipt) for key, receipt in found.receipts.items()},
        "changes": found.changes,
        "now": found.now,
        "march": found.then,
        "unknown": found.unknown,
        "conclusion": {"now": found.conclusion, "kept": found.conclusion_kept, "why": found.conclusion_why},
        "history": found.history,
        "correction": {"before": found.mistaken[0], "undone": found.undone, "after": found.mistaken[1]},
        "export": {"receipt": found.exported, "restored_is_the_same": found.copy_is_same},
    }


def _show(console: Console, found: Findings) -> None:
    _show_stored(console, found)
    _show_changes(console, found)
    render.heading(console, "3. What is true now")
    for question, receipt in found.now.items():
        _show_asked(console, question, receipt)
    render.heading(console, f"4. What was true on {MARCH:%d %B %Y}", "recall(..., as_of=...)")
    for question, receipt in found.then.items():
        _show_asked(console, question, receipt)
    render.heading(console, "5. What Umi does not know")
    _show_asked(console, found.unknown.query, found.unknown)
    _show_conclusion(console, found)
    render.heading(console, f"7. How {SUBJECT} came to be as she is", f"umi history {SUBJECT}")
    texts = {id_: entity.content for id_, entity in found.ends.items()}
    console.print(
        render.indented(render.timeline([step for step in found.history if step.entity.slot], texts, ids=False))
    )
    _show_correction(console, found)
    _show_end(console, found)


def _show_stored(console: Console, found: Findings) -> None:
    days = len({line.at.date() for line in STORY})
    render.heading(
        console, "1. What was said, and what was read in it", f"{len(STORY)} messages on {days} days, word for word"
    )
    made = render.table("said", "who", "text", "read as")
    for line in STORY:
        read = [render.reading(entity) for entity in found.receipts[line.key].entities]
        made.add_row(render.day(line.at), line.speaker, render.said(line.text), Group(*read))
    console.print(render.indented(made))


def _show_changes(console: Console, found: Findings) -> None:
    render.heading(console, "2. What changed, and why", "no model was asked: rules read the sentences")
    for relation in found.changes:
        console.print(render.indented(render.change(relation, found.ends, ids=False)))


def _show_asked(console: Console, question: str, receipt: RecallReceipt) -> None:
    console.print(render.indented(Text(question, style="italic")))
    if receipt.abstained or not receipt.hits:
        console.print(render.indented(Text("  I don't know: nothing stored is relevant enough.", style="yellow")))
    for hit in receipt.hits:
        state = "" if hit.state is HitState.CURRENT else f"  [{hit.state}]"
        line = Text.assemble(
            "  ", render.said(hit.content), (state, "magenta"), (f"  {hit.speaker}, {hit.at:%d %b %Y}", "dim")
        )
        console.print(render.indented(line))


def _show_conclusion(console: Console, found: Findings) -> None:
    why = found.conclusion_why
    render.heading(console, "6. A conclusion that no longer stands")
    rows: list[Any] = [Text.assemble(render.said(why.entity.content), "  ", render.state_of(why.state))]
    rows += [Text.assemble(("  concluded from: ", "dim"), render.said(source.content)) for source in why.derived_from]
    for relation in why.stale_because:
        new = found.ends.get(relation.target_id)
        rows.append(Text.assemble(("  but then:       ", "dim"), render.said(new.content if new else relation.reason)))
    shown = why.entity.episode_id in {hit.episode.id for hit in found.conclusion.hits}
    kept = why.entity.episode_id in {hit.episode.id for hit in found.conclusion_kept.hits}
    rows.append(
        Text(
            f"  recalled as true: {'yes' if shown else 'no'}; with include_superseded: {'yes' if kept else 'no'}",
            style="dim",
        )
    )
    console.print(render.indented(*rows))


def _show_correction(console: Console, found: Findings) -> None:
    undone, (before, after) = found.undone, found.mistaken
    render.heading(console, "8. A change that was none, taken back", f"umi undo {undone.id}")
    _show_asked(console, f"{MISTAKEN_QUESTION} (before)", before)
    _show_asked(console, f"{MISTAKEN_QUESTION} (after: it is a second job, and both hold)", after)


def _show_end(console: Console, found: Findings) -> None:
    where = found.file.resolve()
    size = where.stat().st_size
    render.heading(console, "9. It is yours", "umi export all.jsonl --all, umi restore all.jsonl, umi backup copy.db")
    exported = found.exported
    console.print(render.indented(Text(f"{where}  ({size / 1e6:.1f} MB, SQLite)", overflow="fold")))
    same = "the same, byte for byte" if found.copy_is_same else "not the same"
    told = f"exported as {exported.bytes / 1e3:.0f} kB of JSON Lines, restored into an empty memory and exported again: {same}"
    console.print(render.indented(Text(told)))
    render.heading(console, "Now your own text")
    for command in (
        "umi import notes/             # Markdown, ChatGPT or Claude exports, CSV, mem0, LangGraph, ...",
        'umi remember "I moved to Porto." --speaker Ana',
        'umi recall "Where does Ana live?"',
        "umi history Ana",
    ):
        console.print(render.indented(Text(command)))
    console.print(
        render.indented(
            Text(
                f"umi runs as .venv/bin/umi in a checkout; this demo's file answers too: --db {found.file.name} -n {NAMESPACE}",
                style="dim",
            )
        )
    )
    console.print()
