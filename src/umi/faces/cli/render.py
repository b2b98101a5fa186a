"""What people see. User text is never markup: it goes into `Text`, with control characters made visible."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.progress import Progress, ProgressColumn
from rich.table import Table
from rich.text import Text

from umi.types import (
    Entity,
    Episode,
    EvolutionRelation,
    EvolutionType,
    Explanation,
    HistoryStep,
    Hit,
    HitState,
    origin_mark,
)

WIDTH_PIPED_CHARS = 100
_TEXT_SHOWN_CHARS = 600
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_STATE_STYLE = {
    HitState.CURRENT: "green",
    HitState.SUPERSEDED: "dim",
    HitState.STALE: "yellow",
    HitState.DISPUTED: "magenta",
    HitState.FORGOTTEN: "red",
}
_TYPE_STYLE = {
    EvolutionType.UPDATE: "cyan",
    EvolutionType.EXTEND: "green",
    EvolutionType.DERIVE: "blue",
    EvolutionType.CONTRADICT: "magenta",
}
_TYPE_VERB = {
    EvolutionType.UPDATE: "replaces",
    EvolutionType.EXTEND: "adds to",
    EvolutionType.DERIVE: "was concluded from",
    EvolutionType.CONTRADICT: "contradicts",
}
_TYPE_PASSIVE = {
    EvolutionType.UPDATE: "replaced by",
    EvolutionType.EXTEND: "added to by",
    EvolutionType.DERIVE: "led to",
    EvolutionType.CONTRADICT: "contradicted by",
}
_FORGOTTEN = "what was forgotten"


def terminal(*, stderr: bool = False) -> Console:
    """A console without markup; 100 columns wide when nobody is looking."""
    console = Console(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=False)
    if not console.is_terminal:
        console = Console(stderr=stderr, markup=False, highlight=False, emoji=False, width=WIDTH_PIPED_CHARS)
    return console


def progress(*columns: ProgressColumn, quiet: bool) -> Progress:
    """Progress on standard error, gone when it is done; none where nobody looks."""
    console = terminal(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)


def clean(text: str) -> str:
    """User text that cannot move the cursor, change colours or reverse the line."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def said(text: str, style: str = "") -> Text:
    """User text, cut for the screen where it is very long."""
    shown = clean(text)
    if len(shown) > _TEXT_SHOWN_CHARS:
        shown = f"{shown[:_TEXT_SHOWN_CHARS]} ... ({len(text):,} characters)"
    return Text(shown, style=style)


def day(at: datetime | None) -> Text:
    """A date for the eye."""
    return Text(f"{at:%Y-%m-%d}" if at else "", style="dim")


def minute(at: datetime | None) -> str:
    """A date and time for the eye, in UTC as stored."""
    return f"{at:%Y-%m-%d %H:%M}" if at else ""


def second(at: datetime | None) -> str:
    """As `minute`, to the second: for times that may be close."""
    return f"{at:%Y-%m-%d %H:%M:%S}" if at else ""


def state_of(state: HitState) -> Text:
    """A state in its colour."""
    return Text(state.value, style=_STATE_STYLE[state])


def command(console: Console, line: str) -> None:
    """A line with a command to copy: never broken, however narrow the screen."""
    console.print(Text(clean(line), style="dim"), soft_wrap=True)


def error_line(console: Console, message: str) -> None:
    """One line that says what is wrong and what to do next."""
    console.print(Text.assemble(("umi: ", "bold red"), clean(message)), soft_wrap=True)


def heading(console: Console, title: str, note: str = "") -> None:
    """A title with room above it."""
    console.print()
    console.print(Text.assemble((title, "bold"), (f"  {note}" if note else "", "dim")))


def table(*columns: str, title: str = "") -> Table:
    """A table in the house's look: a rule under its head and nothing else."""
    made = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False, show_edge=False)
    for name in columns:
        made.add_column(name, overflow="fold", header_style="bold")
    return made


def indented(*parts: RenderableType) -> Padding:
    """Parts moved to the right."""
    return Padding(Group(*parts), (0, 0, 0, 2))


def reading(entity: Entity) -> Text:
    """What the rules read in a statement: subject, slot and value, or its type alone."""
    if not entity.slot:
        return Text(entity.entity_type.value, style="dim")
    slot = ("not " if entity.negated else "") + entity.slot.replace("_", " ")
    return Text.assemble(said(entity.name), (f" {slot} ", "dim"), said(entity.value))


def entities(rows: Iterable[Entity], *, ids: bool = True) -> Table:
    """What was read in a text."""
    made = table("read as", "from", *(["id"] if ids else []))
    for entity in rows:
        made.add_row(reading(entity), said(entity.content), *([Text(entity.id, style="dim")] if ids else []))
    return made


def change(relation: EvolutionRelation, known: Mapping[str, Entity], *, ids: bool = True) -> Group:
    """One relation as a sentence: the newer statement, what it does to the older one, and why; `known` are statements by id."""
    kind, old, new = relation.evolution_type, known.get(relation.source_id), known.get(relation.target_id)
    first = said(new.content if new else relation.target_id)
    other = old.content if old else relation.source_id
    second = said(_FORGOTTEN if _is_alone(relation) else other, "dim" if relation.acted else "")
    arrow = Text.assemble(("\N{RIGHTWARDS ARROW} ", "dim"), (_TYPE_VERB[kind], _TYPE_STYLE[kind]), " ", second)
    return Group(
        first, Padding(arrow, (0, 0, 0, 2)), Padding(Text(_notes(relation, ids=ids), style="dim"), (0, 0, 0, 4))
    )


def hits(found: Sequence[Hit], *, explain: bool = False, several: bool = False) -> Table:
    """What a recall found, best first; of `several` namespaces with the name of each."""
    made = table("score", "when", "who", "what", "state")
    for hit in found:
        what = [said(hit.content), Text(f"{hit.id} in {clean(hit.namespace)}" if several else hit.id, style="dim")]
        if explain and hit.legs:
            what.append(Text(", ".join(f"{name} {value:.3f}" for name, value in sorted(hit.legs.items())), style="dim"))
        score = f"{hit.score:.2f}" if hit.calibrated else f"({hit.score:.2f})"
        who = said(f"{origin_mark(hit.origin)}{hit.speaker or ''}".strip())
        made.add_row(score, day(hit.at), who, Group(*what), state_of(hit.state))
    return made


def timeline(steps: Sequence[HistoryStep], texts: Mapping[str, str], *, ids: bool = True) -> Table:
    """A chain as a timeline, oldest first: from when to when each statement held, and below it what happened to it and why.

    Args:
        steps: The chain.
        texts: The content of entities by id, for the other ends of relations.
        ids: Whether to show the ids that `why`, `resolve` and `undo` take.
    """
    made = table("held from", "to", "what", "today")
    shown = {step.entity.id for step in steps}
    for step in steps:
        one, style = step.entity, _STATE_STYLE[step.state]
        body: list[RenderableType] = [said(one.content, "" if step.state is HitState.CURRENT else style)]
        if step.reason:
            body.append(Text(f"set because {clean(step.reason)}", style="dim"))
        if ids:
            body.append(Text(one.id, style="dim"))
        for relation in step.evolutions:
            # Where both ends are shown, the reason stands once: below the one that it happened to.
            told = relation.target_id == one.id and relation.source_id in shown
            body.append(_step_relation(relation, one.id, texts, ids=ids, brief=told))
        made.add_row(day(one.valid_from or one.at), _until(step), Group(*body), state_of(step.state))
    return made


def _until(step: HistoryStep) -> Text:
    if step.entity.valid_to is not None:
        return day(step.entity.valid_to)
    return Text("now" if step.state in {HitState.CURRENT, HitState.DISPUTED} else "", style="dim")


def _step_relation(
    relation: EvolutionRelation, entity_id: str, texts: Mapping[str, str], *, ids: bool, brief: bool
) -> Padding:
    incoming = relation.target_id == entity_id
    other = relation.source_id if incoming else relation.target_id
    told = _FORGOTTEN if _is_alone(relation) else texts.get(other, other)
    kind = relation.evolution_type
    verb, arrow = (
        (_TYPE_VERB[kind], "\N{LEFTWARDS ARROW}") if incoming else (_TYPE_PASSIVE[kind], "\N{RIGHTWARDS ARROW}")
    )
    if relation.is_flagged:
        verb = f"perhaps {verb}"
    undone = (" (undone)", "yellow") if relation.undone_at else ""
    rows: list[RenderableType] = [
        Text.assemble((f"{arrow} ", "dim"), (verb, _TYPE_STYLE[kind]), " ", said(told), undone)
    ]
    if not brief:
        rows.append(indented(Text(f"because {_notes(relation, ids=False)}", style="dim")))
    if ids and not brief:
        rows.append(indented(Text(relation.id, style="dim")))
    return indented(*rows)


def _is_alone(relation: EvolutionRelation) -> bool:
    """Whether a relation stands for one with a statement that was deleted."""
    return relation.source_id == relation.target_id


def _notes(relation: EvolutionRelation, *, ids: bool) -> str:
    """Why, by whom, and what became of it."""
    notes = [clean(relation.reason), f"{relation.detector}, confidence {relation.confidence:.2f}"]
    if relation.nature:
        notes.append(str(relation.nature))
    if relation.part is not None:
        notes.append("part of it")
    if relation.is_flagged:
        notes.append("flagged only, both hold" if relation.resolved is None else "flagged")
    if relation.resolved:
        notes.append(f"resolved {minute(relation.resolved_at)}: kept {relation.resolved}".replace("  ", " "))
    if relation.undone_at:
        notes.append(f"undone {minute(relation.undone_at)}")
    if ids:
        notes.append(relation.id)
    return "; ".join(notes)


def episode(one: Episode) -> Table:
    """A message as stored."""
    rows = {
        "said": minute(one.at),
        "by": one.speaker or one.role,
        "origin": one.origin.value,
        "session": one.session or "",
        "recorded": minute(one.recorded_at),
        "expires": second(one.expires_at),
        "message id": one.message_id or "",
        "id": one.id,
    }
    return facts({"text": clean(one.content)} | rows)


def entity(one: Entity, state: HitState | None = None, expires_at: datetime | None = None) -> Table:
    """A statement with its times; `expires_at` is its message's."""
    rows = {
        "text": clean(one.content),
        "type": one.entity_type.value,
        "read as": clean(reading(one).plain) if one.slot else "",
        "state": state.value if state else "",
        "holds": f"{minute(one.valid_from)} .. {minute(one.valid_to) or 'now'}" if one.valid_from else "",
        "known": f"{minute(one.recorded_at)} .. {minute(one.invalidated_at) or 'now'}" if one.recorded_at else "",
        "expires": second(expires_at),
        "episode": one.episode_id,
        "id": one.id,
    }
    return facts(rows)


def explanation(one: Explanation, known: Mapping[str, Entity]) -> Group:
    """Why a statement is known and stands as it does."""
    parts: list[RenderableType] = [entity(one.entity, one.state), Text(""), Text("said in", style="bold")]
    parts.append(indented(episode(one.episode)))
    for title, rows in (("concluded from", one.derived_from), ("supports", one.supports)):
        if rows:
            parts += [Text(""), Text(title, style="bold"), indented(*(said(row.content) for row in rows))]
    for title, relations in (("stale because", one.stale_because), ("changes", one.evolutions)):
        if relations:
            drawn = [change(row, known) for row in relations]
            parts += [Text(""), Text(title, style="bold"), indented(*drawn)]
    return Group(*parts)


def facts(rows: Mapping[str, str]) -> Table:
    """Names and values, empty ones left out."""
    made = Table(box=None, show_header=False, pad_edge=False)
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows.items():
        if value:
            made.add_row(name, Text(value))
    return made
